"""What a strategy sees: the groups of a view, with their sizes and protection."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil
from operator import attrgetter

from backscroll.compaction.digest.relevance import Relevance
from backscroll.compaction.floor import floor_seqs
from backscroll.compaction.in_place import kept_in_place
from backscroll.compaction.options import DigestOptions
from backscroll.compaction.sampling import READ
from backscroll.history.history import Entry, History
from backscroll.history.plan import (
    BACK_REFERENCE,
    GAPS,
    NO_DIGEST,
    Clear,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Excerpt,
    Gap,
    PartEdit,
    Restate,
    reference,
)
from backscroll.history.recall_wording import RECALL, RecallWording
from backscroll.messages import Part
from backscroll.messages.rewriter import replaceable
from backscroll.messages.same_data import once
from backscroll.messages.structure import Pieces, at_ends, joined, pieces_of
from backscroll.tokens.counts import Count
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import Estimate, estimate_count, estimate_message
from backscroll.view.context import RenderContext
from backscroll.view.rendering import clipped, masked, restated
from backscroll.view.view import View

NEAREST = 1 / 3  # of the tokens spared as recent: these are not even cut
FREE_SHARE = 0.6  # of what the required messages leave of the budget
PROSE = 0.1  # of the budget that a model's summary is asked to take: users' words and facts need the rest of a digest
_FEWER = (1.0, 0.5, 0.0)  # of a result's pieces, if the first cut is larger than it should be
_MARK = 60  # characters of the mark that bears the reference
OF_COVERED = 0.45  # of what it covers: a digest nearly as long as the original is no digest
OF_FOLDED = 0.1
"""Of what leaves, that a hand-over grows by: 2 to 10 % on recorded sessions. With more, messages leave for which there
is room, with less, views stay above their target.
"""
FULL = 0.8  # of its allowance, from which on a chronicle has to shrink: the state and the files have the rest
OF_STATE = 0.02  # of the budget, that its state may grow by, which is replaced each time
_OF_FIRST = 0.125  # of the budget, up to which the user's first message stays: with more it crowds out the newest turns
QUOTES_FROM = 2_000
"""Tokens that required messages leave, from which on a hand-over has room for the user's words. In less, the messages
themselves stay.
"""
_seq = attrgetter("seq")
LEAST_DIGEST = 200  # tokens that it may take however little it covers: rules in it must not leave while there is room


@dataclass(slots=True, eq=False)
class CandidateGroup:
    """One group under the plan so far. Strategies read it; only the pipeline changes it."""

    entries: tuple[Entry, ...]
    seqs: Sequence[int]
    """The entries' `seq`s, ascending."""
    estimate: Estimate
    """The group's tokens with the edits chosen so far."""
    floor: bool
    """Stays whole unless the required groups alone do not fit: leading system, first and last user, pinned, newest."""
    recent: bool
    """Within the newest `protect.recent` share of the budget."""
    unseen: bool
    """Holds a result that no assistant message follows yet."""
    edits: dict[tuple[int, int], PartEdit]
    nearest: bool = False
    """Within the newest third of that share, or kept: not even cut, unless it cannot fit otherwise."""
    kept: bool = False
    """Among the messages at the beginning or the end that never leave a view."""
    spared: frozenset[tuple[int, int]] = frozenset()
    """Its parts of the working set, by `seq` and number: not cut, and the group does not leave."""

    in_place: frozenset[int] = frozenset()
    """Its messages that keep their place by rank, or because the request's tools depend on them: the group does not
    leave.
    """

    @property
    def tokens(self) -> int:
        """Tokens by the upper estimate."""
        return self.estimate.upper

    @property
    def free(self) -> bool:
        """True if it may leave the view."""
        return not (self.floor or self.recent or self.unseen or self.kept or self.spared or self.in_place)

    @property
    def cuttable(self) -> bool:
        """True if its parts may be cut, which includes recent groups except the nearest."""
        return not (self.floor or self.nearest or self.unseen)


@dataclass(slots=True, eq=False)  # not frozen: a frozen one takes three times as long, and one is made for every part
class CandidatePart:
    """A part that an edit could shorten, in its present state. Read-only."""

    unit: CandidateGroup
    entry: Entry
    number: int
    part: Part
    count: Count
    """Its counts in the present view; for media, its tokens."""

    @property
    def is_spared(self) -> bool:
        """True if it belongs to the working set, or keeps its place."""
        return (self.entry.seq, self.number) in self.unit.spared or self.is_fixed

    @property
    def is_fixed(self) -> bool:
        """True if it is never cut: words of a system message, or what brings tools."""
        return self.entry.reading.fixes(self.part)


@dataclass(slots=True, eq=False)
class Window:
    """The groups of a view in order, and how edits of them count."""

    units: list[CandidateGroup]
    family: ModelProfile
    count: Callable[[str], Count]
    budget: int
    """Input tokens that all messages together may take."""
    digest: DigestContent = NO_DIGEST
    """The digest of the view so far."""
    digest_tokens: int = 0
    """Tokens of the digest, by the upper estimate."""
    digests: DigestOptions = field(default_factory=DigestOptions)
    """How much room the digest gets, and how it grows."""
    prose: DigestLine | None = None
    """A model's summary that is ready for use. The messages it covers leave the view with the least harm."""
    recall: RecallWording = RECALL
    """How the texts of the view speak of recall."""
    salience: Relevance = field(init=False)
    """The weight of terms in the groups, as they were at the start."""
    by_seq: dict[int, CandidateGroup] = field(init=False)
    """The groups that are still in the view, by each of their entries."""

    def __post_init__(self) -> None:
        """Index the groups."""
        self.by_seq = {seq: unit for unit in self.units for seq in unit.seqs}
        self.salience = Relevance([unit.entries for unit in self.units], self.digest.weights, self.digest.removed)

    def candidates(self, *kinds: str, over: int = 0) -> Iterator[CandidatePart]:
        """Yield parts of these kinds and of more than `over` tokens in cuttable groups that can be rewritten, oldest
        first.
        """
        for unit in self.units:
            if unit.estimate.upper > over and unit.cuttable:
                for candidate in self.parts_of(unit, kinds):
                    if candidate.count.tokens > over and not candidate.is_spared:
                        yield candidate

    def parts_of(self, unit: CandidateGroup, kinds: Sequence[str]) -> Iterator[CandidatePart]:
        """Yield the rewritable parts of one group."""
        for entry in unit.entries:
            for number, part in enumerate(entry.reading.parts):
                if part.kind in kinds and replaceable(entry.reading, part):
                    yield self.part(unit, entry, number)

    def part(self, unit: CandidateGroup, entry: Entry, number: int) -> CandidatePart:
        """Return a part in its present state."""
        part = entry.reading.parts[number]
        if part.kind == "result" and (text := once(part.text)) is not part.text:
            part = part._replace(text=text)  # a copy of the same data must not take half of the room
        return CandidatePart(unit=unit, entry=entry, number=number, part=part, count=self._present(unit, entry, number))

    def tokens(self, count: Count) -> int:
        """Return the upper estimate of a count."""
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
        """Cut a part to about `keep` tokens, head and tail. Returns None if that frees nothing, for arguments too long
        to parse, whose rest would have to be valid JSON, and for a part that shows an earlier result.
        """
        if isinstance(self._edit_of(candidate), Restate):
            return None
        text, count = candidate.part.text, candidate.entry.counts[candidate.number]
        if type(count) is not Count or not count.tokens or not text:
            return None
        if candidate.part.form in ("arguments", "mapping") and len(text) > READ:
            return None
        characters = max(1, int(len(text) * keep / count.tokens))
        if candidate.part.kind == "result" and (found := pieces_of(text)) is not None:
            edit = self._clip_pieces(candidate, found, characters, by, head_share)
            if edit is not None and (edit.count.tokens <= keep or found.head == found.tail == 0):
                return edit
        head = _to_line_end(text, int(characters * head_share))
        return self.cut(candidate, head, max(0, characters - head), (), by)

    def _clip_pieces(
        self, candidate: CandidatePart, found: Pieces, characters: int, by: str, head_share: float
    ) -> Excerpt | None:
        """Cut a result to its first and last pieces, and to fewer where marks take what these should."""
        best: Excerpt | None = None
        aim = candidate.count.tokens * characters / max(1, len(candidate.part.text))
        for share in _FEWER:
            room = share * max(0, characters - found.head - found.tail - _MARK)
            kept = joined(candidate.part.text, at_ends(found, int(room * head_share), int(room * (1 - head_share))))
            edit = self.cut(candidate, found.head, found.tail, kept, by, structure=found.kind)
            if edit is not None and (best is None or edit.count.tokens < best.count.tokens):
                best = edit
            if best is not None and best.count.tokens <= aim:
                break
        return best

    def cut(
        self,
        candidate: CandidatePart,
        head: int,
        tail: int,
        between: Sequence[tuple[int, int]],
        by: str,
        *,
        structure: str = "",
        anyway: bool = False,
    ) -> Excerpt | None:
        """Cut a part to its first `head` and last `tail` characters and the ranges `between`, as what it is. Returns
        None if that frees nothing, unless `anyway`.
        """
        ref = reference(candidate.entry.seq, part=candidate.number)
        text = clipped(candidate.part, head, tail, ref, between, structure=structure, lead=self.recall.lead)
        if text == candidate.part.text:
            return None
        counted = self._recount(candidate.part, text)
        if counted.tokens >= candidate.count.tokens and not anyway:
            return None
        return Excerpt(
            seq=candidate.entry.seq,
            part=candidate.number,
            head=head,
            tail=tail,
            count=counted,
            by=by,
            between=tuple(between),
            structure=structure,
        )

    def restate(
        self, candidate: CandidatePart, source: Part | None, place: tuple[int, int], by: str = BACK_REFERENCE
    ) -> Restate:
        """Show an earlier result in a part that refers to it, or say that it is not shown.

        Args:
            candidate: The part.
            source: The earlier result. `None`: it is not shown.
            place: The earlier result's `seq` and number.
            by: The reason.
        """
        text = restated(candidate.part, source, reference(place[0], part=place[1]), self.recall.lead)
        counted = self._recount(candidate.part, text)
        return Restate(candidate.entry.seq, candidate.number, *place, whole=source is not None, count=counted, by=by)

    def _edit_of(self, candidate: CandidatePart) -> PartEdit | None:
        return candidate.unit.edits.get((candidate.entry.seq, candidate.number))

    def mask(
        self, candidate: CandidatePart, by: str, why: str = "left out", *, anyway: bool = False
    ) -> Clear | Restate | None:
        """Replace a part by a one-line stub with the reason, and an earlier result that it shows by a line that names
        its reference. Returns None if that frees nothing, unless `anyway`.
        """
        if isinstance(known := self._edit_of(candidate), Restate):
            return self.restate(candidate, None, (known.source, known.source_part), by) if known.whole else None
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
        ref = reference(candidate.entry.seq, part=candidate.number)
        stub = masked(candidate.part, note, ref, self.recall.lead)
        counted = self._recount(candidate.part, stub)
        if counted.tokens >= candidate.count.tokens and not anyway:
            return None
        return Clear(seq=candidate.entry.seq, part=candidate.number, note=note, count=counted, by=by)

    def tokens_of(self, entry: Entry) -> int:
        """Return the upper estimate of a whole message."""
        return estimate_message(entry.reading, entry.counts, self.family).upper

    def digest_allowance(self, folded: int, room: int | None = None) -> int:
        """Return the tokens that the digest may take once `folded` more tokens are digested: at most its share
        of the budget.

        `room`: the result of `digest_room`, for callers that need it repeatedly.
        """
        return min(self.digest_room() if room is None else room, self.usual_allowance(folded))

    def digest_room(self) -> int:
        """Return the tokens that required messages leave for a digest."""
        floor = sum(unit.tokens for unit in self.units if unit.floor or unit.in_place)
        return int(max(0, self.budget - floor) * FREE_SHARE)

    def usual_allowance(self, folded: int) -> int:
        """Return the digest's allowance without regard to required messages."""
        covered = self.digest.covered_tokens + folded
        return min(
            int(self.budget * self.digests.share), max(int(covered * OF_COVERED), LEAST_DIGEST if covered else 0)
        )

    def summary_room(self) -> int:
        """Return the tokens that a model's summary may take."""
        return max(1, int(self.budget * PROSE))

    def digest_growth(self, folded: int, said: int, room: int) -> int:
        """Return the tokens by which the digest is expected to grow when `folded` more tokens are digested, of which
        users said `said`: their words may take more than one compaction's part.
        """
        allowed = self.digest_allowance(folded, room)
        if self.digests.handover:
            after, full = self.digest_tokens + folded * OF_FOLDED + self.budget * OF_STATE, allowed * FULL
            return int(after if after <= full else full * self.digests.rewritten) - self.digest_tokens
        grows = max(allowed * self.digests.part, said)
        return int(min(grows, max(0, allowed - self.digest_tokens)))

    def fold(self, units: Iterable[CandidateGroup], tokens: int, by: str) -> list[Edit]:
        """Digest the first of these groups: as many as free `tokens` net of the digest's growth, and at least those
        that the summary covers.
        """
        edits: list[Edit] = []
        folded, said, summarised, room = 0, 0, self.prose.last if self.prose else -1, self.digest_room()
        for unit in units:
            if unit.seqs[-1] > summarised and folded - self.digest_growth(folded, said, room) >= tokens:
                break
            said += unit.tokens if all(entry.reading.is_user_turn for entry in unit.entries) else 0
            edits += [Digest(seq, seq, by) for seq in unit.seqs]
            folded += unit.tokens
        return edits

    def take(self, edits: Sequence[Edit]) -> Estimate:
        """Apply edits to the window and return what they free."""
        units = self.by_seq
        won_expected = won_upper = 0
        gone: set[int] = set()
        for edit in edits:
            if isinstance(edit, GAPS):
                gone.update(id(units[seq]) for seq in within(edit, units))
                continue
            unit = units[edit.seq]
            entry = unit.entries[bisect_left(unit.entries, edit.seq, key=_seq)]
            before = estimate_count(self._present(unit, entry, edit.part), self.family)
            after = estimate_count(edit.count, self.family)
            won = Estimate(int(before[0] - after[0]), int(before[1] - after[1]))
            unit.edits[edit.seq, edit.part] = edit
            unit.estimate = Estimate(unit.estimate.expected - won.expected, unit.estimate.upper - won.upper)
            won_expected, won_upper = won_expected + won.expected, won_upper + won.upper
        for unit in self.units if gone else ():
            if id(unit) in gone:
                won_expected, won_upper = won_expected + unit.estimate.expected, won_upper + unit.estimate.upper
                for seq in unit.seqs:
                    units.pop(seq, None)
        self.units = [unit for unit in self.units if id(unit) not in gone] if gone else self.units
        return Estimate(won_expected, won_upper)

    def _recount(self, part: Part, text: str) -> Count:
        """Count a text of a part; a call's count includes its name."""
        count = self.count(text)
        return count._replace(tokens=count.tokens + self.count(part.name).tokens) if part.name else count


def within(gap: Gap, seqs: Mapping[int, CandidateGroup]) -> list[int]:
    """Return the `seq`s that a gap covers."""
    if gap.first == gap.last:
        return [gap.first] if gap.first in seqs else []
    return [seq for seq in seqs if gap.first <= seq <= gap.last]


def is_outcome(part: Part) -> bool:
    """Return whether a part is a result, or media in one. A result that a user's message holds answers no call."""
    return part.id is not None or part.kind == "result"


def _is_call(candidate: CandidatePart) -> bool:
    return candidate.part.kind == "call"


def _to_line_end(text: str, at: int) -> int:
    """Move a cut to the end of a line if one is near, which reads better."""
    line = text.rfind("\n", max(0, at - 200), at)
    return line + 1 if line > 0 else at


def build_window(
    history: History,
    view: View,
    budget: int,
    around: RenderContext,
    *,
    digests: DigestOptions,
    retain: frozenset[int] = frozenset(),
    ahead: bool = False,
) -> Window:
    """Build the window over the segments of a view.

    Args:
        history: The history.
        view: The view.
        budget: Tokens that the messages may take.
        around: The lane's surroundings.
        digests: How much room the digest gets, and how it grows.
        retain: Entries that are required in addition.
        ahead: The model will have answered the newest messages.
    """
    floor, kept = floor_seqs(history, quoted=around.quotes) | retain, kept_ends(history, around.kept)
    floor |= _small_first(history, view, budget)
    if around.quotes and budget - _taken_by(view, floor) < QUOTES_FROM:
        floor |= floor_seqs(history, quoted=False)
    floor |= frozenset() if ahead else history.newest_seqs
    seen = history.next_seq if ahead else history.last_assistant
    in_place = kept_in_place(view.segments, history, budget, around.family)
    units = [
        CandidateGroup(
            segment.entries,
            segment.group.members,
            segment.estimate,
            floor=not floor.isdisjoint(segment.group.members),
            recent=False,
            unseen=segment.group.members[-1] > seen
            and any(e.seq > seen and e.reading.outcomes for e in segment.entries),
            edits={(edit.seq, edit.part): edit for edit in segment.edits},
            kept=segment.group.first <= kept[0] or segment.group.members[-1] >= kept[1],
            in_place=in_place.intersection(segment.group.members) if in_place else in_place,
        )
        for segment in view.segments
        if segment.group is not None and segment.messages  # an orphan result takes no room
    ]
    if units and not ahead:
        units[-1].floor = True
    return Window(
        units=units, family=around.family, count=around.count, budget=budget, digest=view.plan.digest,
        digest_tokens=view.summary_tokens, digests=digests, recall=view.plan.recall,
    )  # fmt: skip  # one thought


def _small_first(history: History, view: View, budget: int) -> set[int]:
    """Return the user's first message where it is shown and takes little: often it brings the project's instructions,
    which a quote would only name.
    """
    first = set() if history.first_user is None else {history.first_user.seq}
    return first if _taken_by(view, first) <= budget * _OF_FIRST else set()


def _taken_by(view: View, required: Set[int]) -> int:
    """Return the tokens of the groups of a view that hold required messages."""
    return sum(
        segment.estimate.upper
        for segment in view.segments
        if segment.group is not None and not required.isdisjoint(segment.group.members)
    )


def kept_ends(history: History, counts: tuple[int, int]) -> tuple[int, int]:
    """Return up to which `seq`, and from which on, messages never leave a view."""
    branch, (first, last) = history.branch, counts
    begin, end = min(history.leading + first, len(branch)), max(0, len(branch) - last)
    return branch[begin - 1] if first and begin else -1, branch[end] if end < len(branch) else history.next_seq


def protect_recent(window: Window, recent: int, results: int, *, cut_kept: bool = False) -> None:
    """Protect the newest groups within `recent` tokens and those of the newest `results` results, and no others.
    `cut_kept`: cut messages that never leave a view if needed.
    """
    spared = found = 0
    for unit in reversed(window.units):
        spared += unit.tokens
        held = sum(entry.reading.outcomes for entry in unit.entries)
        among = held > 0 and found < results
        found += held
        unit.recent = among or spared <= recent
        unit.nearest = among or spared <= recent * NEAREST or (unit.kept and not cut_kept)
