"""Read folded groups as turns: what the user asked for, and what the agent then did and said, in order.

A long turn is cut into pieces, so that each has a reference that a reader can recall.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from backscroll.compaction.handover.progress import is_progress
from backscroll.compaction.handover.user_lines import Asked, read_user, system_line
from backscroll.history.history import Entry
from backscroll.history.plan import DigestLine
from backscroll.messages import Part
from backscroll.messages.deeds import Deed, deeds_of, ended_runs
from backscroll.messages.echoes import echoes_of
from backscroll.messages.prose import remark

MANY = 14  # deeds from which a turn may be cut: a reference to some 30 messages still helps
_MOST = 20  # deeds of a piece whose next call comes without words: with more, all of them fit or none of them do
_CUTS = 40  # characters of a remark that begins a new piece: a shorter one says nothing about what follows
_SHORT = 900  # characters of a text next to calls of which only what it announces is left out
_REMEMBERED = 20_000  # characters of a call and its result whose deeds are worth caching
_LINES = 4  # line ends of such a text: one with more is a report, whose structure says what matters


class Done(NamedTuple):
    """A deed, with its call and its result."""

    seq: int
    last: int
    deed: Deed


class Said(NamedTuple):
    """What the agent said: next to calls, or `closing` without any."""

    seq: int
    text: str
    closing: bool


Step = Done | Said | DigestLine
"""A line is of a message between: of the system, or of a host."""


@dataclass(slots=True)
class Turn:
    """A turn, or a piece of one."""

    first: int
    last: int
    asked: Asked | None = None
    """The user's message. `None`: it begins elsewhere."""
    steps: list[Step] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    """Keys of background runs that ended, as far as results say."""
    deeds: int = 0

    @property
    def report(self) -> Said | None:
        """The newest text without calls."""
        return next((step for step in reversed(self.steps) if isinstance(step, Said) and step.closing), None)


class _Result(NamedTuple):
    seq: int
    part: Part


def turns_of(groups: Iterable[Sequence[Entry]]) -> list[Turn]:
    """Return what these groups hold as turns, in order."""
    turns: list[Turn] = []
    for entry, parts, results in _read(groups):
        reading = entry.reading
        turn = turns[-1] if turns else Turn(entry.seq, entry.seq)
        if reading.is_user_turn or reading.flags.injected:
            asked, notes = read_user(entry)
            turn = turn if asked is None else Turn(entry.seq, entry.seq, asked)
            turn.steps += notes
        elif reading.is_system:
            turn.steps.append(system_line(entry))
        elif reading.role != "user":
            turn = _with_answer(turn, entry, parts, results)
        elif reading.flags.observation:
            turn.steps += [Said(entry.seq, part.text, False) for part in parts if part.kind == "result"]
        turn.last = max(turn.last, entry.seq)
        if not turns or turns[-1] is not turn:
            turns.append(turn)
    return turns


def _read(groups: Iterable[Sequence[Entry]]) -> Iterator[tuple[Entry, list[Part], Mapping[str, _Result]]]:
    """Yield the messages in the order in which they came, without echoes, each with the results of its group."""
    found: list[tuple[int, Entry, list[Part], dict[str, _Result]]] = []
    for group in groups:
        results: dict[str, _Result] = {}
        for entry, echoes in zip(group, echoes_of(entry.reading for entry in group), strict=True):
            parts = [part for number, part in enumerate(entry.reading.parts) if number not in echoes]
            for part in parts:
                if part.kind == "result" and part.id is not None:
                    results.setdefault(part.id, _Result(entry.seq, part))
            found.append((entry.seq, entry, parts, results))
    found.sort(key=lambda each: each[0])
    return ((entry, parts, results) for _, entry, parts, results in found)


def _with_answer(turn: Turn, entry: Entry, parts: Sequence[Part], results: Mapping[str, _Result]) -> Turn:
    """Add a message of the agent. Returns the turn, or its next piece that begins with it."""
    text = "\n".join(part.text for part in parts if part.kind == "text" and part.text.strip()).strip()
    calls = [part for part in parts if part.kind == "call"]
    said = text if not calls or _is_long(text) else remark(text)
    said = "" if calls and is_progress(said) else said
    if calls and (turn.deeds >= _MOST or (turn.deeds > MANY and len(said) > _CUTS)):
        turn = Turn(entry.seq, entry.seq)
    if said:
        turn.steps.append(Said(entry.seq, said, not calls))
    for call in calls:
        result = results.get(call.id or "")
        answer = None if result is None else result.part
        last = entry.seq if result is None else result.seq
        deeds, ended = _read_call(call, answer)
        turn.steps += [Done(entry.seq, last, deed) for deed in deeds]
        turn.ended.update(ended)
        turn.deeds += len(deeds)
    return turn


def _read_call(call: Part, result: Part | None) -> tuple[tuple[Deed, ...], tuple[str, ...]]:
    """Return the deeds of a call, and the background runs that ended by what its result says."""
    if len(call.text) + len(result.text if result else "") > _REMEMBERED:
        return deeds_of(call, result), ended_runs(call, result)
    return _known_call(call, result)


@lru_cache(maxsize=512)  # the newest messages are read at each compaction, for the state
def _known_call(call: Part, result: Part | None) -> tuple[tuple[Deed, ...], tuple[str, ...]]:
    return deeds_of(call, result), ended_runs(call, result)


def _is_long(text: str) -> bool:
    return len(text) >= _SHORT or text.count("\n") >= _LINES
