"""Streams of Anthropic's Messages API without the calls of our recall tool."""

from typing import Any

from backscroll.integrations.proxy.recall_anthropic import is_ours
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.server_events import ServerEvent, event_of


class AnthropicRecallStream(RecallStream):
    """The blocks of all answers in one message, numbered through."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[Any, int] = {}
        """By the number of a block in its answer, its number for the client."""
        self._ours: set[Any] = set()
        self._next = 0

    def begin(self) -> None:
        """Take the beginning of an answer."""
        super().begin()
        self._numbers, self._ours = {}, set()

    def shown(self, event: ServerEvent) -> bytes:
        """Return what the client gets of an event now."""
        data = event.data
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "message_start":
            return event.raw if self.rounds == 1 else b""
        if kind in ("message_delta", "message_stop"):
            self.held.append(event)
            return b""
        if not isinstance(data, dict) or "index" not in data:
            return event.raw
        index = data["index"]
        if kind == "content_block_start":
            if is_ours(data.get("content_block") or {}):
                self._ours.add(index)
            else:
                self._numbers[index], self._next = self._next, self._next + 1
        if index in self._ours:
            return b""
        number = self._numbers.get(index, index)
        return event.raw if number == index else event_of({**data, "index": number})

    def end(self, merged: dict[str, Any] | None) -> bytes:
        """Return the last events."""
        if merged is None:
            return self.rest()
        found = b""
        if not self._next:  # nothing was shown: clients take no message without a block
            for block in merged["content"]:
                start = {"type": "content_block_start", "index": 0, "content_block": {**block, "text": ""}}
                delta = {"type": "text_delta", "text": block["text"]}
                found += event_of(start) + event_of({"type": "content_block_delta", "index": 0, "delta": delta})
                found += event_of({"type": "content_block_stop", "index": 0})
        for event in self.held:
            if event.data["type"] == "message_stop":
                found += event.raw
                continue
            delta = {**(event.data.get("delta") or {}), "stop_reason": merged["stop_reason"]}
            usage = {**(event.data.get("usage") or {}), **merged["usage"]}
            found += event_of({**event.data, "delta": delta, "usage": usage})
        return found

    def error(self, text: str) -> bytes:
        """Return an event of the type `error`."""
        return event_of({"type": "error", "error": {"type": "api_error", "message": text}})
