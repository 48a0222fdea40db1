"""What a request holds outside its messages, and what its answer says of its size."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters

from backscroll.messages.counted import Counted
from backscroll.tokens.budget import DEFAULT_OUTPUT

_OWN_NOTES = "__pydantic_ai__"
_SUMMED = ("context_input_tokens", "initial_input_tokens")
"""Notes on a response whose usage is the sum of several requests."""
_GUESSING = ("function/", "test/")
"""Lanes of Pydantic AI's models for tests, which guess their usage."""
_CUT = "model_context_window_exceeded"


def lane_of(model: Model[Any]) -> str:
    """Return the lane of a model's requests."""
    return f"{model.system}/{model.model_name}"


def settings_of(model: Model[Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the settings of a request; those of the model where the request has none."""
    return {**(model.settings or {}), **(settings or {})}


def budget_of(model: Model[Any], settings: Mapping[str, Any]) -> int | None:
    """Return the input tokens that the model's window leaves for a request; None if it names no window."""
    window = model.context_window
    if type(window) is not int or window <= 0:
        return None
    output = settings.get("max_tokens")
    output = output if type(output) is int and output > 0 else DEFAULT_OUTPUT
    return window - min(output, window // 2)


def instructions_of(parameters: ModelRequestParameters) -> str:
    """Return the instructions of a request, which are none of its messages."""
    texts = [part.content for part in parameters.instruction_parts or ()]
    return "\n\n".join(text for text in (*texts, parameters.prompted_output_instructions) if text)


def tools_of(parameters: ModelRequestParameters) -> list[dict[str, Any]]:
    """Return the definitions of the tools that a request offers."""
    return [
        {"name": tool.name, "description": tool.description or "", "input_schema": tool.parameters_json_schema}
        | ({"defer_loading": True} if tool.defer_loading else {})
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]


def counted_in(response: ModelResponse, lane: str) -> Counted | None:
    """Return what the provider counted for one request of a lane; None if it did not, or counted several."""
    if lane.startswith(_GUESSING):
        return None
    usage = response.usage
    notes = (response.metadata or {}).get(_OWN_NOTES)
    if isinstance(notes, Mapping) and any(note in notes for note in _SUMMED):
        return None
    if response.state != "complete" or usage.input_tokens <= 0:
        return None
    read, write = usage.cache_read_tokens, usage.cache_write_tokens
    return Counted(max(0, usage.input_tokens - read - write), read, write, usage.output_tokens)


def was_cut(response: ModelResponse) -> bool:
    """Return whether an answer ended because the model's window was full."""
    return (response.provider_details or {}).get("finish_reason") == _CUT
