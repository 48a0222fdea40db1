"""Codex sessions: items of OpenAI's Responses API, one record per line, in the messages that a history holds.

Each run of items that the model made is one message, as one response is. Items stay as they are, with their reasoning.
Source: the rollout files that Codex writes under `~/.codex/sessions`, with and without an envelope around each item.
"""

from collections import Counter
from typing import Any

from backscroll.evaluation.formats import Record
from backscroll.evaluation.transcript import Message, Transcript, bad
from backscroll.messages.dialects.response_items import gathered, is_item

_REASONING = "reasoning"
_PAIRED = ("function_call", "custom_tool_call", "local_shell_call")
_PAIRED_OUTPUTS = tuple(f"{kind}_output" for kind in _PAIRED)


def is_session(values: list[Any]) -> bool:
    """Return whether these lines are a Codex session."""
    return any(_item_of(value) is not None for value in values)


def codex(records: list[Record], name: str) -> Transcript:
    """Return the session in the dialect of the Responses API."""
    reasons: Counter[str] = Counter()
    items: list[object] = []
    numbers: list[int] = []
    for number, (place, value) in enumerate(records):
        item = _item_of(value)
        if item is None:
            reasons[f"{value.get('type') or 'untyped'!s:.40} line"] += 1
        elif item["type"] == "message" and not (isinstance(item.get("role"), str) and item["role"]):
            raise bad(f"{name}: {place}", "the message has no role")
        elif is_item(item):
            items.append(item)
            numbers.append(number)
        else:
            reasons[f"{item['type']!s:.40} item"] += 1
    messages, began, at = list[Message](), list[int](), 0
    for message in gathered(items):
        assert isinstance(message, dict)
        kept = _led_on(message, reasons)
        if kept is not None:
            messages.append(kept)
            began.append(numbers[at])
        at += len(message["content"]) if "type" not in message else 1
    return Transcript(name=name, format="codex", messages=messages, reasons=dict(reasons), began=began)


def _led_on(message: Message, reasons: Counter[str]) -> Message | None:
    """Return a message without reasoning at its end, which a request must not hold: the response was interrupted."""
    held = message.get("content")
    if "type" in message or not isinstance(held, list):
        return message
    end = len(held)
    while end and held[end - 1].get("type") == _REASONING:
        end -= 1
    if end == len(held):
        return message
    reasons["reasoning item that led to nothing"] += len(held) - end
    return {**message, "content": held[:end]} if end else None


def _item_of(value: Any) -> dict[str, Any] | None:
    """Return the item of a line; `None` for the program's own notes."""
    if not isinstance(value, dict):
        return None
    if value.get("type") == "response_item" and isinstance(value.get("payload"), dict):
        item: dict[str, Any] = value["payload"]
        return item if isinstance(item.get("type"), str) else None
    if value.get("type") in (*_PAIRED, *_PAIRED_OUTPUTS) and isinstance(value.get("call_id", value.get("id")), str):
        return value
    content = value.get("content")
    if value.get("type") == "message" and isinstance(content, list):
        parts = [part.get("type") for part in content if isinstance(part, dict)]
        return value if "input_text" in parts or "output_text" in parts else None
    return value if value.get("type") == _REASONING and "summary" in value else None
