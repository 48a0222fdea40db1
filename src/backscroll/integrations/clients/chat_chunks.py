"""A chat completion, put together from the chunks of its stream."""

from typing import Any

from backscroll.integrations.clients.fields import get, plain

_WHOLE = frozenset(("index", "type", "id", "role", "name"))
"""Fields that come whole, in some servers' streams with every chunk; all other texts come in pieces."""
_OF_CHUNKS = frozenset(("index",))


class ChatChunks:
    """Collects the chunks. Fields that OpenAI does not have, such as `reasoning_content`, are collected as well."""

    def __init__(self) -> None:
        self._choices: dict[int, dict[str, Any]] = {}
        self._about: dict[str, Any] = {}
        self._usage: Any = None

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        self._about = self._about or {name: get(chunk, name) for name in ("id", "model", "created")}
        self._usage = get(chunk, "usage") or self._usage
        for choice in get(chunk, "choices"):
            index = get(choice, "index") or 0
            kept = self._choices.setdefault(index, {"index": index, "finish_reason": None, "message": {}})
            _merge(kept["message"], plain(get(choice, "delta")) or {})
            kept["finish_reason"] = get(choice, "finish_reason") or kept["finish_reason"]

    def response(self) -> dict[str, Any] | None:
        """Return the completion; `None` if a choice was not finished."""
        choices = [self._choices[index] for index in sorted(self._choices)]
        if not choices or not all(choice["finish_reason"] for choice in choices):
            return None
        finished = [{**choice, "message": _finished(choice["message"])} for choice in choices]
        return {**self._about, "object": "chat.completion", "choices": finished, "usage": plain(self._usage)}


def _merge(whole: dict[str, Any], piece: dict[str, Any]) -> None:
    for key, value in piece.items():
        known = whole.get(key)
        if value is None or (known and not value):
            continue
        if isinstance(known, str) and isinstance(value, str) and key not in _WHOLE:
            whole[key] = known + value
        elif isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value)
        elif isinstance(value, list):
            _merge_list(whole.setdefault(key, []), value)
        else:
            whole[key] = value


def _merge_list(whole: list[Any], pieces: list[Any]) -> None:
    """Put each piece to the one of its `index`. Servers that send none send each call whole."""
    for piece in pieces:
        index = piece.get("index") if isinstance(piece, dict) else None
        known = next((each for each in whole if index is not None and each.get("index") == index), None)
        if known is None:
            whole.append(piece)
        else:
            _merge(known, piece)


def _finished(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without what only chunks have."""
    calls = [
        {key: value for key, value in call.items() if key not in _OF_CHUNKS} for call in message.get("tool_calls") or ()
    ]
    return {"role": "assistant", "content": None, **message, **({"tool_calls": calls} if calls else {})}
