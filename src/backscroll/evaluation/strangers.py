"""Texts of a view that no message of its history holds."""

import base64
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.dialects import Message

_MARKS = ("[ref:", "<summary>", "[no result recorded]")
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

    Texts with a reference and those marked as synthetic do not count. System messages may come from elsewhere.
    """
    known = {text for message in history for text in _texts(message)}
    return [
        f"view[{at}] shows {text!r:.80}, which is in no message of the history"
        for at, message in enumerate(view)
        if message.get("role") != "system"
        for text in _texts(message)
        if text not in known and not any(mark in text for mark in _MARKS)
    ]


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
