"""Which messages belong together: grouping by call id.

A group is an assistant message with tool calls and all of its results, or any other single message. Results are matched
by id and never by position: they may come in any order, late, or with other messages between. If ids are reused, a
result belongs to the nearest preceding call of that id that has no answer yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.messages import ParsedMessage
from backscroll.messages.contents import matched
from backscroll.messages.parts import Path

MOST_OPEN = 1_000  # calls waiting for a result; beyond this number the oldest is abandoned


@dataclass(slots=True, eq=False)
class MessageGroup:
    """The smallest unit that may leave a view."""

    first: int
    """`seq` of its first message; groups are ordered by it."""
    members: list[int]
    """`seq`s in order of arrival."""
    open_calls: int = 0
    """Calls without a result so far."""
    answered: set[tuple[int, int]] = field(default_factory=set)
    """Answered calls, as (`seq`, number of the call in its message)."""
    orphans: dict[int, list[Path]] = field(default_factory=dict)
    """Results that answer no call: by `seq`, the paths of the blocks; () means the whole message."""

    def shows(self, seq: int, reading: ParsedMessage) -> bool:
        """Return whether a view shows anything of this message, which is not so if all of it answers unknown calls."""
        gone = self.orphans.get(seq)
        if not gone:
            return True
        paths = frozenset(gone)
        return () not in gone and any(
            part.path[:2] not in paths and (part.text or part.media) for part in reading.parts
        )


class Waiting(NamedTuple):
    """A call without a result."""

    group: MessageGroup
    seq: int
    number: int
    """Number of the call in its message."""


class GroupIndex:
    """Groups of one branch, kept up to date message by message. Memory grows with open calls, not with the history."""

    def __init__(self) -> None:
        self._open: dict[str, list[Waiting]] = {}
        self._count = 0

    def add(self, seq: int, reading: ParsedMessage) -> tuple[MessageGroup, list[MessageGroup]]:
        """Return the group that this message joins or opens, and groups that were merged into it (rarely any)."""
        if not reading.results and not reading.continues:
            group = MessageGroup(seq, [seq])
            merged: list[MessageGroup] = []
        else:
            group, merged = self._join(seq, reading)
        if reading.calls:
            self._open_calls(seq, reading, group)
        return group, merged

    def waiting(self, call: str) -> list[Waiting]:
        """Return the calls of this id without a result; the next result answers the last of them."""
        return self._open.get(call, [])

    def named(self, reading: ParsedMessage) -> ParsedMessage:
        """Return a reading with the ids of the calls that it answers, which it may name in other ways."""
        open_calls = (((-seq, number), call) for call, (_, seq, number) in self.open())
        return reading.answering(matched([name for name, _ in reading.results], open_calls))

    def open(self) -> Iterator[tuple[str, Waiting]]:
        """Yield every call without a result, with its id, in the order that `reopen` expects."""
        return ((call, each) for call, waiting in self._open.items() for each in waiting)

    def reopen(self, waiting: Iterable[tuple[str, Waiting]]) -> None:
        """Restore the calls that `open` returned."""
        for call, each in waiting:
            self._open.setdefault(call, []).append(each)
            self._count += 1

    def _open_calls(self, seq: int, reading: ParsedMessage, group: MessageGroup) -> None:
        group.open_calls += len(reading.calls)
        # of equal ids within one message the first is answered first, so it is pushed last
        for number in range(len(reading.calls) - 1, -1, -1):
            self._open.setdefault(reading.calls[number], []).append(Waiting(group, seq, number))
        self._count += len(reading.calls)
        while self._count > MOST_OPEN:
            self._taken(next(iter(self._open)), 0)

    def _taken(self, call: str, at: int) -> Waiting:
        waiting = self._open[call]
        found = waiting.pop(at)
        if not waiting:
            del self._open[call]
        self._count -= 1
        return found

    def _join(self, seq: int, reading: ParsedMessage) -> tuple[MessageGroup, list[MessageGroup]]:
        target: MessageGroup | None = None
        merged: list[MessageGroup] = []
        orphans: list[Path] = []
        for answered, path in reading.results:
            if answered not in self._open:
                orphans.append(path)
                continue
            group, call_seq, number = self._taken(answered, -1)
            group.open_calls -= 1
            group.answered.add((call_seq, number))
            target = self._together(target, group, merged)
        for program in reading.continues:
            if program in self._open:
                target = self._together(target, self._open[program][-1].group, merged)
        if target is None:
            target = MessageGroup(seq, [])
        target.members.append(seq)
        if orphans:
            target.orphans[seq] = orphans
        return target, merged

    def _together(self, target: MessageGroup | None, group: MessageGroup, merged: list[MessageGroup]) -> MessageGroup:
        if target is None or target is group:
            return group
        target, other = (target, group) if target.first < group.first else (group, target)
        self._merge(target, other)
        merged.append(other)
        return target

    def _merge(self, target: MessageGroup, other: MessageGroup) -> None:
        target.members = sorted({*target.members, *other.members})
        target.open_calls += other.open_calls
        target.answered |= other.answered
        target.orphans |= other.orphans
        for waiting in self._open.values():
            for at, (group, seq, number) in enumerate(waiting):
                if group is other:
                    waiting[at] = Waiting(target, seq, number)


class GroupPreview:
    """Predict which groups the next messages will join, one after the other."""

    def __init__(self, turns: GroupIndex) -> None:
        self._turns = turns
        self._opened: dict[str, list[tuple[int, int, int]]] = {}
        """By call: the first `seq` of its group, its own, and its number in the message."""
        self._answered: dict[str, int] = {}

    def of(self, seq: int, reading: ParsedMessage) -> tuple[int, ...]:
        """Return the first `seq`s of the groups whose calls it answers, ascending; none if it opens its own."""
        if not reading.results and not reading.calls:
            return ()
        if reading.by_name:
            reading = self._named(reading)
        joined = {first for call, _ in reading.results if (first := self._take(call)) is not None}
        joined |= {first for program in reading.continues if (first := self._look(program)) is not None}
        first = min(joined, default=seq)
        for number, call in enumerate(reading.calls):
            self._opened.setdefault(call, []).append((first, seq, number))
        return tuple(sorted(joined))

    def _named(self, reading: ParsedMessage) -> ParsedMessage:
        """Return what `GroupIndex.named` will."""
        places = [((-seq, number), call) for call, opened in self._opened.items() for _, seq, number in opened]
        for call in dict.fromkeys(call for call, _ in self._turns.open()):
            waiting = self._turns.waiting(call)
            left = waiting[: len(waiting) - self._answered.get(call, 0)]
            places += [((-seq, number), call) for _, seq, number in left]
        return reading.answering(matched([name for name, _ in reading.results], places))

    def _take(self, call: str) -> int | None:
        found = self._look(call)
        if self._opened.get(call):
            self._opened[call].pop()
        elif found is not None:
            self._answered[call] = self._answered.get(call, 0) + 1
        return found

    def _look(self, call: str) -> int | None:
        if self._opened.get(call):
            return self._opened[call][-1][0]
        waiting, taken = self._turns.waiting(call), self._answered.get(call, 0)
        return None if taken >= len(waiting) else waiting[-1 - taken].group.first


def rebuild_groups(
    readings: Mapping[int, ParsedMessage], joins: Mapping[int, tuple[int, ...]]
) -> dict[int, MessageGroup]:
    """Group messages again, by `seq`; `joins` holds what `GroupPreview` returned for each.

    The result equals the groups at the time their last message arrived, because all members are given.
    """
    root: dict[int, int] = {}
    for seq in sorted(readings):
        firsts = [_root(root, first) for first in joins[seq]] or [seq]
        for first in (seq, *firsts):
            root[first] = min(firsts)
    members: dict[int, list[int]] = {}
    for seq in sorted(readings):
        members.setdefault(_root(root, seq), []).append(seq)
    found: dict[int, MessageGroup] = {}
    for together in members.values():
        turns = GroupIndex()
        for seq in together:
            group, merged = turns.add(seq, turns.named(readings[seq]) if readings[seq].by_name else readings[seq])
            found[seq] = group
            found.update((member, group) for other in merged for member in other.members)
    return found


def _root(root: Mapping[int, int], seq: int) -> int:
    while root.get(seq, seq) != seq:
        seq = root[seq]
    return seq
