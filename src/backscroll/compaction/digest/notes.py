"""Write digest lines from the messages of a group: the user's words, and one line per turn.

The essence of a turn is its purpose: the tool, its key arguments, and how it ended.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from backscroll.compaction.digest.stale_lines import without_old, written_values
from backscroll.compaction.digest.terms import pieces, result_pieces, specific_words
from backscroll.compaction.digest.user_rules import rules_in
from backscroll.compaction.sampling import READ
from backscroll.history.history import Entry
from backscroll.history.plan import RANKED, DigestLine
from backscroll.messages import Part
from backscroll.messages.echoes import echoes_of
from backscroll.messages.inserted.pieces import pieces_of, without_field_tags
from backscroll.view.escaping import BETWEEN, quoted

_VALUE = 100  # characters of one argument that a turn's line shows
_ARGUMENTS = 180
_OUTCOME = 100
_SAID = 160
_ANSWER = 320  # characters of an assistant text without calls: it is the answer to the user
USER_WORDS = 1_200  # characters of a user's text that are kept unchanged; of a longer one head, tail and rules
_PASTED = 300  # characters of what may be pasted that are kept in any case
_CUT = " [...] "
_SHORTEST, _LONGEST = 12, 420  # characters of a line worth keeping
_TROUBLE = re.compile(
    r"\b(?:\w*error|\w*exception|traceback|fail(?:ed|ure)?|fatal|panic|not found|denied|refused|no such|undefined|"
    r"cannot|unable to|timed? ?out|killed|aborted|crash(?:ed)?|out of memory|exit (?:code|status) [1-9])",
    re.IGNORECASE,
)
_SIGNS = (
    "error", "exception", "traceback", "fail", "fatal", "panic", "not found", "denied", "refused", "no such",
    "undefined", "cannot", "unable to", "time", "killed", "aborted", "crash", "out of memory", "exit ",
)  # fmt: skip
"""Every match of that pattern contains one of these. The pattern is slow, and most results have no match."""
_OBSERVED = "observed"
"""In place of a call in the line of a turn whose results are observations."""
_FEW = 20  # lines up to which a result counts as a report, and not as a text
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n")


class _Result(NamedTuple):
    """A result and its lines."""

    seq: int
    part: Part
    lines: list[str]
    trouble: str | None
    """The line that says what went wrong."""


class TurnFacts:
    """The digest lines of one group, read once: a digest that cannot be continued is written from the same."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._parts = list(map(_without_echoes, entries, echoes_of(entry.reading for entry in entries)))
        self._results = [
            _Result(entry.seq, part, lines := result_pieces(part.text), trouble_in(lines))
            for entry, parts in zip(entries, self._parts, strict=True)
            for part in parts
            if part.kind == "result"
        ]

    @property
    def by_user(self) -> bool:
        """True if a user wrote all of it."""
        return all(entry.reading.role == "user" and not entry.reading.outcomes for entry in self._entries)

    @property
    def with_tools(self) -> bool:
        """True if it holds a call or a result."""
        return any(entry.reading.calls or entry.reading.outcomes for entry in self._entries)

    @cached_property
    def headings(self) -> tuple[DigestLine, ...]:
        """A user's words, or one line for the turn."""
        return tuple(self._headings())

    def _headings(self) -> Iterator[DigestLine]:
        first, last = self._entries[0], self._entries[-1]
        if first.reading.flags.injected:
            text = _gist("\n".join(part.text for part in first.reading.parts), _SAID)
            yield DigestLine(first.seq, last.seq, "turn", f"reminder: {text}")
            return
        if first.reading.is_system:
            yield _system_note(first)
            return
        if self.by_user:
            for entry in self._entries:
                yield from _user_notes(entry)
            return
        line = self.turn_line()
        if line:
            yield DigestLine(first.seq, last.seq, "turn", line)
        for entry in self._entries:
            if entry.reading.is_user_turn:  # text next to the results in a user's message
                yield from _user_notes(entry)

    def turn_line(self) -> str:
        """Return one line with what the agent said and called, and with the results."""
        results = {result.part.id: result for result in self._results}
        said: list[str] = []
        for entry, parts in zip(self._entries, self._parts, strict=True):
            calls = [part for part in parts if part.kind == "call"]
            texts = [part.text for part in entry.reading.parts if part.kind == "text" and part.text.strip()]
            if texts and entry.reading.role != "user":
                said.append(quoted(_gist("\n".join(texts), _SAID if calls else _ANSWER)))
            said += [f"{call.name}({_one(brief(call.text))}){_ended(results.get(call.id), call)}" for call in calls]
        if self._entries[0].reading.flags.observation:
            said += [f"{_OBSERVED}{_ended(result)}" for result in self._results]
        return BETWEEN.join(said)

    @cached_property
    def lines(self) -> tuple[tuple[int, list[str], DigestLine | None], ...]:
        """Lines of its messages that may be worth keeping, as `seq` and texts, and with those of a result its error.
        Plain texts, because there are hundreds and few of them are kept.
        """
        return tuple(self._lines())

    def _lines(self) -> Iterator[tuple[int, list[str], DigestLine | None]]:
        for entry, parts in zip(self._entries, self._parts, strict=True):
            for part in parts:
                if part.kind != "result":
                    for text in written_values(part.text) if part.kind == "call" else (_unwrapped(entry, part),):
                        yield entry.seq, _worth_keeping(pieces(text)), None
        for seq, _, lines, trouble in self._results:
            error = None if trouble is None else DigestLine(seq, seq, "error", trouble[:_LONGEST])
            yield seq, _worth_keeping(lines), error


def _without_echoes(entry: Entry, echoes: frozenset[int]) -> Sequence[Part]:
    parts = entry.reading.parts
    return [part for number, part in enumerate(parts) if number not in echoes] if echoes else parts


def _unwrapped(entry: Entry, part: Part) -> str:
    """Return the text of a part without the tags in which hosts put what they insert into a user's text, and without
    those of its fields: the turn's line has no tags either, so that what it says already is not chosen again.
    """
    if part.kind != "text" or entry.reading.role != "user" or len(part.text) > READ:
        return part.readable
    return "\n".join(
        without_field_tags(piece.text) if piece.rank == "inserted" else piece.text for piece in pieces_of(part.text)
    )


def _worth_keeping(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if _SHORTEST <= len(line) <= _LONGEST]


def _system_note(entry: Entry) -> DigestLine:
    """Return what a system message says, under its rank."""
    text = _ends("\n".join(part.text for part in entry.reading.parts if part.text), USER_WORDS)
    return DigestLine(entry.seq, entry.seq, "system" if entry.reading.role == "system" else "developer", text)


def _user_notes(entry: Entry) -> Iterator[DigestLine]:
    """Yield what a user typed, the rules that this does not show, and what may be pasted."""
    seq, reading, sure = entry.seq, entry.reading, entry.reading.sure
    pasted, by = reading.pasted, reading.speaker
    if not sure and not pasted:
        yield _unsaid(entry)
        return
    if sure:
        words = _ends(sure, USER_WORDS)
        yield DigestLine(first=seq, last=seq, kind="user", text=words, by=by)
        if words != sure:
            head, _, tail = words.partition(_CUT)
            rules = (rule for rule in rules_in(sure) if rule not in head and rule not in tail)
            yield from [DigestLine(first=seq, last=seq, kind="rule", text=rule, by=by) for rule in rules]
    if pasted:
        yield DigestLine(
            first=seq, last=seq, kind="pasted", text=_ends(pasted, max(_PASTED, USER_WORDS - len(sure))), by=by
        )


def _ends(text: str, most: int) -> str:
    """Return a text as it is, or head and tail of a longer one."""
    return text if len(text) <= most else f"{text[: int(most * 0.7)]}{_CUT}{text[-int(most * 0.3) :]}"


def _unsaid(entry: Entry) -> DigestLine:
    """Name what a message holds of which its user typed nothing: what a host inserted, or media."""
    inserted = [piece for piece in entry.reading.pieces if piece.rank == "inserted"]
    if not inserted:
        return DigestLine(first=entry.seq, last=entry.seq, kind="user", text=_media(entry), by=entry.reading.speaker)
    names = ", ".join(dict.fromkeys(piece.name for piece in inserted))
    text = _gist(_TAGS.sub(" ", " ".join(piece.text for piece in inserted)), _OUTCOME)
    return DigestLine(entry.seq, entry.seq, "turn", f"reminder: {names}{': ' if text else ''}{text}")


def newest_ranked(notes: Sequence[DigestLine], room: int, size: Callable[[DigestLine], int]) -> list[DigestLine]:
    """Return notes with only so many of system messages as `room` tokens hold, newest first, and at least the newest:
    where a host adds one with each turn, users' words and rules must keep their room.
    """
    gone, newest = set[int](), True
    for number in range(len(notes) - 1, -1, -1):
        if notes[number].kind in RANKED:
            room -= size(notes[number])
            if room < 0 and not newest:
                gone.add(number)
            newest = False
    return [note for number, note in enumerate(notes) if number not in gone]


def _media(entry: Entry) -> str:
    parts = [part for part in entry.reading.parts if part.media is not None or part.text.strip()]
    kinds = ["document" if part.media is None else part.media.kind for part in parts]
    return f"({', '.join(kinds) or 'no text'})"


def _gist(text: str, most: int) -> str:
    """Return the first sentences of a text, in one line."""
    text = text.strip()[: most + 1]  # everything that can be shown
    if most == _SAID:
        text = _SENTENCE_END.split(text, 1)[0]
    return " ".join(text.split())[:most]


def brief(arguments: str) -> str:
    """Write a call's arguments as `name=value`, with long values cut. Arguments too long to parse are cut as text."""
    try:
        value = without_old(json.loads(arguments)) if len(arguments) <= READ else arguments
    except (ValueError, RecursionError):
        value = arguments
    if type(value) is not dict:
        return _flat(value, _ARGUMENTS)
    texts = any(type(inner) is str for inner in value.values())
    shown = [
        f"{name}={_flat(inner, _VALUE)}"
        for name, inner in value.items()
        if not (texts and type(inner) in (bool, int))  # limits and switches say less than the texts
    ]
    return ", ".join(shown)[:_ARGUMENTS]


def _one(words: str) -> str:
    """Replace the separator of two calls in words."""
    return words.replace(BETWEEN, " \u00a6 ")


def _flat(value: Any, most: int) -> str:
    text = value if type(value) is str else json.dumps(value, ensure_ascii=False)
    text = " ".join(text[: most * 2].split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def trouble_in(lines: Sequence[str]) -> str | None:
    """Return the line of a result that says what went wrong; None if nothing seems wrong.

    A long result that contains an error somewhere is mostly a text about errors, so only its ends count.
    """
    some = [line for line in lines if line]
    ends = some if len(some) <= _FEW else (*some[:2], *some[-3:])
    together = "\n".join(ends).lower()
    if together.isascii() and not any(sign in together for sign in _SIGNS):
        return None
    return next((line for line in reversed(ends) if _TROUBLE.search(line)), None)


def _ended(result: _Result | None, call: Part | None = None) -> str:
    if result is None:
        return ""
    trouble, lines = result.trouble, [line for line in result.lines if line]
    if not lines:
        return " -> nothing"
    shown = _one((trouble or lines[0])[:_OUTCOME])
    count = len(lines) if len(result.part.text) <= READ else result.part.text.count("\n") + 1
    more = f" ({count} lines)" if count > 3 else ""
    if trouble is None and call is not None and set(specific_words(call.text)).issuperset(specific_words(shown)):
        return more  # it says no more than the call did
    return f" -> {shown}{more}"
