"""What an answer says of its request, read from a copy of its bytes: usage, reasoning left out, refusals."""

import json
import re
import zlib
from typing import Any

from backscroll.integrations.clients.collected import rejection_in

MOST = 16_000_000
"""Bytes of an answer, or of one event, that are read; a longer one is handed on all the same. Less would miss the usage
of answers with images; more would let one answer hold up all others for more than a tenth of a second.
"""
_ERROR = 64_000
"""Bytes of an error that are read: its first words say whether the request is too long."""
_NOTED = re.compile(rb'"(?:usage|input_transformations|stop_reason|error)"')
"""What an event that matters holds. No other event is parsed."""
_KEPT = ("usage", "input_transformations", "diagnostics", "stop_reason")


class AnswerReader:
    """Reads an answer while it is handed on.

    Args:
        content_type: The header of the answer.
        encoding: Its `content-encoding`.
    """

    def __init__(self, content_type: str, encoding: str) -> None:
        self.is_stream: bool = "text/event-stream" in content_type
        """Whether it is a stream of events."""
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
        known = len(self._buffer)
        try:
            self._buffer += data if self._inflate is None else self._inflate.decompress(data, MOST + 1 - known)
        except zlib.error:
            self._is_readable = False
            return
        if self.is_stream:
            self._read_events(known)
        if len(self._buffer) > MOST or (self._inflate is not None and self._inflate.unconsumed_tail):
            self._is_readable = False
            self._buffer.clear()

    def response(self) -> dict[str, Any] | None:
        """Return what `observe_response` reads, once the answer has ended; `None` if it has no usage."""
        if not self.is_stream and self._buffer:
            found = parsed(bytes(self._buffer))
            return found if found is not None and found.get("usage") is not None else None
        return self._event or (self._noted if self._noted.get("usage") else None)

    def _read_events(self, known: int) -> None:
        """Read the lines that end behind what was searched before: a long event is searched once."""
        end = self._buffer.rfind(b"\n", known)
        if end < 0:
            return
        text = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        begin = 0
        while (found := _NOTED.search(text, begin)) is not None:
            end = _end_of_line(text, found.end())
            line, begin = text[text.rfind(b"\n", begin, found.start()) + 1 : end], end
            event = parsed(line[5:]) if line.startswith(b"data:") else None
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
            if key == "usage":
                value = {**self._noted.get("usage", {}), **value} if isinstance(value, dict) else None
            if value is not None:
                self._noted[key] = value
        self._noted["type"] = "message"


def error_text(data: bytes, encoding: str) -> str:
    """Return the beginning of an error's text. It is empty where it cannot be decoded."""
    try:
        if encoding in ("gzip", "deflate"):
            data = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, _ERROR)
    except zlib.error:
        return ""
    return data[:_ERROR].decode(errors="replace")


def _end_of_line(text: bytes, begin: int) -> int:
    found = text.find(b"\n", begin)
    return len(text) if found < 0 else found


def parsed(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that an answer is; `None` if it is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
