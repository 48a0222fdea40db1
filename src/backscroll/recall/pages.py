"""Pages, lines and hits of a text.

Pages are measured in tokens. Offsets are in characters, so that all pages joined are the text, byte for byte.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.ports import Pattern

_CHARACTERS_PER_TOKEN = 8  # more than any real text has, so that a page is never cut too early
_LONGEST_LINE = 2_000  # characters that a pattern is matched against at once: a longer line is split
_OVERLAP = 200  # characters that two such pieces share, so that matches at their border are found
MOST_AROUND = 50  # lines before and after a hit


class SearchHit(NamedTuple):
    """One match of a query or pattern."""

    seq: int
    part: int
    offset: int
    """Characters from the start of the part's text."""
    text: str
    """The passage or line."""
    session: str | None = None
    """The session of `seq`, if several were searched."""
    replaced_by: int | None = None
    """The `seq` of the user's statement that replaces this one. `None`: no such statement was found."""
    times: int = 1
    """How often a search found this text; it shows the newest."""


class RecallResult(str):
    """A page of recalled text: a `str` with its position in the whole."""

    next_offset: int | None
    """Where the next page starts, in characters. `None`: this is the last page."""
    hits: tuple[SearchHit, ...]
    """Matches of a query or pattern; empty for a plain reference."""
    media: tuple[Any, ...]
    """For a plain reference to one message: its images, documents and other media, as the blocks that were added."""
    next_ref: str | None
    """The reference with which an outline goes on. `None`: it is no outline, or it has a line for each message."""

    def __new__(
        cls,
        text: str,
        next_offset: int | None = None,
        hits: Sequence[SearchHit] = (),
        media: Sequence[Any] = (),
        next_ref: str | None = None,
    ) -> "RecallResult":
        """Create the text with its attributes."""
        made = super().__new__(cls, text)
        made.next_offset, made.hits, made.media, made.next_ref = next_offset, tuple(hits), tuple(media), next_ref
        return made


def enough(offset: int, limit: int) -> int:
    """Return the characters of a text that a page may need.

    Args:
        offset: Characters before the page; 0 or more.
        limit: Tokens of the page; at least 1.

    Raises:
        ConfigurationError: A value is out of range.
    """
    if type(offset) is not int or offset < 0:
        raise ConfigurationError(f"`offset` must be a number of characters, at least 0, not {offset!r}")
    if type(limit) is not int or limit < 1:
        raise ConfigurationError(f"`limit` must be a number of tokens, at least 1, not {limit!r}")
    return offset + limit * _CHARACTERS_PER_TOKEN


def page(text: str, offset: int, limit: int, count: Callable[[str], int]) -> RecallResult:
    """Return the page from `offset` (characters) on, of at most `limit` tokens; it ends behind a line or a value."""
    shown = text[offset : enough(offset, limit)]
    while len(shown) > 1 and (tokens := count(shown)) > limit:
        shown = shown[: max(1, int(len(shown) * limit / tokens * 0.97))]
    end = offset + len(shown)
    if end >= len(text):
        return RecallResult(shown)
    from backscroll.messages.structure import border  # noqa: PLC0415  views without excerpts need no structure

    end = border(text, offset, end)
    return RecallResult(text[offset:end], end)


def pick_lines(text: str, lines: tuple[int, int]) -> str:
    """Return the lines `first` to `last`, counted from 1, both included."""
    first, last = checked_lines(lines)
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


def checked_lines(lines: tuple[int, int]) -> tuple[int, int]:
    """Return the pair unchanged.

    Raises:
        ConfigurationError: It is no pair of increasing numbers.
    """
    try:
        first, last = lines
        if not 1 <= first <= last:
            raise ValueError
    except (TypeError, ValueError):
        raise ConfigurationError(f"`lines` must be a pair (first, last) counted from 1, not {lines!r:.60}") from None
    return first, last


def checked_around(around: int) -> int:
    """Return the number unchanged.

    Raises:
        ConfigurationError: It is out of range.
    """
    if type(around) is not int or not 0 <= around <= MOST_AROUND:
        raise ConfigurationError(f"`around` must be a number of lines, 0 to {MOST_AROUND}, not {around!r:.40}")
    return around


class Line(NamedTuple):
    """A line, or a piece of a long one, and its position."""

    number: int
    """Counted from 1."""
    offset: int
    """Characters from the start of the text."""
    text: str


def lines_of(text: str, within: tuple[int, int] | None = None) -> Iterator[Line]:
    """Yield the lines of a text, or those numbered within a range; long ones in overlapping pieces."""
    first, last = (1, None) if within is None else within
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if number >= first and (last is None or number <= last):
            shown = line.rstrip("\r\n")
            for start in range(0, max(1, len(shown) - _OVERLAP), _LONGEST_LINE - _OVERLAP):
                yield Line(number, offset + start, shown[start : start + _LONGEST_LINE])
        offset += len(line)


def grep(lines: Iterator[Line], pattern: Pattern, around: int) -> Iterator[Line]:
    """Yield the lines that the pattern matches, each with the lines `around` it, without duplicates."""
    before: deque[Line] = deque(maxlen=around)
    wanted = 0
    for line in lines:
        if pattern.finds(line.text):
            yield from before
            before.clear()
            yield line
            wanted = around
        elif wanted:
            yield line
            wanted -= 1
        else:
            before.append(line)
