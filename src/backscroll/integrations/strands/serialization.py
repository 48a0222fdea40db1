"""Messages of Strands as JSON and back. Decides nothing.

Bytes are written as Strands' own sessions write them, so that both mean the same message. Numbers that JSON does not
have (NaN, infinity), which tools return in structured results, become texts: they must not end a turn.
"""

from base64 import b64decode, b64encode
from math import isfinite
from typing import Any

Message = dict[str, Any]
_MARK = "__bytes_encoded__"


def to_json(value: Any) -> Any:
    """A copy that is JSON, as far as bytes and numbers are concerned."""
    if isinstance(value, bytes):
        return {_MARK: True, "data": b64encode(value).decode("ascii")}
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def from_json(value: Any) -> Any:
    """A copy with its bytes."""
    if isinstance(value, dict):
        if value.get(_MARK) is True and len(value) == 2 and isinstance(value.get("data"), str):
            return b64decode(value["data"])
        return {key: from_json(item) for key, item in value.items()}
    return [from_json(item) for item in value] if isinstance(value, list) else value


def said(message: Message) -> tuple[Any, Any]:
    """What a message says, without what is noted beside it: usage, ids, flags."""
    return message.get("role"), message.get("content")


def pinned(message: Message) -> bool:
    """Whether it carries the flag of Strands' own pins."""
    custom = (message.get("metadata") or {}).get("custom")
    return isinstance(custom, dict) and custom.get("pinned") is True
