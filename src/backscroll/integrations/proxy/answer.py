"""What an answer says of its request, read from a copy of its bytes: usage, reasoning left out, refusals."""

import json
import zlib
from typing import Any

from backscroll.integrations.clients.collected import rejection_in

_MOST = 64_000_000
"""Bytes of an answer, or of one event, that are read; a longer one is handed on all the same."""
_NOTED = (b'"usage"', b'"input_transformations"', b'"stop_reason"', b'"error"')
"""What an event that matters holds. No other event is parsed."""
_KEPT = ("usage", "input_transformations", "diagnostics", "stop_reason")


class AnswerReader:
    """Reads an answer while it is handed on.

    Args:
        content_type: The header of the answer.
        encoding: Its `content-encoding`.
    """

    def __init__(self, content_type: str, encoding: str) -> None:
        self._is_stream = "text/event-stream" in content_type
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in ("gzip", "deflate") else None
        self._is_readable = encoding in ("", "identity", "gzip", "deflate")
        self._buffer = bytearray()
        self._noted: dict[str, Any] = {}
        self._event: dict[str, Any] | None = None
        self.rejection: Exception | None = None
        """An event by which the provider refused the request as too long."""

    def feed(self, data: bytes) -> None:
        """Read the next bytes. Never fails: what cannot be read is no loss to the client."""
        if not self._is_readable:
            return
        try:
            self._buffer += data if self._inflate is None else self._inflate.decompress(data)
        except zlib.error:
            self._is_readable = False
            return
        if self._is_stream:
            self._read_events()
        if len(self._buffer) > _MOST:
            self._is_readable = False
            self._buffer.clear()

    def response(self) -> dict[str, Any] | None:
        """Return what `observe_response` reads, once the answer has ended; `None` if it has no usage."""
        if not self._is_stream and self._buffer:
            found = _parsed(bytes(self._buffer))
            return found if found is not None and found.get("usage") is not None else None
        return self._event or (self._noted if self._noted.get("usage") else None)

    def _read_events(self) -> None:
        *lines, rest = self._buffer.split(b"\n")
        if lines:
            self._buffer = rest
        for line in lines:
            if line.startswith(b"data:") and any(word in line for word in _NOTED):
                event = _parsed(bytes(line[5:]))
                if event is not None:
                    self._note(event)

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what an event says. Anthropic's are put together; of the others, one holds all of it."""
        self.rejection = self.rejection or rejection_in(event)
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self._add({**event["message"], "type": "message"})
        elif kind == "message_delta":
            delta = event.get("delta")
            self._add({**(delta if isinstance(delta, dict) else {}), **event})
        elif isinstance(event.get("response"), dict):
            self._event = event if event["response"].get("usage") else self._event
        elif event.get("usage"):
            self._event = event

    def _add(self, found: dict[str, Any]) -> None:
        for key in _KEPT:
            value = found.get(key)
            if key == "usage" and isinstance(value, dict):
                value = {**self._noted.get("usage", {}), **value}
            if value is not None:
                self._noted[key] = value
        self._noted["type"] = "message"


def decoded(data: bytes, encoding: str) -> str:
    """Return the text of a whole answer; of one that cannot be decoded, as much as can be read."""
    try:
        data = zlib.decompress(data, zlib.MAX_WBITS | 32) if encoding in ("gzip", "deflate") else data
    except zlib.error:
        return ""
    return data.decode(errors="replace")


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
