"""The events of a stream, as they come and as they are written."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_END = re.compile(rb"\r?\n\r?\n")
_MOST = 64_000_000
"""Bytes of one event. A longer one is no answer of a model."""


class ServerEvent(NamedTuple):
    """One event."""

    raw: bytes
    """As it came, with the empty line that ends it."""
    data: Any
    """The value of its data; `None` if that is no JSON."""


class ServerEvents:
    """Splits a stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that end in these bytes.

        Raises:
            ValueError: An event is longer than 64 MB.
        """
        self._buffer += chunk
        while found := _END.search(self._buffer, self._searched):
            raw = bytes(self._buffer[: found.end()])
            del self._buffer[: found.end()]
            self._searched = 0
            yield ServerEvent(raw, _data(raw))
        self._searched = max(0, len(self._buffer) - 3)  # the end of an event may come in two pieces
        if len(self._buffer) > _MOST:
            raise ValueError(f"an event of the stream is longer than {_MOST:,} bytes")

    def rest(self) -> bytes:
        """Return what came behind the last event."""
        return bytes(self._buffer)


def _data(raw: bytes) -> Any:
    lines = (line.rstrip(b"\r") for line in raw.split(b"\n"))
    text = b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def event_of(data: dict[str, Any], *, is_named: bool = True) -> bytes:
    """Return an event on the wire. `is_named`: with its type as its name."""
    name = f"event: {data['type']}\n" if is_named else ""
    return f"{name}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
