"""Streams of OpenAI's chat completions without the calls of our recall tool."""

from typing import Any

from backscroll.integrations.proxy.recall_chat import is_ours
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.server_events import ServerEvent, event_of

_EMPTY: tuple[Any, ...] = (None, "", [])


class ChatRecallStream(RecallStream):
    """The chunks of all answers as those of one completion."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[Any, int] = {}
        """By the number of a call in its answer, its number for the client."""
        self._ours: set[Any] = set()
        self._id: Any = None

    def begin(self) -> None:
        """Take the beginning of an answer."""
        super().begin()
        self._numbers, self._ours = {}, set()

    def shown(self, event: ServerEvent) -> bytes:
        """Return what the client gets of an event now."""
        data = event.data
        if not isinstance(data, dict):
            if b"[DONE]" in event.raw:
                self.held.append(event)
                return b""
            return event.raw
        choices = data.get("choices")
        if not isinstance(choices, list):
            return event.raw
        if not choices or choices[0].get("finish_reason"):
            self.held.append(event)
            return b""
        self._id = self._id or data.get("id")
        first = choices[0]
        delta = first.get("delta") or {}
        calls = self._numbered(delta.get("tool_calls") or ())
        if calls != delta.get("tool_calls", []):
            delta = {key: value for key, value in delta.items() if key != "tool_calls"}
            delta |= {"tool_calls": calls} if calls else {}
        elif self.rounds == 1:
            return event.raw
        says = {key: value for key, value in delta.items() if key != "role" or self.rounds == 1}
        if all(value in _EMPTY for key, value in says.items() if key != "role"):
            return b""
        return event_of({**data, "id": self._id, "choices": [{**first, "delta": says}, *choices[1:]]}, is_named=False)

    def end(self, merged: dict[str, Any] | None) -> bytes:
        """Return the last events."""
        if merged is None:
            return self.rest()
        found = b""
        for event in self.held:
            data = event.data
            if not isinstance(data, dict):
                found += event.raw
                continue
            changed = {**data, "id": self._id or data.get("id")}
            if data.get("usage"):
                changed["usage"] = merged["usage"]
            if data.get("choices"):
                first = data["choices"][0]
                delta = dict(first.get("delta") or {})
                if calls := self._numbered(delta.pop("tool_calls", None) or ()):
                    delta["tool_calls"] = calls
                reason = merged["choices"][0]["finish_reason"]
                changed["choices"] = [{**first, "delta": delta, "finish_reason": reason}]
            found += event_of(changed, is_named=False)
        return found

    def error(self, text: str) -> bytes:
        """Return a chunk with an error, which clients raise."""
        return event_of({"error": {"message": text, "type": "api_error", "code": None}}, is_named=False)

    def _numbered(self, pieces: Any) -> list[dict[str, Any]]:
        """Return the pieces of calls of the client's tools, by the client's numbers."""
        found = []
        for piece in pieces:
            index = piece.get("index")
            if is_ours(piece) or (index is not None and index in self._ours):
                self._ours.add(index)
            elif index is None:
                found.append(piece)
            else:
                number = self._numbers.setdefault(index, len(self._numbers))
                found.append(piece if number == index else {**piece, "index": number})
        return found
