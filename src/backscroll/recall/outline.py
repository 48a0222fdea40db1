"""An outline of a range that is too large for one page: a line for each message, and some of them in full.

Readers who get such a range word for word see its first large result and no more. Here each message has at least a
line, so that the next call can ask for the right one. Texts of users and assistants are opened first, then what changed
something with its results, then what look-ups found: each time the smallest first, which say most in the least room.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backscroll.history.history import Entry
from backscroll.history.plan import reference
from backscroll.messages.deeds import deeds_of, without_envelope
from backscroll.messages.deeds.texts import one_line
from backscroll.messages.pairing import paired
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId, Part
from backscroll.messages.prose import first_line
from backscroll.recall.deed_words import words_of
from backscroll.recall.entry_texts import texts

LEAST = 200
"""Tokens of the smallest page that has an outline: below, the head and a line or two would fill it."""
_LONG, _SHORT = 200, 90
"""Characters of a line: with 200 a command and its outcome fit. Where not all lines fit, each has 90, about 25
tokens, so that a page of 4,000 tokens has 150 messages.
"""
_SHARE = 2  # an opened message takes at most one part in so many of the room that is left, so that several are opened
_SLACK = 8  # tokens by which a whole may exceed the sum of its parts

_SAID, _CHANGES, _FOUND, _ASKED = range(4)
"""The rank of words, of what changed something, of what a look-up found, and of its call, which its line describes."""


class Outline(NamedTuple):
    """A page that says what each message of a range is."""

    text: str
    shown: int
    """Messages that have a line or are opened: the first so many."""


class _Row(NamedTuple):
    """A message, and the line in place of it."""

    entry: Entry
    line: str
    rank: int
    """Lower ones are opened first."""
    changes: bool
    """Whether one of its calls changed anything."""


def most_messages(limit: int) -> int:
    """Return how many messages a page of so many tokens has lines for, at most."""
    return max(1, limit // 10)  # a reference, a role and a size are at least 10 tokens


def outline(entries: Sequence[Entry], left: int, limit: int, count: Callable[[str], int]) -> Outline | None:
    """Return an outline of at most `limit` tokens; `None` if not even one line fits.

    Args:
        entries: The messages, in order; at least one.
        left: How many more follow, which are not loaded.
        limit: Tokens of the page.
        count: Counts tokens.
    """
    rows = _rows(entries)
    head = _head(entries, len(entries) + left)
    room = limit - count(head) - _SLACK
    for longest in (_LONG, _SHORT):
        lines = [f"{one_line(row.line, longest)}\n" for row in rows]
        sizes = [count(line) for line in lines]
        if left == 0 and sum(sizes) <= room:
            return Outline(head + "".join(_opened(rows, lines, room - sum(sizes), count)), len(rows))
    shown = 0
    while shown < len(rows) and (room := room - sizes[shown]) >= 0:
        shown += 1
    return Outline(head + "".join(lines[:shown]), shown) if shown else None


def _head(entries: Sequence[Entry], number: int) -> str:
    first = entries[min(1, len(entries) - 1)].seq
    return (
        f"[{number:,} messages, too long for one page. A line in place of a text says what it is: "
        f"ref {first} opens that message, and a list such as {entries[0].seq},{first} several]\n"
    )


def _opened(rows: Sequence[_Row], lines: list[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Return the lines, some of them replaced by the text of their message: as many as there is room for."""
    shown = list(lines)
    for at in sorted(range(len(rows)), key=lambda at: (rows[at].rank, _tokens(rows[at].entry), at)):
        if room < _SLACK:
            break
        if _tokens(rows[at].entry) > 2 * room:
            continue  # it is not even counted
        text = "".join(texts([rows[at].entry]))
        more = count(text) - count(lines[at])
        if more <= room // _SHARE:
            shown[at], room = text, room - max(0, more)
    return shown


def _rows(entries: Sequence[Entry]) -> list[_Row]:
    readings = paired([entry.reading for entry in entries])
    answers = _answers(entries, readings)
    callers: dict[CallId, _Row] = {}
    rows: list[_Row] = []
    for entry, reading in zip(entries, readings, strict=True):
        rows.append(_row(entry, reading, answers, callers))
        callers.update(dict.fromkeys(reading.calls, rows[-1]))
    return rows


def _answers(entries: Sequence[Entry], readings: Sequence[ParsedMessage]) -> Mapping[tuple[int, CallId], Part]:
    """Return the result of each call, by the call's message and id: ids are reused, so the next result counts."""
    found: dict[tuple[int, CallId], Part] = {}
    waiting: dict[CallId, int] = {}
    for entry, reading in zip(entries, readings, strict=True):
        for part in reading.parts:
            if part.id is None:
                continue
            if part.kind == "call":
                waiting[part.id] = entry.seq
            elif part.kind == "result" and part.id in waiting:
                found.setdefault((waiting[part.id], part.id), part)
    return found


def _row(
    entry: Entry, reading: ParsedMessage, answers: Mapping[tuple[int, CallId], Part], callers: Mapping[CallId, _Row]
) -> _Row:
    deeds = [
        deed
        for part in reading.parts
        if part.kind == "call"
        for deed in deeds_of(part, answers.get((entry.seq, part.id)) if part.id else None)
    ]
    said = next((first_line(part.text) for part in reading.parts if part.kind == "text" and part.text.strip()), "")
    what = "; ".join(filter(None, (said, *map(words_of, deeds)))) or "; ".join(_others(reading, callers))
    who = " ".join(filter(None, (reading.role, reading.speaker)))
    changes = any(deed.changes for deed in deeds)
    answered = [callers[call].changes for call, _ in reading.results if call in callers]
    rank = _SAID if said and not reading.results else _CHANGES if changes or any(answered) else _FOUND
    line = f"{reference(entry.seq)} {who}, {_tokens(entry):,} tokens: {what}"
    return _Row(entry, line, _ASKED if deeds and rank == _FOUND else rank, changes)


def _others(reading: ParsedMessage, callers: Mapping[CallId, _Row]) -> Iterator[str]:
    """Yield what a message without words and calls has: results, by their calls, and media."""
    for part in reading.parts:
        if part.media is not None:
            yield part.media.kind
        elif part.kind == "result":
            call = callers.get(part.id) if part.id else None
            about = "result" if call is None else f"result of {call.entry.seq}"
            yield f"{about}: {first_line(without_envelope(part.text)[0]) or 'nothing'}"
        else:
            yield part.kind


def _tokens(entry: Entry) -> int:
    return sum(getattr(count, "tokens", 0) for count in entry.counts)
