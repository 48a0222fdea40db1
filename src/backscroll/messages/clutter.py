"""Clutter in a result: what a host or a program adds for its own use, and what a line repeats from the one before.

It says nothing to a model that reads the result again: codes of a terminal, lines of a host's frame, numbers of a
file's lines, the path before each hit, drawn rules, and a reminder that a newer result holds as well. What remains is
kept as ranges of the text, so that a view shows the same text in any later version.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from backscroll.messages.deeds.envelopes import ANSI, BARE_COLOUR, BLOCKS, LINE_NUMBERS, says_nothing
from backscroll.messages.recall_lead import LEAD

Span = tuple[int, int]

TIDY = "tidy"
"""What an excerpt without clutter is cut as."""
LONGEST = 200_000  # characters of a result that is read: that takes 3 ms, and a longer one is cut to its ends anyway
_LEAST = 60  # characters from which clutter is worth the mark that says what is left out
_REMEMBERED = 20_000  # characters of a result whose clutter is worth caching
_NUMBERS = 0.6  # share of lines with a number from which these are a file's: the rest is a reminder or a frame
_RISES = 0.9  # share of these numbers that count up by one: a table has others
_TENTH = 10  # lines of which one keeps its number: with fewer numbers one has to count, and all take a fifth of a file
_DIGITS = re.compile(r"\d+")
_HIT = re.compile(r"([\w./@+~-]*?[\w@+~-]\.\w+)(?=([:-])\d+\2)")
_PATH = 8  # characters of a path whose repetition costs more than it says
_RULE = re.compile(r"([^\x00-\x7f\w\s])\1{7,}")
_NEAR = 200  # characters by which a cut moves to the end of a line, which reads better
_DRAWN = 3  # characters of a drawn rule that stay
_JSON = (("{", "}"), ('["', "]"), ("[{", "]"), ("[[", "]"))
"""How JSON begins and ends. A result that is JSON must stay valid."""


def reminders_of(text: str) -> list[str]:
    """Return what a host reminds of in a result, block by block."""
    return [text[start:end] for start, end in _blocks(text)] if len(text) <= LONGEST else []


def tidy_spans(text: str, newer: Collection[str] = ()) -> Sequence[Span]:
    """Return the ranges of a result that remain without its clutter; none if there is too little of that.

    Args:
        text: The result.
        newer: Reminders that newer results hold as well.
    """
    if not _may_hold(text):
        return ()
    again = [span for span in _blocks(text) if text[slice(*span)] in newer]
    gone = [*again, *(_clutter(text) if len(text) <= _REMEMBERED else _found(text))]
    return _rest(text, gone) if sum(end - start for start, end in gone) >= _LEAST else ()


def code_spans(text: str) -> Sequence[Span]:
    """Return the ranges of a result that remain without codes of a terminal; none if it has few."""
    gone = list(_codes(text)) if _may_hold(text) else []
    return _rest(text, gone) if sum(end - start for start, end in gone) >= _LEAST else ()


def cut_spans(text: str, spans: Sequence[Span], head: int, tail: int) -> list[Span]:
    """Return the first `head` and the last `tail` characters of some ranges of a text, to the ends of lines where these
    are near. An empty range marks the cut.
    """
    if sum(end - start for start, end in spans) <= head + tail:
        return list(spans)
    first = _first(spans, head)
    at = first[-1][1] if first else 0
    line = text.rfind("\n", max(0, at - _NEAR), at)
    at = line if line > 0 else at
    first = [(start, min(end, at)) for start, end in first if start < at]
    last = [(-end, -start) for start, end in reversed(_first([(-end, -start) for start, end in reversed(spans)], tail))]
    begin = last[0][0] if last else len(text)
    line = text.find("\n", begin, begin + _NEAR) + 1
    begin = line if 0 < line < len(text) else begin
    return [*first, (at, at), *((max(start, begin), end) for start, end in last if end > begin)]


def tidied(text: str, kept: Sequence[Span], ref: str, *, lead: str = LEAD) -> str:
    """Return these ranges of a text, with a mark where it is cut, or at its end.

    Args:
        text: The text.
        kept: The ranges, ascending. An empty one marks a cut.
        ref: The reference under which models can recall the whole text.
        lead: What comes between what is left out and the reference.
    """
    left_out = len(text) - sum(end - start for start, end in kept)
    cut = any(start == end for start, end in kept)
    what = f"{left_out:,} characters" if cut else "frames and repetitions"
    mark = f"\n[... {what} left out{lead}{ref} ...]"
    shown = "".join(text[start:end] if end > start else f"{mark}\n" for start, end in kept)
    return shown if cut else shown.rstrip() + mark


def _first(spans: Sequence[Span], room: int) -> list[Span]:
    kept: list[Span] = []
    for start, end in spans:
        if room <= 0:
            break
        kept.append((start, min(end, start + room)))
        room -= end - start
    return kept


def _may_hold(text: str) -> bool:
    if not _LEAST <= len(text) <= LONGEST:
        return False
    ends = text[:40].lstrip()[:2], text[-40:].rstrip()[-1:]
    return not any(ends[0].startswith(begin) and ends[1] == end for begin, end in _JSON)


def _blocks(text: str) -> Iterator[Span]:
    """Yield the blocks that a host inserted, with the line ends before them."""
    opened = -1
    for tag in BLOCKS.finditer(text) if "<" in text else ():
        if not tag[1] and opened < 0:
            opened = tag.start()
        elif tag[1] and opened >= 0:
            yield opened, tag.end()
            opened = -1


@lru_cache(maxsize=256)  # the newest messages are looked at in each compaction
def _clutter(text: str) -> tuple[Span, ...]:
    return tuple(_found(text))


def _found(text: str) -> Iterator[Span]:
    """Yield clutter, in any order."""
    yield from _codes(text)
    if not text.isascii():
        yield from ((found.start() + _DRAWN, found.end()) for found in _RULE.finditer(text))
    lines = list(_lines(text))
    yield from _of_frame(text, lines)
    yield from _of_frame(text, lines[::-1])
    yield from _numbers(text, lines)
    yield from _paths(text, lines)


def _codes(text: str) -> Iterator[Span]:
    if "\x1b" in text:
        yield from (found.span() for found in ANSI.finditer(text))
    yield from (found.span() for found in BARE_COLOUR.finditer(text))


def _lines(text: str) -> Iterator[Span]:
    """Yield each line with its end."""
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        yield at, end
        at = end


def _of_frame(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the lines of a host's frame that say nothing, from one end on. What it says of an exit code stays."""
    for start, end in lines:
        line = text[start:end].strip()
        if not (not line or says_nothing(line) or line.startswith("Process exited with code ")):
            return
        if line and says_nothing(line):
            yield start, end


def _numbers(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the numbers of a file's lines, except the first and each tenth."""
    filled = [start for start, end in lines if not text[start:end].isspace()]
    pattern = next((each for each in LINE_NUMBERS if filled and each.match(text, filled[0])), None)
    found = [number for start in filled if (number := pattern.match(text, start))] if pattern else []
    if found and found[0][0].endswith("\t") and not found[0][0][0].isspace():
        return  # a table, whose first column is a number
    values = [int(_DIGITS.findall(number[0])[0][-9:]) for number in found]
    rises = sum(after == before + 1 for before, after in pairwise(values))
    if len(found) > 1 and len(found) >= _NUMBERS * len(filled) and rises >= _RISES * (len(found) - 1):
        yield from (number.span() for number, value in zip(found[1:], values[1:], strict=True) if value % _TENTH)


def _paths(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the path before each hit that the line before has as well."""
    before = ""
    for start, _ in lines:
        found = _HIT.match(text, start)
        if found and found[1] == before and len(before) >= _PATH:
            yield found.span(1)
        before = found[1] if found else ""


def _rest(text: str, gone: Sequence[Span]) -> list[Span]:
    kept: list[Span] = []
    at = 0
    for start, end in sorted(gone):
        if start > at:
            kept.append((at, start))
        at = max(at, end)
    return [*kept, (at, len(text))] if at < len(text) else kept
