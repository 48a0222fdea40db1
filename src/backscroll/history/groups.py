"""Which messages belong together: grouping by call id.

A group is an assistant message with tool calls and all of its results, or any other single message. Results are matched
by id and never by position: they may come in any order, or with other messages between. If ids are reused, a result
belongs to the nearest preceding call of that id that has no answer yet.

A result that comes after the conversation went on joins no group, and neither does one for a call that is answered or
unknown. A server tool's result in a later message joins the group of its call.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from backscroll.history.group_snapshot import GroupSnapshot
from backscroll.messages.pairing import matched
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId, Path

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
    """Results that answer no call in time: by `seq`, the paths of the blocks; () means the whole message."""
    serving: int = 0
    """Calls of server tools without a result so far."""

    def copy(self) -> "MessageGroup":
        """Return a copy, which later messages do not change."""
        return replace(self, members=list(self.members), answered=set(self.answered), orphans=dict(self.orphans))

    def saved(self) -> GroupSnapshot:
        """Return what a checkpoint keeps of it."""
        return GroupSnapshot(
            first=self.first,
            members=tuple(self.members),
            open_calls=self.open_calls,
            answered=tuple(sorted(self.answered)),
            orphans=tuple([(seq, tuple(paths)) for seq, paths in self.orphans.items()]),
            serving=self.serving,
        )

    @classmethod
    def restored(cls, saved: GroupSnapshot) -> "MessageGroup":
        """Return the group that a checkpoint kept."""
        return cls(
            first=saved.first,
            members=list(saved.members),
            open_calls=saved.open_calls,
            answered=set(saved.answered),
            orphans={seq: list(paths) for seq, paths in saved.orphans},
            serving=saved.serving,
        )


Late = tuple[tuple[int, str, bool], ...]
"""Results of one message that join no group: the index of each among its results, the name of the called tool, and
whether the call has a result already. The name is empty if no such call is known.
"""
_Turn = tuple[int, int]
"""A message with which the conversation went on, and the first `seq` of its group."""


class Joining(NamedTuple):
    """What the next message joins."""

    firsts: tuple[int, ...]
    """The first `seq`s of the groups that it joins, ascending; none if it opens its own."""
    late: tuple[tuple[int, int | None, int], ...]
    """Its results that come too late or answer no open call: the index of each, and the call's `seq` and number.
    `None`: no open call has its id.
    """


class Waiting(NamedTuple):
    """A call without a result."""

    group: MessageGroup
    seq: int
    number: int
    """Number of the call in its message."""


@dataclass(slots=True)
class Flow:
    """How a conversation went on, as far as it decides which results come too late."""

    turns: tuple[_Turn, ...] = ()
    """The newest two messages of different groups with which it went on, newest first: a user's turn, or an answer of
    the model, or what is shown apart from its call. One answer may be several messages in a row.
    """
    others: tuple[_Turn, ...] = ()
    """The newest two messages of different groups that no hook and no system wrote, newest first."""
    last_role: str = ""
    """The role of the newest message."""

    def note(self, seq: int, reading: ParsedMessage, first: int, *, apart: bool) -> None:
        """Note the next message. It is called for each, so it calls nothing.

        Args:
            seq: The message.
            reading: Its reading.
            first: The first `seq` of its group.
            apart: It holds a result that joins no group.
        """
        role, turn = reading.role, (seq, first)
        if apart or reading.is_user_turn or (role == "assistant" and self.last_role != role):
            old = self.turns
            self.turns = (turn, old[0]) if old and old[0][1] != first else (turn, *old[1:])
        if not reading.is_system and not reading.flags.injected:
            old = self.others
            self.others = (turn, old[0]) if old and old[0][1] != first else (turn, *old[1:])
        self.last_role = role

    def merge(self, first: int, into: int) -> None:
        """Note that a group became part of another one, by their first `seq`s."""
        self.turns, self.others = (
            tuple([(seq, into if group == first else group) for seq, group in found])
            for found in (self.turns, self.others)
        )


class GroupIndex:
    """Groups of one branch, kept up to date message by message. Memory grows with open calls, not with the history."""

    def __init__(self, waited: Container[tuple[int, int]] = ()) -> None:
        self._open: dict[CallId, list[Waiting]] = {}
        self._count = 0
        self._serving: dict[str, MessageGroup] = {}
        self._waited = waited
        """Calls, by `seq` and number, that a request showed without their result."""
        self.flow: Flow = Flow()
        self.late: list[tuple[int, Waiting]] = []
        """Of the newest message with results: those of calls that were open and that it answers too late, by index."""
        self.answered: frozenset[tuple[int, int]] = frozenset()
        """The calls that the newest message with results answers, by `seq` and number."""

    def add(self, seq: int, reading: ParsedMessage, late: Late = ()) -> tuple[MessageGroup, list[MessageGroup]]:
        """Return the group that this message joins or opens, and groups that were merged into it (rarely any)."""
        if not reading.results and not reading.continues and not reading.served:
            group = MessageGroup(seq, [seq])
            merged: list[MessageGroup] = []
        else:
            group, merged = self._join(seq, reading, late)
        if reading.calls:
            self._open_calls(seq, reading, group)
        for call in reading.serves:
            self._serving[call] = group
            group.serving += 1
            if len(self._serving) > MOST_OPEN:
                del self._serving[next(iter(self._serving))]
        self.flow.note(seq, reading, group.first, apart=seq in group.orphans)
        return group, merged

    @property
    def waits(self) -> bool:
        """True if any call has no result."""
        return self._count > 0

    def waiting(self, call: CallId) -> list[Waiting]:
        """Return the calls of this id without a result; the next result answers the last of them."""
        return self._open.get(call, [])

    def named(self, reading: ParsedMessage) -> ParsedMessage:
        """Return a reading with the ids of the calls that it answers, which it may name in other ways."""
        open_calls = (((-seq, number), call) for call, (_, seq, number) in self.open())
        return reading.answering(matched([name for name, _ in reading.results], open_calls))

    def open(self) -> Iterator[tuple[CallId, Waiting]]:
        """Yield every call without a result, with its id, in the order that `reopen` expects."""
        return ((call, each) for call, waiting in self._open.items() for each in waiting)

    @property
    def serves(self) -> bool:
        """True if any call of a server's tool has no result."""
        return bool(self._serving)

    def serving(self) -> Iterator[tuple[str, MessageGroup]]:
        """Yield every call of a server tool without a result, with its group."""
        return iter(self._serving.items())

    def serve(self, call: str, group: MessageGroup) -> None:
        """Restore a call that `serving` returned."""
        self._serving[call] = group

    def reopen(self, waiting: Iterable[tuple[str, Waiting]]) -> None:
        """Restore the calls that `open` returned, by their records."""
        for record, each in waiting:
            self._open.setdefault(CallId.recorded(record), []).append(each)
            self._count += 1

    def _open_calls(self, seq: int, reading: ParsedMessage, group: MessageGroup) -> None:
        group.open_calls += len(reading.calls)
        # of equal ids within one message the first is answered first, so it is pushed last
        for number in range(len(reading.calls) - 1, -1, -1):
            self._open.setdefault(reading.calls[number], []).append(Waiting(group, seq, number))
        self._count += len(reading.calls)
        while self._count > MOST_OPEN:
            self._taken(next(iter(self._open)), 0)

    def _taken(self, call: CallId, at: int) -> Waiting:
        waiting = self._open[call]
        found = waiting.pop(at)
        if not waiting:
            del self._open[call]
        self._count -= 1
        return found

    def _join(self, seq: int, reading: ParsedMessage, late: Late) -> tuple[MessageGroup, list[MessageGroup]]:
        target: MessageGroup | None = None
        merged: list[MessageGroup] = []
        orphans: list[Path] = []
        listed = {index for index, _, _ in late} if late else ()
        timely: list[tuple[int, int]] = []
        self.late = []
        for index, (answered, path) in enumerate(reading.results):
            if answered not in self._open:
                orphans.append(path)
                continue
            waiting = self._taken(answered, -1)
            group, call_seq, number = waiting
            if index in listed or ((call_seq, number) in self._waited and answered not in reading.fixed):
                self.late.append((index, waiting))
                orphans.append(path)
                continue
            group.open_calls -= 1
            timely.append((call_seq, number))
            target = self._together(target, group, merged)
        self.answered = frozenset(timely)
        if target is not None:
            target.answered.update(timely)
        for call in reading.served:
            if (server := self._serving.pop(call, None)) is not None:
                server.serving -= 1
                target = self._together(target, server, merged)
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
        target.serving += other.serving
        self.flow.merge(other.first, target.first)
        self._serving = {call: target if group is other else group for call, group in self._serving.items()}
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
        self._opened: dict[CallId, list[tuple[int, int, int]]] = {}
        """By call: the first `seq` of its group, its own, and its number in the message."""
        self._answered: dict[CallId, int] = {}
        self._merged: dict[int, int] = {}
        """Groups that will be part of another one, by their first `seq`s."""
        self._serving = {call: group.first for call, group in turns.serving()} if turns.serves else {}
        self._flow = Flow(turns.flow.turns, turns.flow.others, turns.flow.last_role)

    def of(self, seq: int, reading: ParsedMessage) -> Joining:
        """Return what the next message joins."""
        if not (reading.results or reading.continues or reading.serves or reading.served):
            for number, call in enumerate(reading.calls):
                self._opened.setdefault(call, []).append((seq, seq, number))
            self._flow.note(seq, reading, seq, apart=False)
            return ALONE
        if reading.by_name:
            reading = self._named(reading)
        joined: set[int] = set()  # `set[int]()` would take as long as all the rest
        late: list[tuple[int, int | None, int]] = []
        matches = [(call, self._take(call)) for call, _ in reading.results]
        passed = self._flow.turns
        if reading.is_user_turn:  # words stay where they were typed
            own = {match[0] for _, match in matches if match is not None}
            passed = (*passed, *[turn for turn in self._flow.others if turn[1] not in own])
        for index, (call, match) in enumerate(matches):
            if match is None:
                late.append((index, None, 0))
            elif call not in reading.fixed and went_on(passed, match[1], match[0]):
                late.append((index, *match[1:]))
            else:
                joined.add(match[0])
        if reading.continues:
            joined |= {found[0] for program in reading.continues if (found := self._look(program)) is not None}
        if reading.served:
            servers = [self._serving.pop(call) for call in reading.served if call in self._serving]
            joined |= {_root(self._merged, server) for server in servers}
        first = self._together(joined) if joined else seq
        for number, call in enumerate(reading.calls):
            self._opened.setdefault(call, []).append((first, seq, number))
        if reading.serves:
            self._serving |= dict.fromkeys(reading.serves, first)
        self._flow.note(seq, reading, first, apart=bool(late))
        return Joining(tuple(sorted(joined)), tuple(late))

    def _together(self, joined: set[int]) -> int:
        """Note that these groups will be one. Returns its first `seq`."""
        first = min(joined)
        for other in joined - {first}:
            self._merged[other] = first
            self._flow.merge(other, first)
        return first

    def _named(self, reading: ParsedMessage) -> ParsedMessage:
        """Return what `GroupIndex.named` will."""
        places = [((-seq, number), call) for call, opened in self._opened.items() for _, seq, number in opened]
        for call in dict.fromkeys(call for call, _ in self._turns.open()):
            waiting = self._turns.waiting(call)
            left = waiting[: len(waiting) - self._answered.get(call, 0)]
            places += [((-seq, number), call) for _, seq, number in left]
        return reading.answering(matched([name for name, _ in reading.results], places))

    def _take(self, call: CallId) -> tuple[int, int, int] | None:
        found = self._look(call)
        if self._opened.get(call):
            self._opened[call].pop()
        elif found is not None:
            self._answered[call] = self._answered.get(call, 0) + 1
        return found

    def _look(self, call: CallId) -> tuple[int, int, int] | None:
        if self._opened.get(call):
            first, seq, number = self._opened[call][-1]
            return _root(self._merged, first), seq, number
        waiting, taken = self._turns.waiting(call), self._answered.get(call, 0)
        if taken >= len(waiting):
            return None
        group, seq, number = waiting[-1 - taken]
        return _root(self._merged, group.first), seq, number


ALONE = Joining((), ())


def went_on(turns: tuple[_Turn, ...], call: int, first: int) -> bool:
    """Return whether the conversation went on, outside the call's own group, since the call at this `seq`."""
    for seq, group in turns:  # noqa: SIM110  every result asks this, and a generator takes twice as long
        if seq > call and group != first:
            return True
    return False


def rebuild_groups(
    readings: Mapping[int, ParsedMessage], joins: Mapping[int, tuple[int, ...]], late: Mapping[int, Late]
) -> dict[int, MessageGroup]:
    """Group messages again, by `seq`; `joins` and `late` hold what is recorded of each.

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
            reading = turns.named(readings[seq]) if readings[seq].by_name else readings[seq]
            group, merged = turns.add(seq, reading, late.get(seq, ()))
            found[seq] = group
            found.update((member, group) for other in merged for member in other.members)
    return found


def _root(root: Mapping[int, int], seq: int) -> int:
    while root.get(seq, seq) != seq:
        seq = root[seq]
    return seq
