"""What a view does to the history, as immutable values. Nothing here chooses edits or renders them.

A plan is a sorted, non-overlapping tuple of edits. Between triggers a lane keeps the same plan, so that each view
extends the one before and the provider's prompt cache keeps hitting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backscroll.usage import Count


@dataclass(frozen=True, slots=True)
class Clip:
    """The text of one part cut to its head and tail; in a call's arguments each long string is cut so."""

    seq: int
    part: int
    head: int
    tail: int
    """Characters kept at the start and at the end."""
    count: Count
    """What the cut text counts."""
    by: str = "clip"
    """The strategy that chose it."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A result, media or a call's arguments replaced by a one-line stub."""

    seq: int
    part: int
    note: str
    """What the stub says besides the reference."""
    count: Count
    by: str = "mask"


@dataclass(frozen=True, slots=True)
class Drop:
    """All entries from `first` to `last` are left out."""

    first: int
    last: int
    by: str = "drop"


Edit = Clip | Mask | Drop


def reference(first: int, last: int | None = None, part: int | None = None) -> str:
    """`[ref:12]`, `[ref:12-40]` or `[ref:12.1]`."""
    if part is not None:
        return f"[ref:{first}.{part}]"
    return f"[ref:{first}]" if last is None or last == first else f"[ref:{first}-{last}]"


@dataclass(frozen=True, slots=True)
class Plan:
    """The edits of one lane's view. `number` grows with every plan a lane records; 0 is the empty plan."""

    edits: tuple[Edit, ...] = ()
    number: int = 0
    summary_after: int | None = None
    """The entry behind which the summary stands; None = behind the leading system messages."""

    def drops(self) -> Iterator[Drop]:
        """The ranges left out, in order."""
        return (edit for edit in self.edits if isinstance(edit, Drop))

    def rewritten(self) -> dict[int, list[Clip | Mask]]:
        """Clips and masks by `seq`."""
        found: dict[int, list[Clip | Mask]] = {}
        for edit in self.edits:
            if not isinstance(edit, Drop):
                found.setdefault(edit.seq, []).append(edit)
        return found


def merge(edits: Iterable[Edit], new: Iterable[Edit]) -> tuple[Edit, ...]:
    """Both together, sorted: a newer edit of a part replaces the older one, drops swallow what stands in their
    range.
    """
    parts: dict[tuple[int, int], Clip | Mask] = {}
    drops: list[Drop] = []
    for edit in (*edits, *new):
        if isinstance(edit, Drop):
            drops.append(edit)
        else:
            parts[edit.seq, edit.part] = edit
    ranges = _joined(drops)
    kept: list[Edit] = [edit for edit in parts.values() if not covers(ranges, edit.seq)]
    return tuple(sorted([*kept, *ranges], key=_place))


def _place(edit: Edit) -> tuple[int, int]:
    return (edit.first, -1) if isinstance(edit, Drop) else (edit.seq, edit.part)


def _joined(drops: list[Drop]) -> list[Drop]:
    joined: list[Drop] = []
    for drop in sorted(drops, key=_place):
        if joined and drop.first <= joined[-1].last + 1:
            last = joined[-1]
            joined[-1] = Drop(last.first, max(last.last, drop.last), last.by)
        else:
            joined.append(drop)
    return joined


def covers(ranges: list[Drop], seq: int) -> bool:
    """Whether one of these sorted, disjoint ranges holds `seq`."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle].last < seq:
            low = middle + 1
        else:
            high = middle
    return low < len(ranges) and ranges[low].first <= seq


def without(plan: Plan, seqs: Iterable[int], number: int) -> Plan:
    """The plan with these entries whole and present again."""
    edits: list[Edit] = list(plan.edits)
    for seq in seqs:
        edits = [piece for edit in edits for piece in _except(edit, seq)]
    return Plan(tuple(edits), number, plan.summary_after)


def _except(edit: Edit, seq: int) -> Iterator[Edit]:
    if not isinstance(edit, Drop):
        if edit.seq != seq:
            yield edit
    elif not edit.first <= seq <= edit.last:
        yield edit
    else:
        if edit.first < seq:
            yield Drop(edit.first, seq - 1, edit.by)
        if seq < edit.last:
            yield Drop(seq + 1, edit.last, edit.by)


def until(plan: Plan, last: int) -> Plan:
    """The plan without what it says of entries behind `last`: they left the branch in a rewind."""
    edits: list[Edit] = []
    for edit in plan.edits:
        if not isinstance(edit, Drop):
            edits += [edit] if edit.seq <= last else []
        elif edit.first <= last:
            edits.append(Drop(edit.first, min(edit.last, last), edit.by))
    after = plan.summary_after
    return Plan(tuple(edits), plan.number, after if after is None or after <= last else None)
