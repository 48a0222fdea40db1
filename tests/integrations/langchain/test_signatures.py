"""Each signature and attribute of LangChain and LangGraph that the adapter rests on, by name."""

import inspect
from dataclasses import fields
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, SummarizationMiddleware
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.runnables import RunnableBinding, RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.runtime import ExecutionInfo, Runtime


def names_of(function: Any) -> list[str]:
    """The names of a function's parameters."""
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (AgentMiddleware.wrap_model_call, ["self", "request", "handler"]),
        (AgentMiddleware.awrap_model_call, ["self", "request", "handler"]),
        (get_config, []),
        (convert_to_openai_tool, ["tool"]),
        (BaseChatModel._get_ls_params, ["self", "stop"]),
        (RunnableLambda.__init__, ["self", "func", "afunc"]),
        (BaseMessage.model_copy, ["self"]),
    ],
)
def test_functions_take_what_we_pass(function, expected):
    assert names_of(function)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (create_agent, {"model", "tools", "system_prompt", "middleware", "checkpointer", "response_format", "name"}),
        (ModelRequest.override, {"overrides"}),
        (StructuredTool.from_function, {"func", "coroutine", "name", "description", "args_schema"}),
        (ToolMessage.__init__, {"content"}),
    ],
)
def test_functions_know_the_names_we_use(function, expected):
    assert expected <= set(names_of(function))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            ModelRequest,
            {"model", "messages", "system_message", "tools", "response_format", "state", "runtime", "model_settings"},
        ),
        (ModelResponse, {"result", "structured_response"}),
        (ExecutionInfo, {"thread_id", "checkpoint_ns"}),
        (ToolRuntime, {"state", "config", "tool_call_id"}),
    ],
)
def test_dataclasses_have_the_fields_we_read(kind, expected):
    assert expected <= {field.name for field in fields(kind)}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BaseMessage, {"content", "id", "additional_kwargs", "response_metadata", "name"}),
        (AIMessage, {"tool_calls", "invalid_tool_calls", "usage_metadata"}),
        (ToolMessage, {"tool_call_id", "status", "artifact"}),
        (ChatMessage, {"role"}),
        (FunctionMessage, {"name"}),
        (BaseChatModel, {"profile"}),
        (RunnableBinding, {"bound", "kwargs"}),
        (BaseTool, {"name", "extras"}),
    ],
)
def test_models_have_the_fields_we_read(kind, expected):
    assert expected <= set(kind.model_fields)


def test_structured_output_names_its_schemas():
    schema = {"title": "Sum", "type": "object", "properties": {}, "description": "A sum."}
    (spec,) = ToolStrategy(schema).schema_specs
    assert (spec.name, spec.description, spec.json_schema["type"]) == ("Sum", "A sum.", "object")
    assert ProviderStrategy(schema).schema_spec.name == "Sum"
    assert AutoStrategy(schema).schema is schema


def test_usage_has_the_keys_we_read():
    assert {"input_tokens", "output_tokens", "input_token_details"} <= set(UsageMetadata.__annotations__)
    assert {"cache_read", "cache_creation"} <= set(InputTokenDetails.__annotations__)


def test_classes_are_what_we_take_them_for():
    assert issubclass(ContextOverflowError, Exception)
    assert "execution_info" in {field.name for field in fields(Runtime)}
    for kind in (AIMessage, HumanMessage, SystemMessage, ToolMessage):
        assert issubclass(kind, BaseMessage)
    assert str(SystemMessage([{"type": "text", "text": "a"}]).text) == "a"
    assert "tools" in AgentMiddleware.__annotations__


def test_a_tool_with_a_json_schema_gets_its_runtime():
    """The node injects the parameter `runtime` by its type, although the schema that the model sees lacks it."""

    def look(runtime: ToolRuntime, **arguments: Any) -> str:
        return f"{runtime.tool_call_id} {arguments}"

    schema = {"type": "object", "properties": {"at": {"type": "string"}}}
    made = StructuredTool.from_function(look, name="look", description="Look.", args_schema=schema)
    assert "runtime" not in str(convert_to_openai_tool(made))
    node = ToolNode([made])
    assert node.tools_by_name["look"] is made


def test_summaries_of_langchain_are_marked():
    source = inspect.getsource(SummarizationMiddleware)
    assert '{"lc_source": "summarization"}' in source
