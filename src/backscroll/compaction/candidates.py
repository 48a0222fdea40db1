"""What a strategy is shown: the units of a view, with their sizes and what protects them. No strategy may live here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

from backscroll.compaction.digest.relevance import Relevance
from backscroll.compaction.sampling import READ
from backscroll.history.history import Entry, History
from backscroll.history.plan import (
    GAPS,
    NO_DIGEST,
    Clear,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Excerpt,
    Gap,
    reference,
)
from backscroll.messages import Part
from backscroll.messages.rewriter import replaceable
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import Count, Estimate, estimate_count, estimate_message
from backscroll.view.rendering import clipped, masked
from backscroll.view.view import RenderContext, View

NEAREST = 1 / 3  # of what is spared as recent: nothing of it is even cut
SHARE = 0.25  # of the budget that a digest takes at most
FREE_SHARE = 0.6  # of what the floor leaves of the budget
PROSE = 0.4  # of a digest that a model's summary takes at most: users' words and facts stand beside it
OF_TOLD = 0.45  # of what it tells: a digest that is nearly as long as the original is no digest


@dataclass(slots=True, eq=False)
class CandidateGroup:
    """One group as it stands in the plan so far. Strategies read it; only the ladder changes it."""

    entries: tuple[Entry, ...]
    seqs: Sequence[int]
    """The entries' numbers, in order."""
    estimate: Estimate
    """Of the group with the edits chosen so far."""
    floor: bool
    """Must stay whole unless it alone does not fit: leading system, first and last user, pinned, newest."""
    recent: bool
    """Within the newest `protect.recent` share of the budget."""
    unseen: bool
    """Holds a result that no assistant message follows yet."""
    edits: dict[tuple[int, int], Excerpt | Clear]
    nearest: bool = False
    """Within the newest third of that share, or kept: not even cut, as long as it fits otherwise."""
    kept: bool = False
    """Among the messages at the beginning or the end that never leave a view."""

    @property
    def tokens(self) -> int:
        """By the upper estimate."""
        return self.estimate.upper

    @property
    def free(self) -> bool:
        """Whether it may leave the view."""
        return not (self.floor or self.recent or self.unseen or self.kept)

    @property
    def cuttable(self) -> bool:
        """Whether its parts may be cut: also among the recent ones, if not among the nearest."""
        return not (self.floor or self.nearest or self.unseen)


@dataclass(slots=True, eq=False)  # not frozen: a frozen one takes three times as long, and this is made of every part
class CandidatePart:
    """A part that could be made smaller, as it stands now. Strategies read it; nobody changes it."""

    unit: CandidateGroup
    entry: Entry
    number: int
    part: Part
    count: Count
    """What it counts in the present view; for media, its tokens."""


class Strategy(Protocol):
    """From a window and the tokens to win to edits. Pure and deterministic: same window, same edits.

    Winning more than asked for is fine. What would take out a unit that is not `free`, or cut one that is not
    `cuttable`, is refused.
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

    units: list[CandidateGroup]
    family: ModelProfile
    count: Callable[[str], Count]
    budget: int
    """Input tokens that the messages may take in all."""
    digest: DigestContent = NO_DIGEST
    """What the view's summary tells by now."""
    digest_tokens: int = 0
    """What it takes, by the upper estimate."""
    prose: DigestLine | None = None
    """A model's summary that is ready to be told; what it tells of may leave the view with the least harm."""
    salience: Relevance = field(init=False)
    """What weighs among the units, as they were at the start."""
    by_seq: dict[int, CandidateGroup] = field(init=False)
    """The units that are still there, by each of their entries."""

    def __post_init__(self) -> None:
        """Indexes the units."""
        self.by_seq = {seq: unit for unit in self.units for seq in unit.seqs}
        self.salience = Relevance([unit.entries for unit in self.units], self.digest.weights)

    def candidates(self, *kinds: str, over: int = 0) -> Iterator[CandidatePart]:
        """Parts of these kinds and of more than `over` tokens in cuttable units that may be rewritten, oldest first."""
        for unit in self.units:
            if unit.estimate.upper > over and unit.cuttable:
                for candidate in self.parts_of(unit, kinds):
                    if candidate.count.tokens > over:
                        yield candidate

    def parts_of(self, unit: CandidateGroup, kinds: Sequence[str]) -> Iterator[CandidatePart]:
        """The rewritable parts of one unit."""
        for entry in unit.entries:
            for number, part in enumerate(entry.reading.parts):
                if part.kind in kinds and replaceable(entry.reading, part):
                    yield CandidatePart(unit, entry, number, part, self._present(unit, entry, number))

    def tokens(self, count: Count) -> int:
        """The upper estimate of a count."""
        return ceil(estimate_count(count, self.family)[1])

    def _present(self, unit: CandidateGroup, entry: Entry, number: int) -> Count:
        edit = unit.edits.get((entry.seq, number))
        if edit is not None:
            return edit.count
        count = entry.counts[number]
        if type(count) is Count:
            return count
        return Count(ceil(estimate_count(count, self.family)[0]))

    def clip(self, candidate: CandidatePart, keep: int, by: str, head_share: float = 0.6) -> Excerpt | None:
        """The part cut to about `keep` tokens, head and tail; None where that would win nothing, and for arguments that
        are too long to be read whole: what is left of them would have to be valid JSON.
        """
        text, count = candidate.part.text, candidate.entry.counts[candidate.number]
        if type(count) is not Count or not count.tokens or not text:
            return None
        if candidate.part.form in ("arguments", "mapping") and len(text) > READ:
            return None
        characters = max(1, int(len(text) * keep / count.tokens))
        head = _to_line_end(text, int(characters * head_share))
        return self.cut(candidate, head, max(0, characters - head), (), by)

    def cut(
        self, candidate: CandidatePart, head: int, tail: int, between: Sequence[tuple[int, int]], by: str
    ) -> Excerpt | None:
        """The part cut to its first `head` and last `tail` characters and the stretches `between`; None where that
        would win nothing.
        """
        ref = reference(candidate.entry.seq, part=candidate.number)
        text = clipped(candidate.part, head, tail, ref, between)
        if text == candidate.part.text:
            return None
        counted = self._recount(candidate.part, text)
        if counted.tokens >= candidate.count.tokens:
            return None
        return Excerpt(candidate.entry.seq, candidate.number, head, tail, counted, by, tuple(between))

    def mask(self, candidate: CandidatePart, by: str, why: str = "left out") -> Clear | None:
        """The part as a one-line stub that says why; None where that would win nothing."""
        original = candidate.entry.counts[candidate.number]
        size = original.tokens if type(original) is Count else candidate.count.tokens
        what = (
            candidate.part.media.kind
            if candidate.part.media
            else "tool call arguments"
            if _is_call(candidate)
            else "tool result"
        )
        note = f"{what} of {size:,} tokens {why}"
        stub = masked(candidate.part, note, reference(candidate.entry.seq, part=candidate.number))
        counted = self._recount(candidate.part, stub)
        if counted.tokens >= candidate.count.tokens:
            return None
        return Clear(candidate.entry.seq, candidate.number, note, counted, by)

    def tokens_of(self, entry: Entry) -> int:
        """The upper estimate of a whole message."""
        return estimate_message(entry.reading, entry.counts, self.family).upper

    def digest_allowance(self, folded: int, room: int | None = None) -> int:
        """Tokens that the digest may take once `folded` more tokens are folded: at most a quarter of the budget.

        `room`: what `digest_room` said, for who asks often.
        """
        return min(self.digest_room() if room is None else room, self.usual_allowance(folded))

    def digest_room(self) -> int:
        """Tokens that what must stay leaves for a digest."""
        floor = sum(unit.tokens for unit in self.units if unit.floor)
        return int(max(0, self.budget - floor) * FREE_SHARE)

    def usual_allowance(self, folded: int) -> int:
        """The same where what must stay leaves room for it."""
        return min(int(self.budget * SHARE), int((self.digest.told + folded) * OF_TOLD))

    def summary_room(self) -> int:
        """Tokens that a model's summary may take."""
        return max(1, int(self.budget * SHARE * PROSE))

    def digest_growth(self, folded: int, room: int) -> int:
        """Tokens by which the digest is expected to grow when `folded` more tokens are folded. It fills what it may
        take, unless there was so little to tell that it did not even fill half of that before.
        """
        before = self.digest_allowance(0, room)
        sparse = before > 0 and 0 < self.digest_tokens < before / 2
        share = self.digest_tokens / before if sparse else 1.0
        return int(self.digest_allowance(folded, room) * share) - self.digest_tokens

    def fold(self, units: Iterable[CandidateGroup], tokens: int, by: str) -> list[Edit]:
        """The first of these units folded, as many as win `tokens` after what the digest grows by, and at least those
        that a summary tells of.
        """
        edits: list[Edit] = []
        folded, summarised, room = 0, self.prose.last if self.prose else -1, self.digest_room()
        for unit in units:
            if unit.seqs[-1] > summarised and folded - self.digest_growth(folded, room) >= tokens:
                break
            edits += [Digest(seq, seq, by) for seq in unit.seqs]
            folded += unit.tokens
        return edits

    def take(self, edits: Sequence[Edit]) -> Estimate:
        """Reckons with these edits from now on; answers what they win."""
        units = self.by_seq
        won_middle = won_upper = 0
        gone: set[int] = set()
        for edit in edits:
            if isinstance(edit, GAPS):
                gone.update(id(units[seq]) for seq in within(edit, units))
                continue
            unit = units[edit.seq]
            entry = next(entry for entry in unit.entries if entry.seq == edit.seq)
            before = estimate_count(self._present(unit, entry, edit.part), self.family)
            after = estimate_count(edit.count, self.family)
            won = Estimate(int(before[0] - after[0]), int(before[1] - after[1]))
            unit.edits[edit.seq, edit.part] = edit
            unit.estimate = Estimate(unit.estimate.middle - won.middle, unit.estimate.upper - won.upper)
            won_middle, won_upper = won_middle + won.middle, won_upper + won.upper
        for unit in self.units if gone else ():
            if id(unit) in gone:
                won_middle, won_upper = won_middle + unit.estimate.middle, won_upper + unit.estimate.upper
                for seq in unit.seqs:
                    units.pop(seq, None)
        self.units = [unit for unit in self.units if id(unit) not in gone] if gone else self.units
        return Estimate(won_middle, won_upper)

    def _recount(self, part: Part, text: str) -> Count:
        """A call's count covers its name as well."""
        count = self.count(text)
        return count._replace(tokens=count.tokens + self.count(part.name).tokens) if part.name else count


def within(gap: Gap, seqs: Mapping[int, CandidateGroup]) -> list[int]:
    """The `seq`s of these that a gap covers."""
    if gap.first == gap.last:
        return [gap.first] if gap.first in seqs else []
    return [seq for seq in seqs if gap.first <= seq <= gap.last]


def _is_call(candidate: CandidatePart) -> bool:
    return candidate.part.kind == "call"


def _to_line_end(text: str, at: int) -> int:
    """A cut at the end of a line reads better, if one is near."""
    line = text.rfind("\n", max(0, at - 200), at)
    return line + 1 if line > 0 else at


def build_window(
    history: History, view: View, budget: int, around: RenderContext, retain: frozenset[int] = frozenset()
) -> Window:
    """The window over the pieces of a view. `budget`: tokens that the messages may take. `retain`: entries that must
    stay in addition to those that always must.
    """
    floor, kept = floor_seqs(history) | history.newest_seqs | retain, kept_ends(history, around.kept)
    seen = history.last_assistant
    units = [
        CandidateGroup(
            piece.entries,
            piece.group.members,
            piece.estimate,
            floor=not floor.isdisjoint(piece.group.members),
            recent=False,
            unseen=piece.group.members[-1] > seen and any(e.seq > seen and e.reading.results for e in piece.entries),
            edits={(edit.seq, edit.part): edit for edit in piece.edits},
            kept=piece.group.first <= kept[0] or piece.group.members[-1] >= kept[1],
        )
        for piece in view.pieces
        if piece.group is not None and piece.messages  # an orphan result takes no room
    ]
    if units:
        units[-1].floor = True
    return Window(units, around.family, around.count, budget, view.plan.digest, view.summary_tokens)


def kept_ends(history: History, counts: tuple[int, int]) -> tuple[int, int]:
    """Up to which `seq`, and from which on, messages never leave a view."""
    branch, (first, last) = history.branch, counts
    begin, end = min(history.leading + first, len(branch)), max(0, len(branch) - last)
    return branch[begin - 1] if first and begin else -1, branch[end] if end < len(branch) else history.next_seq


def protect_recent(window: Window, recent: int, results: int, *, cut_kept: bool = False) -> None:
    """Marks the newest units within `recent` tokens as spared, those of the newest `results` results as well, and no
    others. `cut_kept`: what never leaves a view may be cut.
    """
    spared = found = 0
    for unit in reversed(window.units):
        spared += unit.tokens
        held = sum(len(entry.reading.results) for entry in unit.entries)
        among = held > 0 and found < results
        found += held
        unit.recent = among or spared <= recent
        unit.nearest = among or spared <= recent * NEAREST or (unit.kept and not cut_kept)


def floor_seqs(history: History) -> set[int]:
    """What must stay in every view, besides `newest_seqs`."""
    floor = set(history.leading_seqs)
    floor |= {entry.seq for entry in (history.first_user, history.last_user) if entry is not None}
    floor |= set() if history.reminder is None else {history.reminder}
    return floor | history.protected
