"""Lines for a terminal: a line a request, and what all of them came to."""

import textwrap
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from backscroll.cli import screen

_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
_FIXED = 57
"""Columns of a line without the model's name."""
_WITH_PATH = 80
"""Columns from which a line has room for the path of a request without a model."""
_INDENT = " " * 9


class Reported(Protocol):
    """A request, as the proxy reports it."""

    method: str
    path: str
    what: str
    why: str
    client_note: str
    session: str
    model: str
    received_bytes: int
    sent_bytes: int
    view_bytes: int
    refusals: int
    lookups: int
    status: int
    input_tokens: int
    cached_tokens: int


class SummedClients(Protocol):
    """All clients."""

    def unmanaged(self) -> dict[str, int]:
        """Return how many requests were left alone of each client of which all were."""


class Summed(Protocol):
    """All requests."""

    requests: int
    by_outcome: dict[str, int]
    refusals: int
    lookups: int
    received_bytes: int
    sent_bytes: int
    view_bytes: int
    input_tokens: int
    cached_tokens: int

    @property
    def clients(self) -> SummedClients:
        """The clients that sent them."""


class RequestLog:
    """Writes the lines.

    Args:
        write: Takes text.
        width: Columns of the terminal.
        now: Returns the time of day.
    """

    def __init__(self, write: Callable[[str], object], width: int, now: Callable[[], datetime] = datetime.now) -> None:
        self._write, self._width, self._now = write, max(width, _FIXED), now
        self._is_begun = False

    def add(self, request: Reported) -> None:
        """Write the line of a request."""
        if not self._is_begun:
            self._is_begun = True
            self._line("time", "what was done", "received", "sent", "tokens", "cached", "model")
        received = sent = ""
        if request.received_bytes > 0:
            received, sent = size(request.received_bytes), size(request.view_bytes or request.sent_bytes)
        cached = f"{request.cached_tokens / request.input_tokens:.0%}" if request.input_tokens else ""
        tokens = f"{request.input_tokens:,}" if request.input_tokens else ""
        time, did = f"{self._now():%H:%M:%S}", _did(request)
        self._line(time, did, received, sent, tokens, cached, request.model or request.path)
        if self._width < _WITH_PATH and not request.model:
            self.note(f"{request.method} {request.path}")
        for note in _notes(request):
            self.note(note)

    def note(self, text: str) -> None:
        """Write a note below a line."""
        shown = screen.line(text)
        wrapped = textwrap.wrap(shown, self._width, initial_indent=_INDENT, subsequent_indent=_INDENT)
        self._write("".join(f"{line}\n" for line in wrapped))

    def sum_up(self, totals: Summed) -> None:
        """Write what all requests came to."""
        counts = ", ".join(f"{number:,} {what}" for what, number in sorted(totals.by_outcome.items()))
        lines = [f"{totals.requests:,} requests{f': {counts}' if counts else ''}"]
        if totals.received_bytes:
            saved = 1 - totals.sent_bytes / totals.received_bytes
            lines.append(f"{size(totals.received_bytes)} received, {size(totals.sent_bytes)} sent ({saved:.0%} less)")
        if totals.view_bytes != totals.sent_bytes:
            would_save = 1 - totals.view_bytes / totals.received_bytes
            lines.append(f"views would have had {size(totals.view_bytes)} ({would_save:.0%} less than received)")
        if totals.input_tokens:
            cached = totals.cached_tokens / totals.input_tokens
            lines.append(
                f"{totals.input_tokens:,} input tokens as providers counted them, {cached:.0%} from their caches"
            )
        if totals.lookups:
            lines.append(f"{totals.lookups:,} look-ups of models were answered here")
        lines += [f"not managed: {name}, {number:,} requests" for name, number in totals.clients.unmanaged().items()]
        for line in map(screen.line, lines):
            self._write("".join(f"{each}\n" for each in textwrap.wrap(line, self._width)))

    def _line(self, *columns: str) -> None:
        time, did, received, sent, tokens, cached, model = columns
        fixed = f"{time:<8} {did:<14.14} {received:>8} {sent:>8} {tokens:>9} {cached:>6}"
        room = self._width - len(fixed) - 1
        shown = screen.line(model)
        if len(shown) > room:
            shown = f"{shown[: room - 1]}…" if room > 4 else ""
        self._write(f"{fixed} {shown}".rstrip() + "\n")


def size(number: int) -> str:
    """Return a number of bytes in at most eight characters, such as `96.1 kB`."""
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} B"


def _did(request: Reported) -> str:
    """Return what was done with a request, or the status of an error."""
    return f"{request.what}" if request.status < 400 else f"error {request.status}"


def _notes(request: Reported) -> list[str]:
    found = [each for each in (request.client_note, request.why) if each]
    if request.refusals:
        times = "once" if request.refusals == 1 else f"{request.refusals} times"
        found.append(f"refused {times} as too long, and sent again shorter")
    if request.lookups:
        times = "once" if request.lookups == 1 else f"{request.lookups} times"
        found.append(f"the model looked something up {times}, and was answered here")
    return found
