"""Codex sessions: items of OpenAI's Responses API, one record per line, as chat messages.

This is the only conversion between dialects: in the Responses API, text and calls of one response are separate items.
Everything that a request would hold is kept, except reasoning, which only its provider can read. Source: the rollout
files that Codex writes under `~/.codex/sessions`, with and without an envelope around each item.
"""

import json
from collections import Counter
from typing import Any

from backscroll.evaluation.formats import Record
from backscroll.evaluation.transcript import Message, Transcript, bad

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_TEXTS = ("input_text", "output_text", "text", "summary_text")


def is_session(values: list[Any]) -> bool:
    """Return whether these lines are a Codex session."""
    return any(_item_of(value) is not None for value in values)


def codex(records: list[Record], name: str) -> Transcript:
    """Return the session as OpenAI chat."""
    reasons: Counter[str] = Counter()
    messages: list[Message] = []
    for place, value in records:
        item = _item_of(value)
        if item is None:
            reasons[f"{value.get('type') or 'untyped'!s:.40} line"] += 1
        elif item["type"] == "message":
            messages.append(_message(item, f"{name}: {place}"))
        elif item["type"] in _CALLS:
            _add_call(messages, item)
        elif item["type"] in _RESULTS:
            messages.append({"role": "tool", "tool_call_id": _id(item), "content": _output(item.get("output"))})
        else:
            reasons[f"{item['type']!s:.40} item"] += 1
    return Transcript(name, "codex", messages, dict(reasons))


def _item_of(value: Any) -> dict[str, Any] | None:
    """Return the item of a line; `None` for the program's own notes."""
    if not isinstance(value, dict):
        return None
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        item: dict[str, Any] = value["payload"]
        return item if isinstance(item.get("type"), str) else None
    if value.get("type") in (*_CALLS, *_RESULTS) and isinstance(value.get("call_id", value.get("id")), str):
        return value
    content = value.get("content")
    if value.get("type") == "message" and isinstance(content, list):
        parts = [part.get("type") for part in content if isinstance(part, dict)]
        return value if "input_text" in parts or "output_text" in parts else None
    return value if value.get("type") == "reasoning" and "summary" in value else None


def _message(item: dict[str, Any], where: str) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise bad(where, "the message has no role")
    return {"role": role, "content": _content(item.get("content"))}


def _content(content: Any) -> Any:
    """Return a text if all parts are texts; else the parts in chat form."""
    if not isinstance(content, list):
        return content
    if all(isinstance(part, dict) and part.get("type") in _TEXTS for part in content):
        return "\n".join(str(part.get("text", "")) for part in content)
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": part.get("text", "")}
    if part.get("type") == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    return part


def _add_call(messages: list[Message], item: dict[str, Any]) -> None:
    """Add a call to the assistant message before it: text and calls of one response are one message."""
    if item["type"] == "custom_tool_call":
        called = {"type": "custom", "custom": {"name": item.get("name"), "input": item.get("input")}}
    elif item["type"] == "function_call":
        called = {"type": "function", "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
    else:
        arguments = json.dumps(item.get("action"), ensure_ascii=False)
        called = {"type": "function", "function": {"name": "local_shell", "arguments": arguments}}
    call = {"id": _id(item), **called}
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    messages[-1].setdefault("tool_calls", []).append(call)


def _id(item: dict[str, Any]) -> Any:
    return item.get("call_id", item.get("id"))


def _output(output: Any) -> Any:
    """Return a tool's output: a text, parts, or an object around one of them."""
    if isinstance(output, dict):
        output = output.get("content", output.get("output", output))
    if isinstance(output, list):
        return _content(output)
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
