"""The odd situations in the five dialects of providers, as a client or a loop of one's own writes them."""

import json
from typing import Any

from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Served, Step, Thought

Message = dict[str, Any]
LACKS: dict[str, tuple[str, ...]] = {
    "anthropic": ("reasoning",),
    "chat": ("server", "reasoning"),
    "responses": ("server",),
    "gemini": ("server", "reasoning"),
    "interactions": ("server", "reasoning"),
}
"""Beginnings of the names of what a dialect does not have."""
_UNCHECKED = "skip_thought_signature_validator"


def built(step: Step, dialect: str) -> list[Message]:
    """The messages of a step."""
    found: list[Message] = _BUILDERS[dialect](step)
    return found


def said(words: str, dialect: str) -> Message:
    """What a user says."""
    return built(Said(words), dialect)[0]


def _arguments(step: Called) -> Any:
    return step.arguments if step.arguments == odd.CUT else json.loads(step.arguments)


def _anthropic(step: Step) -> list[Message]:
    role, blocks = "assistant", list[Any]()
    if isinstance(step, Said):
        role, blocks = step.role, [{"type": "text", "text": step.words}]
    elif isinstance(step, Called):
        given = _arguments(step)
        blocks = [{"type": "tool_use", "id": known, "name": odd.TOOL, "input": given} for known in step.ids]
    elif isinstance(step, Returned):
        role, blocks = "user", [{"type": "tool_result", "tool_use_id": step.id, "content": step.value}]
        blocks += [{"type": "text", "text": step.also}] if step.also else []
    elif isinstance(step, Served):
        hit = {"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "e" * 90}
        call = {"type": "server_tool_use", "id": step.id, "name": "web_search", "input": {"query": "x"}}
        result = {"type": "web_search_tool_result", "tool_use_id": step.id, "content": [hit]}
        words = {"type": "text", "text": step.words}
        blocks = [*([call] if step.call else ()), *([result] if step.result else ()), *([words] if step.words else ())]
    return [{"role": role, "content": blocks}]


def _chat(step: Step) -> list[Message]:
    if isinstance(step, Said):
        return [{"role": step.role, "content": step.words}]
    if isinstance(step, Called):
        call = {"name": odd.TOOL, "arguments": step.arguments}
        calls = [{"id": known, "type": "function", "function": call} for known in step.ids]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    assert isinstance(step, Returned)
    words = [{"role": "user", "content": step.also}] if step.also else []
    return [{"role": "tool", "tool_call_id": step.id, "content": step.value}, *words]


def _responses(step: Step) -> list[Message]:
    if isinstance(step, Said):
        return [{"role": step.role, "content": step.words}]
    if isinstance(step, Called):
        call = {"type": "function_call", "name": odd.TOOL, "arguments": step.arguments}
        return [{**call, "call_id": known} for known in step.ids]
    if isinstance(step, Thought):
        return [{"type": "reasoning", "id": step.id, "summary": [], "encrypted_content": "sealed"}]
    assert isinstance(step, Returned)
    words = [{"role": "user", "content": step.also}] if step.also else []
    return [{"type": "function_call_output", "call_id": step.id, "output": step.value}, *words]


def _gemini(step: Step) -> list[Message]:
    if isinstance(step, Said):
        return [{"role": "model" if step.role == "assistant" else "user", "parts": [{"text": step.words}]}]
    if isinstance(step, Called):
        calls = [{"id": known, "name": odd.TOOL, "args": _arguments(step)} for known in step.ids]
        parts = [{"functionCall": call, "thoughtSignature": _UNCHECKED} for call in calls]
        return [{"role": "model", "parts": parts}]
    assert isinstance(step, Returned)
    answer = {"id": step.id, "name": odd.TOOL, "response": {"result": step.value}}
    words = [{"text": step.also}] if step.also else []
    return [{"role": "user", "parts": [{"functionResponse": answer}, *words]}]


def _interactions(step: Step) -> list[Message]:
    if isinstance(step, Said):
        said = [{"type": "text", "text": step.words}]
        kind = "model_output" if step.role == "assistant" else "user_input"
        return [{"role": step.role, "content": [{"type": kind, "content": said}]}]
    if isinstance(step, Called):
        call = {"type": "function_call", "name": odd.TOOL, "arguments": _arguments(step)}
        return [{"role": "assistant", "content": [{**call, "id": known} for known in step.ids]}]
    assert isinstance(step, Returned)
    answer = {"type": "function_result", "call_id": step.id, "name": odd.TOOL, "result": step.value}
    words = [{"type": "user_input", "content": [{"type": "text", "text": step.also}]}] if step.also else []
    return [{"role": "user", "content": [answer, *words]}]


_BUILDERS: dict[str, Any] = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "interactions": _interactions,
}
