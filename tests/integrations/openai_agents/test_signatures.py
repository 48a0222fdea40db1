"""Every signature and attribute of the SDK that the adapter rests on: a release that moves one is named here."""

import inspect
from dataclasses import fields

import agents
import pytest
from agents import ModelSettings, RunConfig, Usage
from agents.items import ModelResponse
from agents.memory import Session, SessionABC, SessionSettings
from agents.models import get_default_model
from agents.models.interface import Model, ModelProvider, ModelTracing
from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
from agents.run_config import CallModelData, ModelInputData
from agents.tool_context import ToolContext
from agents.usage import _response_usage_to_usage

REQUEST = (
    "system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing",
    "previous_response_id", "conversation_id", "prompt",
)  # fmt: skip  # one signature


def parameters(function):
    return tuple(inspect.signature(function).parameters)


@pytest.mark.parametrize("method", [Model.get_response, Model.stream_response])
def test_a_model_takes_a_request(method):
    assert parameters(method) == ("self", *REQUEST)
    kinds = [each.kind for each in inspect.signature(method).parameters.values()]
    assert [kind.name for kind in kinds] == ["POSITIONAL_OR_KEYWORD"] * 8 + ["KEYWORD_ONLY"] * 3


def test_what_else_the_runner_asks_of_a_model():
    public = {name for name, _ in inspect.getmembers(Model, inspect.isfunction) if not name.startswith("_")}
    assert public == {"close", "get_response", "get_retry_advice", "stream_response"}
    assert parameters(Model.get_retry_advice) == ("self", "request")
    assert parameters(Model._cleanup_on_run_end) == ("self", "owner")
    assert ModelRetryAdvice  # type: ignore[truthy-function]  # that there is one
    assert ModelRetryAdviceRequest  # type: ignore[truthy-function]  # likewise


def test_a_provider_of_models():
    assert parameters(ModelProvider.get_model) == ("self", "model_name")
    assert parameters(ModelProvider.aclose) == ("self",)
    assert isinstance(agents.MultiProvider(), ModelProvider)
    assert isinstance(get_default_model(), str)
    assert ModelTracing.DISABLED.is_disabled()


def names(kind):
    return {field.name for field in fields(kind)}


def test_fields_that_are_read():
    assert {"truncation", "context_management", "extra_args", "extra_body"} <= names(ModelSettings)
    assert {"model", "model_provider", "call_model_input_filter"} <= names(RunConfig)
    assert {"requests", "input_tokens", "input_tokens_details"} <= names(Usage)
    assert {"output", "usage"} <= names(ModelResponse)
    assert {"name", "model", "model_settings", "tools", "handoffs"} <= names(agents.Agent)
    assert {"tool_name", "tool_description", "input_json_schema", "strict_json_schema"} <= names(agents.Handoff)
    assert {"agent", "run_config", "tool_call_id", "turn_input"} <= names(ToolContext)
    assert names(CallModelData) == {"model_data", "agent", "context"}
    assert names(ModelInputData) == {"input", "instructions"}
    assert {"json_schema", "is_plain_text"} <= {*dir(agents.AgentOutputSchemaBase)}


def test_the_usage_of_a_stream():
    assert parameters(_response_usage_to_usage) == ("response_usage",)


def test_a_function_tool():
    wanted = {"name", "description", "params_json_schema", "on_invoke_tool", "strict_json_schema", "defer_loading"}
    assert wanted <= names(agents.FunctionTool)
    assert agents.WebSearchTool().name == "web_search"


def test_a_session():
    assert parameters(SessionABC.get_items) == ("self", "limit")
    assert parameters(SessionABC.add_items) == ("self", "items")
    assert parameters(SessionABC.pop_item) == parameters(SessionABC.clear_session) == ("self",)
    assert {*Session.__annotations__} == {"session_id", "session_settings"}
    assert SessionSettings().limit is None
