"""Which messages travel together: grouping by call id. Nothing here knows of tokens, plans or views.

A group is an assistant message with tool calls and all of its results, or any other single message. Results are matched
by id and never by position: they may come in any order, late, or with other messages between. Where ids are re-used, a
result belongs to the nearest preceding call of that id that has no answer yet.
"""

from dataclasses import dataclass, field

from backscroll.messages import Reading
from backscroll.messages.parts import Path


@dataclass(slots=True, eq=False)
class Group:
    """The smallest unit that may leave a view."""

    first: int
    """`seq` of its first message; groups are ordered by it."""
    members: list[int]
    """`seq`s in the order of arrival."""
    open_calls: int = 0
    """Calls without a result so far."""
    answered: set[tuple[int, int]] = field(default_factory=set)
    """Answered calls, as (`seq`, number of the call in its message)."""
    orphans: dict[int, list[Path]] = field(default_factory=dict)
    """Results that answer no call: by `seq`, the paths of the blocks; () stands for the whole message."""


class Turns:
    """Groups of one branch, kept up to date message by message. Memory grows with open calls, not with the history."""

    def __init__(self) -> None:
        self._open: dict[str, list[tuple[Group, int, int]]] = {}
        self.merges = 0
        """How often one message answered calls of several groups, so that they became one."""

    def add(self, seq: int, reading: Reading) -> tuple[Group, list[Group]]:
        """The group that this message joins or opens, and groups that were merged into it (rarely any)."""
        if not reading.results:
            group = Group(seq, [seq])
            merged: list[Group] = []
        else:
            group, merged = self._join(seq, reading)
        if reading.calls:
            self._open_calls(seq, reading, group)
        return group, merged

    def _open_calls(self, seq: int, reading: Reading, group: Group) -> None:
        group.open_calls += len(reading.calls)
        # the first of equal ids within one message is answered first, so it is pushed last
        for number in range(len(reading.calls) - 1, -1, -1):
            self._open.setdefault(reading.calls[number], []).append((group, seq, number))

    def _join(self, seq: int, reading: Reading) -> tuple[Group, list[Group]]:
        target: Group | None = None
        merged: list[Group] = []
        orphans: list[Path] = []
        for answered, path in reading.results:
            waiting = self._open.get(answered)
            if not waiting:
                orphans.append(path)
                continue
            group, call_seq, number = waiting.pop()
            if not waiting:
                del self._open[answered]
            group.open_calls -= 1
            group.answered.add((call_seq, number))
            if target is None:
                target = group
            elif target is not group:
                target, other = (target, group) if target.first < group.first else (group, target)
                self._merge(target, other)
                merged.append(other)
        if target is None:
            target = Group(seq, [])
        target.members.append(seq)
        if orphans:
            target.orphans[seq] = orphans
        return target, merged

    def _merge(self, target: Group, other: Group) -> None:
        target.members = sorted({*target.members, *other.members})
        target.open_calls += other.open_calls
        target.answered |= other.answered
        target.orphans |= other.orphans
        self.merges += 1
        for waiting in self._open.values():
            for at, (group, seq, number) in enumerate(waiting):
                if group is other:
                    waiting[at] = (target, seq, number)
