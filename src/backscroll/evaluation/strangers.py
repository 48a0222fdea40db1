"""Texts of a view that no message of its history holds."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.dialects import Message
from backscroll.evaluation.odd_parts import is_placeholder, whole_characters

_MARKS = ("[ref:", "<summary>")
_EMPTY = ("[empty message]", "[empty result]", "{}")
_NAMES = frozenset(
    (
        "role",
        "type",
        "id",
        "name",
        "tool",
        "status",
        "format",
        "media_type",
        "mimeType",
        "mime_type",
        "tool_call_id",
        "tool_use_id",
        "toolUseId",
        "call_id",
        "approval_request_id",
    )
)


def strangers(view: list[Message], history: list[Message]) -> list[str]:
    """Return texts of `view` that no message of `history` holds, one line each.

    Texts with a reference and those marked as synthetic do not count, nor what replaces a missing or an empty result.
    Half a character is U+FFFD in a view, and a structure may be its JSON text. System messages may come from elsewhere.
    """
    known = {whole_characters(text) for message in history for text in _texts(message)}
    return [
        f"view[{at}] shows {text!r:.80}, which is in no message of the history"
        for at, message in enumerate(view)
        if message.get("role") != "system"
        for text in _texts(message)
        if text not in known and not _is_ours(text) and not _is_structure(text, history)
    ]


def _is_ours(text: str) -> bool:
    return is_placeholder(text) or text in _EMPTY or any(mark in text for mark in _MARKS)


def _is_structure(text: str, history: list[Message]) -> bool:
    """Return whether a text is the JSON of a value that a message holds."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return any(value == each for message in history for each in _values(message))


def _values(value: Any) -> Iterator[Any]:
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(item)


def _texts(value: Any, key: str = "") -> Iterator[str]:
    """Yield every text that the author of a message wrote, at any depth; not names and types."""
    if isinstance(value, str):
        if value and key not in _NAMES:
            yield value
    elif isinstance(value, dict):
        if value.get("mimeType") == "text/plain" and isinstance(value.get("data"), str):
            yield base64.b64decode(value["data"]).decode(errors="replace")  # what replaces media in a response
            return
        for inner, item in value.items():
            yield from _texts(item, str(inner))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, key)
