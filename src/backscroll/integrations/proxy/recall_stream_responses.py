"""Streams of OpenAI's Responses API without the calls of our recall tool."""

from typing import Any

from backscroll.integrations.proxy.recall_responses import is_ours
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.server_events import ServerEvent, event_of

_BEGINNING = ("response.created", "response.in_progress", "response.queued")
_LAST = ("response.completed", "response.incomplete", "response.failed")


class ResponsesRecallStream(RecallStream):
    """The items of all answers in one response, numbered through, and the events as well."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[Any, int] = {}
        """By the number of an item in its answer, its number for the client."""
        self._ours: set[Any] = set()
        self._next = self._events = 0

    def begin(self) -> None:
        """Take the beginning of an answer."""
        super().begin()
        self._numbers, self._ours = {}, set()

    def shown(self, event: ServerEvent) -> bytes:
        """Return what the client gets of an event now."""
        data = event.data
        kind = data.get("type") if isinstance(data, dict) else None
        if kind in _LAST:
            self.held.append(event)
            return b""
        if kind is None or (kind in _BEGINNING and self.rounds > 1):
            return event.raw if kind is None and self.rounds == 1 else b""
        number = index = data.get("output_index")
        if kind == "response.output_item.added":
            if is_ours(data.get("item") or {}):
                self._ours.add(index)
            else:
                self._numbers[index], self._next = self._next, self._next + 1
        if index is not None:
            if index in self._ours:
                return b""
            number = self._numbers.get(index, index)
        return self._written(event, data if number == index else {**data, "output_index": number})

    def end(self, merged: dict[str, Any] | None) -> bytes:
        """Return the last events."""
        if merged is None:
            return self.rest()
        return b"".join(self._written(event, {**event.data, "response": merged}) for event in self.held)

    def error(self, text: str) -> bytes:
        """Return an event of the type `error`."""
        return event_of(
            {"type": "error", "code": "server_error", "message": text, "param": None, "sequence_number": self._events}
        )

    def _written(self, event: ServerEvent, data: dict[str, Any]) -> bytes:
        number, self._events = self._events, self._events + 1
        if "sequence_number" in data and data["sequence_number"] != number:
            data = {**data, "sequence_number": number}
        return event.raw if data is event.data else event_of(data)
