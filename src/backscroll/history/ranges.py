"""Ranges of entries by `seq`: sorted, disjoint, both ends included."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class Bounded(Protocol):
    """Anything with a first and a last `seq`."""

    @property
    def first(self) -> int:
        """The first `seq`."""
        ...

    @property
    def last(self) -> int:
        """The last `seq`, not below `first`."""
        ...


class SeqRange(NamedTuple):
    """The entries from `first` to `last`."""

    first: int
    last: int


def covers(ranges: Sequence[Bounded], seq: int) -> bool:
    """Return whether one of these sorted, disjoint ranges contains `seq`."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle].last < seq:
            low = middle + 1
        else:
            high = middle
    return low < len(ranges) and ranges[low].first <= seq


def united(ranges: Iterable[SeqRange], more: Iterable[SeqRange]) -> tuple[SeqRange, ...]:
    """Return the union of both, with touching ranges joined."""
    joined: list[SeqRange] = []
    for first, last in sorted([*ranges, *more]):
        if joined and first <= joined[-1].last + 1:
            joined[-1] = SeqRange(joined[-1].first, max(joined[-1].last, last))
        else:
            joined.append(SeqRange(first, last))
    return tuple(joined)


def up_to(ranges: Iterable[SeqRange], last: int) -> tuple[SeqRange, ...]:
    """Return the part of these ranges that ends at `last`."""
    return tuple([SeqRange(each.first, min(each.last, last)) for each in ranges if each.first <= last])
