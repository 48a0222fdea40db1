"""How a view differs from the history, as immutable values.

A plan is a sorted, non-overlapping tuple of edits. Between triggers a lane keeps the same plan, so that each view
extends the previous one and the provider's prompt cache keeps hitting.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from backscroll.history.ranges import SeqRange, covers, up_to
from backscroll.tokens.usage import Count


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


@dataclass(frozen=True, slots=True)
class Clear:
    """A result, media or a call's arguments replaced by a one-line stub."""

    seq: int
    part: int
    note: str
    """The stub's text apart from the reference."""
    count: Count
    by: str = "clear"


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


Gap = Truncate | Digest
GAPS = (Truncate, Digest)
"""Edits that remove whole messages from a view."""

Edit = Excerpt | Clear | Truncate | Digest

NoteKind = Literal["user", "rule", "turn", "line", "error", "prose"]


class DigestLine(NamedTuple):
    """One line of a digest, with the entries it covers. Its text is data from messages, not yet escaped."""

    first: int
    last: int
    kind: NoteKind
    """`user`: what a user wrote; `rule`: a user's sentence that states a rule, word for word; `turn`: what the agent
    did, in one line; `line` and `error`: a line of a message, word for word; `prose`: a model's summary of all these
    entries, at most one.
    """
    text: str
    by: str = ""
    """Author of a `prose` line, as in `SummaryMade.by`."""


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


NO_DIGEST = DigestContent((), (), (), 0)


def reference(first: int, last: int | None = None, part: int | None = None) -> str:
    """Return `[ref:12]`, `[ref:12-40]` or `[ref:12.1]`."""
    if part is not None:
        return f"[ref:{first}.{part}]"
    return f"[ref:{first}]" if last is None or last == first else f"[ref:{first}-{last}]"


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

    def gaps(self) -> Iterator[Gap]:
        """Yield the ranges that are not shown, in order."""
        return (edit for edit in self.edits if isinstance(edit, GAPS))

    def rewritten(self) -> dict[int, list[Excerpt | Clear]]:
        """Return excerpts and clearings by `seq`."""
        found: dict[int, list[Excerpt | Clear]] = {}
        for edit in self.edits:
            if not isinstance(edit, GAPS):
                found.setdefault(edit.seq, []).append(edit)
        return found


def same_view(one: Plan, other: Plan) -> bool:
    """Return whether both plans give the same view of a branch."""
    return one is other or (
        one.edits == other.edits
        and one.summary_after == other.summary_after
        and one.digest.notes == other.digest.notes
        and one.no_reasoning == other.no_reasoning
    )


def newest(plan: Plan) -> int:
    """Return the newest entry that a plan names; -1 if it names none."""
    named = [edit.last if isinstance(edit, GAPS) else edit.seq for edit in plan.edits[-1:]]
    named += [note.last for note in (*plan.digest.notes, *plan.digest.reserve)]
    return max([-1, plan.summary_after or -1, *named])


def untold(plan: Plan) -> list[tuple[int, int]]:
    """Return the hidden ranges that the digest has no reference to: truncated ones, and those it had no room for."""
    referenced = sorted((note.first, note.last) for note in plan.digest.notes if note.kind not in ("line", "error"))
    found: list[tuple[int, int]] = []
    for gap in plan.gaps():
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
    parts: dict[tuple[int, int], Excerpt | Clear] = {}
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
    edits: list[Edit] = list(plan.edits)
    for seq in seqs:
        edits = [piece for edit in edits for piece in _except(edit, seq)]
    return replace(plan, edits=tuple(edits), number=number, summary_after=_place_of_summary(plan, edits))


def _place_of_summary(plan: Plan, edits: Sequence[Edit]) -> int | None:
    """Keep the summary's position while something after it is left out; without that, it might be the last message."""
    after = plan.summary_after
    left_out = any(after is not None and isinstance(edit, GAPS) and edit.last > after for edit in edits)
    return after if left_out else None


def hidden(plan: Plan, seqs: Iterable[int]) -> set[int]:
    """Return the entries that the plan leaves out or cuts."""
    gaps, rewritten = list(plan.gaps()), plan.rewritten()
    return {seq for seq in seqs if seq in rewritten or covers(gaps, seq)}


def _except(edit: Edit, seq: int) -> Iterator[Edit]:
    if not isinstance(edit, GAPS):
        if edit.seq != seq:
            yield edit
    elif not edit.first <= seq <= edit.last:
        yield edit
    else:
        if edit.first < seq:
            yield replace(edit, last=seq - 1)
        if seq < edit.last:
            yield replace(edit, first=seq + 1)


def until(plan: Plan, last: int) -> Plan:
    """Return the plan without its edits of entries after `last`, which a rewind removed from the branch."""
    edits: list[Edit] = []
    for edit in plan.edits:
        if not isinstance(edit, GAPS):
            edits += [edit] if edit.seq <= last else []
        elif edit.first <= last:
            edits.append(replace(edit, last=min(edit.last, last)))
    notes = tuple(note for note in plan.digest.notes if note.last <= last)
    reserve = tuple(note for note in plan.digest.reserve if note.last <= last)
    return replace(
        plan,
        edits=tuple(edits),
        summary_after=_place_of_summary(plan, edits),
        digest=replace(plan.digest, notes=notes, reserve=reserve),
        no_reasoning=up_to(plan.no_reasoning, last),
    )
