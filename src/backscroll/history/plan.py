"""How a view differs from the history, as immutable values.

A plan is a sorted, non-overlapping tuple of edits. Between triggers a lane keeps the same plan, so that each view
extends the previous one and the provider's prompt cache keeps hitting.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from backscroll.history.ledger import Ledger, joined_ledgers
from backscroll.history.ranges import SeqRange, covers, up_to
from backscroll.history.recall_wording import RECALL, RecallWording
from backscroll.tokens.counts import Count, Counts


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of one part cut to its head and tail; in a call's arguments each long string is cut that way."""

    seq: int
    part: int
    head: int
    tail: int
    """Characters kept at the start and at the end."""
    count: Count
    """Counts of the cut text."""
    by: str = "excerpt"
    """The strategy that chose it."""
    between: tuple[tuple[int, int], ...] = ()
    """Salient ranges kept between head and tail, as (start, end) in characters, ascending."""
    structure: str = ""
    """What the text between head and tail is cut as, such as `json`, of which valid JSON stays. Empty: as text."""


@dataclass(frozen=True, slots=True)
class Clear:
    """A result, media or a call's arguments replaced by a one-line stub."""

    seq: int
    part: int
    note: str
    """The stub's text apart from the reference."""
    count: Count
    by: str = "clear"


BACK_REFERENCE = "back reference"
"""The reason in edits of results that refer to an earlier one."""


@dataclass(frozen=True, slots=True)
class Restate:
    """A result that only refers to an earlier one, with the text of that, or with a line that says it is not shown."""

    seq: int
    part: int
    source: int
    source_part: int
    """The earlier result, by the `seq` of its message and its number there."""
    whole: bool
    """Whether the text of the earlier result is shown."""
    count: Count
    by: str = BACK_REFERENCE


@dataclass(frozen=True, slots=True)
class Truncate:
    """All entries from `first` to `last` are left out."""

    first: int
    last: int
    by: str = "truncate"


@dataclass(frozen=True, slots=True)
class Digest:
    """All entries from `first` to `last` are left out, and the plan's digest covers them."""

    first: int
    last: int
    by: str = "digest"


@dataclass(frozen=True, slots=True)
class Native:
    """All entries from `first` to `last` are left out, and the plan's `native` block represents them."""

    first: int
    last: int
    by: str = "native"


Gap = Truncate | Digest | Native
GAPS = (Truncate, Digest, Native)
"""Edits that remove whole messages from a view."""

PartEdit = Excerpt | Clear | Restate
Edit = PartEdit | Truncate | Digest | Native

NoteKind = Literal[
    "user", "pasted", "rule", "turn", "line", "error", "prose", "system", "developer",
    "asked", "did", "seen", "said", "report", "note", "state", "file",
]  # fmt: skip  # one list
RANKED: tuple[NoteKind, ...] = ("system", "developer")
"""Kinds of digest lines from a message of that role."""
LINES = ("line", "error")
"""Kinds of digest lines that quote a message; they follow their turn, indented."""
DETAILS: tuple[NoteKind, ...] = ("asked", "did", "seen", "said", "report", "note")
"""Kinds of lines in a chronicle below the first line of an entry."""


class DigestLine(NamedTuple):
    """One line of a digest, with the entries it covers. Its text is data from messages, not yet escaped."""

    first: int
    last: int
    kind: NoteKind
    """`user`: what a user wrote; `pasted`: what a user may have pasted, which states no rule; `rule`: a user's sentence
    that states a rule, word for word; `turn`: what the agent did, in one line; `line` and `error`: a line of a message,
    word for word; `prose`: a model's summary of all these entries, at most one; `system` and `developer`: what a
    message of that role says.

    In a chronicle `user`, `turn` and `prose` may begin an entry, and then cover all of it; `turn` is the rest of a turn
    whose beginning is elsewhere. `asked`: the question that the user's next words answer; `did`: deeds of the agent;
    `seen`: what a look-up showed; `said`: what the agent said next to its calls; `report`: its text without calls;
    `note`: what came with a message. `state` and `file` follow the chronicle.
    """
    text: str
    by: str = ""
    """Author of a `prose` line, as in `SummaryMade.by`; the name of the user whose words they are, if it has one."""


@dataclass(frozen=True, slots=True)
class DigestContent:
    """The digest of the folded entries: facts, kept in the plan, so that a later digest is made of facts as well."""

    notes: tuple[DigestLine, ...]
    """In the order of the conversation; a line follows the turn that it is from."""
    weights: tuple[tuple[str, float], ...]
    """Terms of the folded entries with their weights, heaviest first."""
    reserve: tuple[DigestLine, ...]
    """Lines for which there was no room."""
    covered_tokens: int
    """Tokens of the folded entries, by the upper estimate."""
    removed: tuple[tuple[int, int], ...] = ()
    """Lines that edits among the folded entries removed, as a fingerprint and the `seq` of the edit, oldest first."""
    begun: tuple[int, ...] = ()
    """Numbers of the notes that begin what later compactions appended. A summary writes the notes before each of them
    as if nothing followed.
    """
    ledger: Ledger | None = None
    """The facts behind a chronicle. `None`: the notes are no chronicle, but lines as versions before wrote them."""
    now: tuple[DigestLine, ...] = ()
    """The state and the files, as they were when the digest was written."""


NO_DIGEST = DigestContent((), (), (), 0)


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """What a provider made of the beginning of a view. It comes first in every view of its plan, unchanged."""

    message: dict[str, Any]
    """Holds the opaque block, or the items, as the provider returned them."""
    counts: Counts
    last: int
    """The newest entry that it represents."""
    after: int | None
    """The entry that the notes follow. `None`: they follow the block."""
    quotes: tuple[DigestLine, ...]
    """Required messages that it represents, word for word."""
    notes: tuple[DigestLine, ...]
    """Users' words and rules among the rest of what it represents."""
    digest: DigestContent
    """The digest of what it represents, for views that have to do without it."""
    edits: tuple[Edit, ...]
    """The edits of these entries that it replaced."""
    model: str = ""
    """The model that made it; empty if not known."""


def reference(first: int, last: int | None = None, part: int | None = None) -> str:
    """Return `[ref:12]`, `[ref:12-40]` or `[ref:12.1]`."""
    if part is not None:
        return f"[ref:{first}.{part}]"
    return f"[ref:{first}]" if last is None or last == first else f"[ref:{first}-{last}]"


class TextWeight(NamedTuple):
    """What a text weighs in a view. `key` is a digest of the text and of how it is counted."""

    key: str
    expected: int
    upper: int


class LeftResult(NamedTuple):
    """A result that is left out, and what a later result may refer to it by. `key` is a fingerprint of that."""

    key: int
    seq: int
    part: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The edits of one lane's view. `number` grows with every plan a lane records; 0 is the empty plan."""

    edits: tuple[Edit, ...] = ()
    number: int = 0
    summary_after: int | None = None
    """The entry that the summary follows. `None`: it follows the leading system messages."""
    digest: DigestContent = NO_DIGEST
    """The digest of the folded entries."""
    last: int | None = None
    """The newest entry when it was made. `None`: not recorded."""
    no_reasoning: tuple[SeqRange, ...] = ()
    """Entries that are shown without their sealed reasoning, because something before it was edited after it was made.
    A lane's ranges only ever grow: a provider refuses reasoning that is put back.
    """
    reason: str | None = None
    """Why the model asked for it. `None`: it did not."""
    native: NativeBlock | None = None
    """The provider's block that represents the `Native` edits. `None`: there are none."""
    waited: tuple[tuple[int, int], ...] = ()
    """Calls that a request of the lane showed without their result, as `seq` and number of the call in its message.
    Their placeholder stays, and a result that comes later is shown where it came.
    """
    heals: bool = True
    """Whether views heal odd messages. False in plans of stores that an older version wrote, until they are replaced:
    the provider's cache has what was sent under them.
    """
    left: tuple[LeftResult, ...] = ()
    """Results that are left out and that a later one may refer to, the newest ones in order."""
    text_weights: tuple[TextWeight, ...] = field(default=(), compare=False)
    """Weights of the texts that Backscroll adds to the view, so that no one who reopens the session counts them."""
    recall: RecallWording = RECALL
    """How the texts of the view say that what it leaves out can be read. It stays from the first edit on."""

    def gaps(self) -> Iterator[Gap]:
        """Yield the ranges that are not shown, in order."""
        return (edit for edit in self.edits if isinstance(edit, GAPS))

    def restated(self) -> list[int]:
        """Return the messages of the earlier results that are shown in the place of later ones, by `seq`."""
        return [edit.source for edit in self.edits if isinstance(edit, Restate) and edit.whole]

    def rewritten(self) -> dict[int, list[PartEdit]]:
        """Return the edits of parts by `seq`."""
        found: dict[int, list[PartEdit]] = {}
        for edit in self.edits:
            if not isinstance(edit, GAPS):
                found.setdefault(edit.seq, []).append(edit)
        return found


def plan_of_new_lane(plan: Plan) -> Plan:
    """Return the plan from which a lane starts that sent nothing yet. A call that it leaves out is not shown with its
    result, so that still comes by itself.
    """
    if not plan.waited and plan.heals:
        return plan
    gaps = list(plan.gaps())
    return replace(plan, waited=tuple([call for call in plan.waited if covers(gaps, call[0])]), heals=True)


def same_view(one: Plan, other: Plan) -> bool:
    """Return whether both plans give the same view of a branch."""
    return one is other or (
        one.edits == other.edits
        and (one.recall == other.recall or not one.edits)
        and one.summary_after == other.summary_after
        and _same_text(one.digest, other.digest)
        and one.no_reasoning == other.no_reasoning
        and one.native == other.native
        and one.heals == other.heals
        and one.waited == other.waited
    )


def same_until(one: Plan, other: Plan, last: int) -> bool:
    """Return whether both plans show the entries up to `last` alike."""
    if one is other:
        return True
    edits = [[edit for edit in plan.edits if _place(edit)[0] <= last] for plan in (one, other)]
    bare = [up_to(plan.no_reasoning, last) for plan in (one, other)]
    return (
        edits[0] == edits[1]
        and (one.recall == other.recall or not edits[0])
        and bare[0] == bare[1]
        and one.native == other.native
        and _same_text(one.digest, other.digest)
        and one.summary_after == other.summary_after
        and one.heals == other.heals
    )


def _same_text(one: DigestContent, other: DigestContent) -> bool:
    """Return whether both are written alike."""
    return (
        one.notes == other.notes
        and one.begun == other.begun
        and one.now == other.now
        and (one.ledger is None) == (other.ledger is None)
    )


def newest(plan: Plan) -> int:
    """Return the newest entry that a plan names; -1 if it names none."""
    named = [edit.last if isinstance(edit, GAPS) else edit.seq for edit in plan.edits[-1:]]
    named += [] if plan.native is None else [plan.native.after or -1]
    named += [note.last for note in (*plan.digest.notes, *plan.digest.reserve, *plan.digest.now)]
    return max([-1, plan.summary_after or -1, *named])


def untold(plan: Plan) -> list[tuple[int, int]]:
    """Return the hidden ranges that the digest has no reference to: truncated ones, and those it had no room for."""
    referenced = sorted((note.first, note.last) for note in plan.digest.notes if note.kind not in (*LINES, *DETAILS))
    found: list[tuple[int, int]] = []
    for gap in plan.gaps():
        if isinstance(gap, Native):
            continue  # its notes refer to it
        at = gap.first
        for first, last in referenced if isinstance(gap, Digest) else ():
            if first > gap.last:
                break  # of a later gap: it does not cover this one
            if at < first:
                found.append((at, first - 1))
            at = max(at, last + 1)
        if at <= gap.last:
            found.append((at, gap.last))
    return found


def merge(edits: Iterable[Edit], new: Iterable[Edit]) -> tuple[Edit, ...]:
    """Merge both, sorted: a newer edit of a part replaces the older one, and gaps replace the edits in their range."""
    parts: dict[tuple[int, int], PartEdit] = {}
    gaps: list[Gap] = []
    for edit in (*edits, *new):
        if isinstance(edit, GAPS):
            gaps.append(edit)
        else:
            parts[edit.seq, edit.part] = edit
    ranges = _joined(gaps)
    kept: list[Edit] = [edit for edit in parts.values() if not covers(ranges, edit.seq)]
    return tuple(sorted([*kept, *ranges], key=_place))


def _place(edit: Edit) -> tuple[int, int]:
    return (edit.first, -1) if isinstance(edit, GAPS) else (edit.seq, edit.part)


def _joined(gaps: list[Gap]) -> list[Gap]:
    joined: list[Gap] = []
    for gap in sorted(gaps, key=_place):
        last = joined[-1] if joined else None
        if last is not None and gap.first <= last.last + 1 and (type(gap) is type(last) or gap.first <= last.last):
            joined[-1] = replace(last, last=max(last.last, gap.last))
        else:
            joined.append(gap)
    return joined


def without(plan: Plan, seqs: Iterable[int], number: int) -> Plan:
    """Return the plan with these entries whole and visible again."""
    gone = sorted(seqs)
    edits = [piece for edit in plan.edits for piece in _except(edit, gone)]
    native = plan.native if any(isinstance(edit, Native) for edit in edits) else None
    return replace(plan, edits=tuple(edits), number=number, summary_after=place_of_summary(plan, edits), native=native)


def place_of_summary(plan: Plan, edits: Sequence[Edit]) -> int | None:
    """Keep the summary's position while something after it is left out; without that, it might be the last message."""
    after = plan.summary_after
    left_out = any(after is not None and isinstance(edit, GAPS) and edit.last > after for edit in edits)
    return after if left_out else None


def hidden(plan: Plan, seqs: Iterable[int]) -> set[int]:
    """Return the entries that the plan leaves out or cuts."""
    gaps, rewritten = list(plan.gaps()), plan.rewritten()
    return {seq for seq in seqs if seq in rewritten or covers(gaps, seq)}


def _except(edit: Edit, seqs: Sequence[int]) -> Iterator[Edit]:
    """Yield what is left of an edit without these entries, which are sorted."""
    first, last = (edit.first, edit.last) if isinstance(edit, GAPS) else (edit.seq, edit.seq)
    among = seqs[bisect_left(seqs, first) : bisect_right(seqs, last)]
    if not among:
        yield edit
    elif isinstance(edit, GAPS):
        for before, seq in zip((first - 1, *among), (*among, last + 1), strict=True):
            if before + 1 < seq:
                yield replace(edit, first=before + 1, last=seq - 1)


def with_restated(plan: Plan, before: Plan) -> Plan:
    """Return a plan with those restated results of another one whose earlier results it leaves out as well."""
    found = [edit for edit in before.edits if isinstance(edit, Restate) and hidden(plan, [edit.source])]
    return replace(plan, edits=merge(found, plan.edits)) if found else plan


def only_restates(before: Plan, after: Plan) -> bool:
    """Return whether one plan follows another and differs by restated results alone."""
    edits = [[edit for edit in plan.edits if not isinstance(edit, Restate)] for plan in (before, after)]
    same = edits[0] == edits[1] and same_view(before, replace(after, edits=before.edits))
    return same and before.edits != after.edits


def without_native(plan: Plan) -> Plan:
    """Return the plan with a digest in place of its native block."""
    native = plan.native
    if native is None:
        return plan
    edits = tuple([Digest(edit.first, edit.last, edit.by) if isinstance(edit, Native) else edit for edit in plan.edits])
    return replace(plan, edits=merge(edits, ()), digest=joined(native.digest, plan.digest), native=None)


def joined(one: DigestContent, other: DigestContent) -> DigestContent:
    """Return the facts of two digests, of which the second is of later entries."""
    if other == NO_DIGEST:
        return one
    if one == NO_DIGEST:
        return other
    weights = dict(one.weights)
    for word, weight in other.weights:
        weights[word] = weights.get(word, 0.0) + weight
    heaviest = sorted(weights.items(), key=lambda each: -each[1])
    return DigestContent(
        notes=(*one.notes, *other.notes),
        weights=tuple(heaviest),
        reserve=(*one.reserve, *other.reserve),
        covered_tokens=one.covered_tokens + other.covered_tokens,
        removed=(*one.removed, *other.removed),
        ledger=joined_ledgers(one.ledger, other.ledger),
        now=other.now,
    )


def with_native(plan: Plan, edit: Native, block: NativeBlock) -> Plan:
    """Return the plan with a provider's block in place of all entries up to the end of `edit`."""
    edits = tuple([other for other in plan.edits if _place(other)[0] > edit.last])
    return replace(plan, edits=(edit, *edits), summary_after=None, digest=NO_DIGEST, native=block)
