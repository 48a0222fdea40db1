"""Messages of Strands as JSON and back.

Bytes are encoded like in Strands' own sessions. Numbers that JSON lacks (NaN, infinity), which tools return in
structured results, become texts: they must not end a turn.
"""

from base64 import b64decode, b64encode
from math import isfinite
from typing import Any

Message = dict[str, Any]
_MARK = "__bytes_encoded__"


def to_json(value: Any) -> Any:
    """Return a copy with bytes and non-finite numbers as JSON."""
    if isinstance(value, bytes):
        return {_MARK: True, "data": b64encode(value).decode("ascii")}
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def from_json(value: Any) -> Any:
    """Return a copy with its bytes restored."""
    if isinstance(value, dict):
        if value.get(_MARK) is True and len(value) == 2 and isinstance(value.get("data"), str):
            return b64decode(value["data"])
        return {key: from_json(item) for key, item in value.items()}
    return [from_json(item) for item in value] if isinstance(value, list) else value


def in_blocks(message: Message) -> Message:
    """Return a message of a view with its content as blocks: of an empty message nothing says that it had any."""
    return {**message, "content": [{"text": message["content"]}]} if isinstance(message["content"], str) else message


def said(message: Message) -> tuple[Any, Any]:
    """Return role and content of a message, without its annotations: usage, ids, flags."""
    return message.get("role"), message.get("content")


def pinned(message: Message) -> bool:
    """Return whether a message carries the flag of Strands' own pins."""
    custom = (message.get("metadata") or {}).get("custom")
    return isinstance(custom, dict) and custom.get("pinned") is True
