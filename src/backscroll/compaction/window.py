"""What a strategy is shown: the units of a view, with their sizes and what protects them. No strategy may live here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

from backscroll.plan import Clip, Edit, Mask, reference
from backscroll.families import Family
from backscroll.history import Entry, History
from backscroll.messages import Part
from backscroll.messages.rewriting import replaceable
from backscroll.rendering import clipped, masked
from backscroll.usage import Count, estimate_count
from backscroll.view import Piece


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One group as it stands in the view."""

    entries: tuple[Entry, ...]
    tokens: int
    """By the upper estimate."""
    floor: bool
    """Must stay whole unless it alone does not fit: leading system, first and last user, pinned, newest."""
    recent: bool
    """Within the newest `protected_recent` share of the budget."""
    unseen: bool
    """Holds a result that no assistant message follows yet."""
    edits: dict[tuple[int, int], Clip | Mask]

    @property
    def free(self) -> bool:
        """Whether strategies may touch it."""
        return not (self.floor or self.recent or self.unseen)

    @property
    def seqs(self) -> list[int]:
        """The entries' numbers, in order."""
        return [entry.seq for entry in self.entries]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A part that could be made smaller, as it stands now."""

    unit: Unit
    entry: Entry
    number: int
    part: Part
    count: Count
    """What it counts in the present view; for media, its tokens."""


class Strategy(Protocol):
    """From a window and the tokens to win to edits. Pure and deterministic: same window, same edits.

    Winning more than asked for is fine; edits of units that are not `free` are refused.
    """

    @property
    def name(self) -> str:
        """Short, lower case; edits carry it as their reason."""
        ...

    def __call__(self, window: "Window", tokens: int) -> Sequence[Edit]:
        """The edits that win about `tokens`, oldest first."""
        ...


@dataclass(slots=True, eq=False)
class Window:
    """The units of a view in order, and how edits of them count."""

    units: list[Unit]
    family: Family
    count: Callable[[str], Count]
    budget: int
    """Input tokens that the messages may take in all."""
    _counted: dict[tuple[int, int, int, int], Count] = field(default_factory=dict)

    def candidates(self, *kinds: str, fixed_too: bool = False) -> Iterator[Candidate]:
        """Parts of these kinds in free units, oldest first, that may be rewritten."""
        for unit in self.units:
            if fixed_too or unit.free:
                yield from self.parts_of(unit, kinds)

    def parts_of(self, unit: Unit, kinds: Sequence[str]) -> Iterator[Candidate]:
        """The rewritable parts of one unit."""
        for entry in unit.entries:
            for number, part in enumerate(entry.reading.parts):
                if part.kind in kinds and replaceable(entry.reading, part):
                    yield Candidate(unit, entry, number, part, self._present(unit, entry, number))

    def tokens(self, count: Count) -> int:
        """The upper estimate of a count."""
        return ceil(estimate_count(count, self.family)[1])

    def _present(self, unit: Unit, entry: Entry, number: int) -> Count:
        edit = unit.edits.get((entry.seq, number))
        if edit is not None:
            return edit.count
        count = entry.counts[number]
        if type(count) is Count:
            return count
        return Count(ceil(estimate_count(count, self.family)[0]))

    def clip(self, candidate: Candidate, keep: int, by: str, head_share: float = 0.6) -> Clip | None:
        """The part cut to about `keep` tokens; None where that would win nothing."""
        text, count = candidate.part.text, candidate.entry.counts[candidate.number]
        if type(count) is not Count or not count.tokens or not text:
            return None
        characters = max(1, int(len(text) * keep / count.tokens))
        head = _to_line_end(text, int(characters * head_share))
        tail = max(0, characters - head)
        key = (candidate.entry.seq, candidate.number, head, tail)
        if key not in self._counted:
            ref = reference(candidate.entry.seq, part=candidate.number)
            self._counted[key] = self._recount(candidate.part, clipped(candidate.part, head, tail, ref))
        counted = self._counted[key]
        if counted.tokens >= candidate.count.tokens:
            return None
        return Clip(candidate.entry.seq, candidate.number, head, tail, counted, by)

    def mask(self, candidate: Candidate, by: str) -> Mask | None:
        """The part as a one-line stub; None where that would win nothing."""
        original = candidate.entry.counts[candidate.number]
        size = original.tokens if type(original) is Count else candidate.count.tokens
        what = candidate.part.media.kind if candidate.part.media else "tool call arguments" if _is_call(candidate) else "tool result"
        note = f"{what} of {size:,} tokens left out"
        stub = masked(candidate.part, note, reference(candidate.entry.seq, part=candidate.number))
        counted = self._recount(candidate.part, stub)
        if counted.tokens >= candidate.count.tokens:
            return None
        return Mask(candidate.entry.seq, candidate.number, note, counted, by)

    def _recount(self, part: Part, text: str) -> Count:
        """A call's count covers its name as well."""
        count = self.count(text)
        return count._replace(tokens=count.tokens + self.count(part.name).tokens) if part.name else count


def _is_call(candidate: Candidate) -> bool:
    return candidate.part.kind == "call"


def _to_line_end(text: str, at: int) -> int:
    """A cut at the end of a line reads better, if one is near."""
    line = text.rfind("\n", max(0, at - 200), at)
    return line + 1 if line > 0 else at


def look(history: History, pieces: Sequence[Piece], budget: int, recent: int, family: Family, count: Callable[[str], Count]) -> Window:
    """The window over these pieces. `recent`: tokens at the end that strategies spare."""
    floor = floor_seqs(history)
    units: list[Unit] = []
    spared = 0
    sparing = True
    newest = True
    for piece in reversed(pieces):
        if piece.group is None:
            continue
        tokens = piece.estimate.upper
        spared += tokens
        sparing = sparing and spared <= recent
        is_floor = newest or not floor.isdisjoint(piece.group.members)
        unseen = any(entry.seq > history.last_assistant and entry.reading.results for entry in piece.entries)
        edits = {(edit.seq, edit.part): edit for edit in piece.edits}
        units.append(Unit(piece.entries, tokens, is_floor, sparing, unseen, edits))
        newest = False
    units.reverse()
    return Window(units, family, count, budget)


def floor_seqs(history: History) -> set[int]:
    """What must stay in every view, besides the newest group."""
    floor = {entry.seq for entry in history.branch[: history.leading]}
    floor |= {entry.seq for entry in (history.first_user, history.last_user) if entry is not None}
    return floor | history.protected
