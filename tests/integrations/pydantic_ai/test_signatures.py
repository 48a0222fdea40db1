"""What the adapter rests on in Pydantic AI: a release that moves one of these is named here."""

from dataclasses import fields
from inspect import iscoroutinefunction, signature

import pytest
from pydantic_ai import RunContext, Tool, exceptions, messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RequestUsage


def parameters(function) -> list[str]:
    return list(signature(function).parameters)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("for_run", ["self", "ctx"]),
        ("get_toolset", ["self"]),
        ("wrap_run", ["self", "ctx", "handler"]),
        ("before_model_request", ["self", "ctx", "request_context"]),
        ("after_model_request", ["self", "ctx", "request_context", "response"]),
        ("get_wrapper_model", ["self", "model"]),
        ("apply", ["self", "visitor"]),
    ],
)
def test_the_hooks_of_a_capability(name, expected):
    assert parameters(getattr(AbstractCapability, name)) == expected


def test_the_hooks_that_are_awaited():
    names = ("for_run", "wrap_run", "before_model_request", "after_model_request")
    assert all(iscoroutinefunction(getattr(AbstractCapability, name)) for name in names)


def test_the_methods_of_a_model():
    assert parameters(WrapperModel.request) == ["self", "messages", "model_settings", "model_request_parameters"]
    expected = ["self", "messages", "model_settings", "model_request_parameters", "run_context"]
    assert parameters(WrapperModel.request_stream) == expected
    assert parameters(WrapperModel.prepare_messages) == ["self", "messages", "model_request_parameters"]
    assert parameters(WrapperModel.__init__) == ["self", "wrapped"]
    assert all(hasattr(Model, name) for name in ("context_window", "model_name", "system", "settings"))


@pytest.mark.parametrize(
    ("of", "names"),
    [
        (RunContext, "messages agent conversation_id run_id root_capability"),
        (ModelRequestContext, "model messages model_settings model_request_parameters"),
        (ModelRequestParameters, "function_tools output_tools instruction_parts"),
        (ToolDefinition, "name description parameters_json_schema defer_loading"),
        (RequestUsage, "input_tokens output_tokens cache_read_tokens cache_write_tokens"),
        (messages.ModelRequest, "parts instructions metadata"),
        (messages.ModelResponse, "parts usage state metadata provider_details"),
        (messages.ToolReturnPart, "tool_name content tool_call_id tool_kind outcome"),
        (messages.ToolCallPart, "tool_name args tool_call_id tool_kind id"),
        (messages.ThinkingPart, "content signature id"),
        (messages.TextPart, "content id"),
        (messages.SystemPromptPart, "content scope"),
        (messages.TextContent, "content metadata"),
    ],
)
def test_the_fields(of, names):
    assert set(names.split()) <= {field.name for field in fields(of)}


def test_the_methods_of_parts():
    part = messages.ToolReturnPart
    assert "wrap_if_error" in signature(part.model_response_str).parameters
    assert {"mode", "wrap_if_error"} <= set(signature(part.content_items).parameters)
    assert isinstance(part.files, property)
    assert parameters(messages.ToolCallPart.args_as_json_str) == ["self"]
    assert parameters(messages.RetryFeedbackPart.model_response) == ["self"]
    assert isinstance(ModelRequestParameters().prompted_output_instructions, str | None)


def test_the_kinds_of_parts():
    kinds = {
        "SystemPromptPart": "system-prompt",
        "UserPromptPart": "user-prompt",
        "ToolReturnPart": "tool-return",
        "RetryPromptPart": "retry-prompt",
        "RetryFeedbackPart": "retry-feedback",
        "InstructionBaselinePart": "instruction-baseline",
        "InstructionDeltaPart": "instruction-delta",
        "ToolAvailabilityDeltaPart": "tool-availability-delta",
        "CapabilityLoadDeltaPart": "capability-load-delta",
        "ModelSettingsDeltaPart": "model-settings-delta",
        "CompactionPart": "compaction",
        "TextPart": "text",
        "ThinkingPart": "thinking",
        "ToolCallPart": "tool-call",
        "NativeToolCallPart": "builtin-tool-call",
        "NativeToolReturnPart": "builtin-tool-return",
        "FilePart": "file",
    }
    if not hasattr(messages, "CapabilityLoadDeltaPart"):  # came after 2.62
        del kinds["CapabilityLoadDeltaPart"]
    found = {name: getattr(messages, name).__dataclass_fields__["part_kind"].default for name in kinds}
    assert found == kinds
    assert messages.ToolSearchCallPart.__dataclass_fields__["tool_kind"].default == "tool-search"
    assert messages.LoadCapabilityCallPart.__dataclass_fields__["tool_kind"].default == "capability-load"


def test_the_rest():
    found = messages.tool_return_ta.dump_python({"at": b"\0", "of": object}, mode="json", fallback=lambda value: "?")
    assert found == {"at": "AA==", "of": "?"}
    assert parameters(messages.repair_messages) == ["messages", "repair_last_response"]
    assert list(signature(Tool.from_schema).parameters)[:5] == [
        "function",
        "name",
        "description",
        "json_schema",
        "takes_ctx",
    ]
    assert parameters(FunctionToolset.__init__)[:2] == ["self", "tools"]
    assert parameters(exceptions.ModelContextWindowExceededError.__init__)[:3] == ["self", "model_name", "message"]
    assert issubclass(exceptions.FallbackExceptionGroup, ExceptionGroup)
    assert hasattr(AgentRunResult, "conversation_id") or "conversation_id" in {f.name for f in fields(AgentRunResult)}
