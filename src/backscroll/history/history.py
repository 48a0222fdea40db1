"""The messages of a session and the state that follows from them.

State is never edited: it follows from the events. Of a stored session only a window is in memory, with what the views
show and what every step needs. Any other entry can be evicted and loaded again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.errors import CorruptionError
from backscroll.history.branch import Branch
from backscroll.history.groups import GroupIndex, GroupPreview, Late, MessageGroup, Waiting, rebuild_groups, went_on
from backscroll.history.log import HistorySnapshot, LogEvent, MessageAdded, PinChanged, Rewound
from backscroll.history.plan import Gap
from backscroll.messages.pairing import paired
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId, Message
from backscroll.messages.reader import read_message
from backscroll.tokens.counts import Counts


@dataclass(slots=True, eq=False)
class Entry:
    """One message of the session."""

    seq: int
    message: Message
    """Private: callers get copies only."""
    reading: ParsedMessage
    counts: Counts
    group: MessageGroup
    late: Late = ()
    """Its results that join no group."""


@dataclass(slots=True)
class _Marks:
    """What every step asks of a branch, kept up to date as it grows."""

    leading: int = 0
    first_user: Entry | None = None
    last_user: Entry | None = None
    last_assistant: int = -1
    reminder: int | None = None
    protected: set[int] = field(default_factory=set)


class _Parts(NamedTuple):
    """The state of a branch."""

    branch: Branch
    newest: MessageGroup | None
    turns: GroupIndex
    marks: _Marks
    held: dict[int, Entry]
    apart: dict[int, MessageGroup]
    unnoted: set[int]
    base: "_Base | None"


_Base = tuple[HistorySnapshot, Sequence[MessageAdded]]
"""A snapshot, and the messages that it names."""
_BEGINNING: _Base = HistorySnapshot(0, (), 0, None, None, -1, None, (), (), (), (), ()), ()


class History:
    """The current branch of a session. `seq`s are never reused, even after a rewind."""

    def __init__(self) -> None:
        self.next_seq: int = 0
        self.branch: Branch = Branch()
        self.epoch: int = 0
        """Changes whenever something other than an append changed the branch, so that lanes rebuild their views."""
        self.newest: MessageGroup | None = None
        """The newest group that views show: the only one whose unanswered calls are pending."""
        self.last: Entry | None = None
        """The newest message of the branch."""
        self.last_sealed: int = -1
        """`seq` of the newest message of the branch with sealed reasoning; -1 without one."""
        self.evicted_to: int = -1
        """The highest `seq` ever evicted; -1 while everything is in memory."""
        self.evicted_length: int = 0
        """Messages of the branch when messages were last evicted: those behind these are in memory."""
        self._turns = GroupIndex()
        self._held: dict[int, Entry] = {}
        self._apart: dict[int, MessageGroup] = {}
        """Groups with evicted members, by these members, as long as more messages may join them."""
        self._unnoted: set[int] = set()
        """Members of groups that cannot be rebuilt, because old records lack what joined what."""
        self._pins: dict[int, bool] = {}
        self._marks = _Marks()
        self._base: _Base | None = _BEGINNING
        """What it was restored from. `None`: not all that the branch has since then is in memory."""

    def __repr__(self) -> str:
        """Return how much it holds in a line."""
        return f"<history: {len(self.branch):,} messages, {len(self._held):,} in memory>"

    @property
    def leading(self) -> int:
        """Number of system messages that open the branch."""
        return self._marks.leading

    @property
    def leading_seqs(self) -> list[int]:
        """Their `seq`s."""
        return list(self.branch.between(0, self._marks.leading))

    @property
    def first_user(self) -> Entry | None:
        """The user's first message, not a hook's."""
        return self._marks.first_user

    @property
    def last_user(self) -> Entry | None:
        """The user's newest message, not a hook's."""
        return self._marks.last_user

    @property
    def last_assistant(self) -> int:
        """`seq` of the newest assistant message, -1 without one. The model has not seen later results."""
        return self._marks.last_assistant

    @property
    def reminder(self) -> int | None:
        """`seq` of the newest reminder: text that a host sends once, and that stays valid until the next one."""
        return self._marks.reminder

    @property
    def newest_seqs(self) -> set[int]:
        """The messages of the newest group, and of the newest message's group. These differ if a result arrives after
        messages that were added while its call was open, or if a prompt replaces a system message.
        """
        groups = [self.newest, *([last.group] if (last := self._last_shown()) else ())]
        return {seq for group in groups if group is not None for seq in group.members}

    def _last_shown(self) -> Entry | None:
        """Return the newest message of the dialogue."""
        for at in range(len(self.branch) - 1, self.leading - 1, -1):
            entry = self._held.get(self.branch[at])  # None for an evicted one: what was said last is always loaded
            if entry is not None and not entry.reading.is_system:
                return entry
        return None

    @property
    def protected(self) -> set[int]:
        """`seq`s of the branch that are pinned or critical."""
        return self._marks.protected

    @property
    def pins(self) -> dict[int, bool]:
        """Changes of pins after messages were added, by `seq`."""
        return self._pins

    @property
    def noted(self) -> bool:
        """True if the log records what each message joins, so that groups can be rebuilt."""
        return not self._unnoted

    # -- entries --

    def get(self, seq: int) -> Entry | None:
        """Return the entry with this number, on the current branch or not; None if it is evicted or unknown."""
        return self._held.get(seq)

    def entry(self, seq: int) -> Entry:
        """Return an entry that is in memory."""
        return self._held[seq]

    def not_loaded(self, seqs: Iterable[int]) -> list[int]:
        """Return the `seq`s that are not in memory."""
        return [seq for seq in seqs if seq not in self._held]

    def group_of(self, seq: int) -> MessageGroup | None:
        """Return the group of an entry in memory, or of one that more messages may join; None if it must be loaded
        first.
        """
        return entry.group if (entry := self._held.get(seq)) else self._apart.get(seq)

    def since(self, length: int) -> list[Entry]:
        """Return what was added to the branch since it had this length. All of it must be in memory."""
        return [self._held[seq] for seq in self.branch.between(length, len(self.branch))]

    def outside(self, gaps: Iterable[Gap]) -> Iterator[tuple[int, Gap | None]]:
        """Yield the `seq`s of the branch outside these gaps, each with the gap directly before it."""
        branch, at, before = self.branch, 0, None
        for gap in gaps:
            end = branch.position(gap.first)
            for seq in branch.between(at, end):
                yield seq, before
                before = None
            behind = max(end, branch.position(gap.last + 1))
            before = gap if behind > end else before
            at = behind
        for seq in branch.between(at, len(branch)):
            yield seq, before
            before = None

    def waiting(self, group: MessageGroup | None = None) -> list[CallId]:
        """Return the calls without a result, of one group or all."""
        return [call for call, each in self._turns.open() if group is None or each.group is group]

    @property
    def waits(self) -> bool:
        """True if any call has no result."""
        return self._turns.waits

    def waiting_calls(self) -> Iterator[tuple[int, int]]:
        """Yield the calls without a result, by `seq` and number of the call in its message."""
        return ((seq, number) for _, (_, seq, number) in self._turns.open())

    def went_on(self, entry: Entry) -> bool:
        """Return whether the conversation went on since a message, so that a result of its calls would be late."""
        return went_on(self._turns.flow.turns, entry.seq, entry.group.first)

    @property
    def answered(self) -> frozenset[tuple[int, int]]:
        """The calls that the newest message with results answers in time, by `seq` and number."""
        return self._turns.answered

    def joining(self) -> GroupPreview:
        """Return a preview of which groups the next messages will join."""
        return GroupPreview(self._turns)

    # -- events --

    def apply(self, event: LogEvent) -> None:
        """Apply one log event. Events of lanes (plans, usage) change nothing here."""
        match event:
            case MessageAdded():
                self.append(event, read_message(event.message))
            case PinChanged():
                self._pinned(event)
            case Rewound():
                self.rewind_to(self.until(event.to))

    def append(self, event: MessageAdded, reading: ParsedMessage) -> Entry:
        """Apply an added message that was parsed already."""
        check_counts(event, reading)
        if reading.by_name:
            reading = self._turns.named(reading)
        group, merged = self._turns.add(event.seq, reading, event.late)
        entry = Entry(
            seq=event.seq, message=event.message, reading=reading, counts=event.counts, group=group, late=event.late
        )
        if merged:
            self.epoch += 1
        if self.newest in merged or group.first == entry.seq:
            self.newest = group
        self._held[entry.seq] = entry
        if reading.results or reading.served:
            self._joined(group, merged, noted=event.joins is not None)
        self.branch.add(entry.seq)
        self.last = entry
        self.next_seq = max(self.next_seq, entry.seq + 1)
        self._mark(entry)
        return entry

    def _joined(self, group: MessageGroup, merged: Sequence[MessageGroup], noted: bool) -> None:
        for seq in {seq for other in merged for seq in other.members}:
            if seq in self._held:
                self._held[seq].group = group
        if self.evicted_to >= group.first:
            self._apart.update((seq, group) for seq in group.members if seq not in self._held)
        if not noted or (self._unnoted and not self._unnoted.isdisjoint(group.members)):
            self._unnoted.update(group.members)

    def _mark(self, entry: Entry) -> None:
        marks, reading = self._marks, entry.reading
        if reading.role == "assistant":
            marks.last_assistant = entry.seq
            if reading.is_sealed:
                self.last_sealed = entry.seq
        elif reading.is_user_turn:
            marks.last_user = entry
            if marks.first_user is None:
                marks.first_user = entry
        elif reading.is_system and marks.leading == len(self.branch) - 1:
            marks.leading += 1
        flags = reading.flags
        if _is_reminder(reading):
            marks.reminder = entry.seq
        if (flags.pinned or flags.critical or self._pins) and self._is_protected(entry):
            marks.protected.add(entry.seq)

    def _is_protected(self, entry: Entry) -> bool:
        flags = entry.reading.flags
        return self._pins.get(entry.seq, flags.pinned) or flags.critical

    def _pinned(self, event: PinChanged) -> None:
        self._pins[event.seq] = event.pinned
        if event.seq in self.branch:
            change = self.protected.add if self._is_protected(self._held[event.seq]) else self.protected.discard
            change(event.seq)

    def reaches(self, last: int) -> bool:
        """Return whether what is in memory says what the history was when `last` had just been added."""
        if self._base is None or not self.noted:
            return self.evicted_to < 0
        runs = self._base[0].runs
        return not runs or (runs[-1][1] <= last and runs[-1][1] in self.branch)

    def until(self, last: int) -> "History":
        """Return the history as it was when `last` had just been added, if it `reaches` back so far."""
        past = History()
        if self._base is not None:
            past.restore(*self._base)
        for seq in self.branch.between(len(past.branch), self.branch.position(last + 1)):
            entry = self._held[seq]
            past.append(MessageAdded(seq, entry.message, entry.counts, late=entry.late), entry.reading)
        return past

    def as_of(self, last: int) -> "History":
        """Return the history as it was when `last` was the newest message. It shares the entries in memory, and stays
        as it is while messages are appended here that join none of its groups. What every step asks of a branch must
        be in memory; nothing may have been pinned since.
        """
        past = History()
        past.branch, past.next_seq, past.epoch = self.branch.until(last), last + 1, self.epoch
        past.evicted_to, past._held, past._apart = self.evicted_to, self._held, self._apart
        past.evicted_length = len(past.branch)  # what was evicted since then may be behind that of this history
        past._unnoted, past._pins, past.last = self._unnoted, self._pins, self._held[last]
        marks = past._marks = _Marks(
            leading=self.leading, first_user=self.first_user, last_user=self.last_user,
            last_assistant=self.last_assistant, reminder=self.reminder,
        )  # fmt: skip  # one thought
        marks.protected = {seq for seq in self.protected if seq <= last}
        past.newest, past.last_sealed = self.newest, self.last_sealed
        if self.branch[-1] != last:
            past._look_back()
        return past

    def _look_back(self) -> None:
        """Correct what the newest messages of a longer branch say."""
        end, marks = self.branch[-1], self._marks
        marks.leading = min(marks.leading, len(self.branch))
        if marks.first_user is not None and marks.first_user.seq > end:
            marks.first_user = None
        held = sorted((seq for seq in self._held if seq <= end and seq in self.branch), reverse=True)
        entries = [self._held[seq] for seq in held]
        if marks.last_user is not None and marks.last_user.seq > end:
            marks.last_user = next((each for each in entries if each.reading.is_user_turn), None)
        if marks.last_assistant > end:
            marks.last_assistant = next((each.seq for each in entries if each.reading.role == "assistant"), -1)
        if marks.reminder is not None and marks.reminder > end:
            marks.reminder = next((each.seq for each in entries if _is_reminder(each.reading)), None)
        if self.last_sealed > end:
            self.last_sealed = next((each.seq for each in entries if each.reading.is_sealed), -1)
        if self.newest is not None and self.newest.first > end:
            self.newest = next((each.group for each in entries if each.group.first == each.seq), None)

    def parts(self) -> "_Parts":
        """Return what a rewind to this history takes over."""
        return _Parts(
            branch=self.branch, newest=self.newest, turns=self._turns, marks=self._marks, held=self._held,
            apart=self._apart, unnoted=self._unnoted, base=self._base,
        )  # fmt: skip  # one thought

    def rewind_to(self, past: "History") -> None:
        """Restore the branch of `past`. Later pins stay."""
        before, held, self.last_sealed = past.parts(), self._held, past.last_sealed
        self._base = before.base
        self.branch, self.newest, self._turns, self._marks = before.branch, before.newest, before.turns, before.marks
        if self.evicted_to < 0:
            held |= before.held
        else:
            self._held, self._apart, self._unnoted = before.held, before.apart, before.unnoted
            self.evicted_to, self.evicted_length = self.next_seq - 1, len(self.branch)
        self.last = self._held[self.branch[-1]] if self.branch else None
        self.epoch += 1
        for seq in self._pins:
            if seq in self.branch:
                change = self.protected.add if self._is_protected(self._held[seq]) else self.protected.discard
                change(seq)

    # -- a window over what is stored --

    def always_loaded(self) -> set[int]:
        """Return what every step needs, in whole groups."""
        seqs = {*self.leading_seqs, *self.protected, *([self.branch[-1]] if self.branch else ())}
        seqs |= {entry.seq for entry in (self.first_user, self.last_user) if entry is not None}
        seqs |= set() if self.reminder is None else {self.reminder}
        groups = [entry.group for seq in seqs if (entry := self._held.get(seq))]
        return seqs.union(*(group.members for group in groups), self.newest_seqs)

    def evict(self, shown: set[int], before: int) -> None:
        """Evict the groups that end below `before`, except those in `shown` and those that every step needs."""
        staying = shown | self.always_loaded() | self._unnoted
        going = []
        for seq, entry in self._held.items():
            members = entry.group.members
            if members[-1] < before and seq not in staying and staying.isdisjoint(members):
                going.append(seq)
        for seq in going:
            del self._held[seq]
        self._base = None if going else self._base
        self.evicted_to, self.evicted_length = max([self.evicted_to, *going]), len(self.branch)
        groups = [waiting.group for _, waiting in self._turns.open()]
        groups += [group for _, group in self._turns.serving()]
        groups += [group for group in self._apart.values() if not self._held.keys().isdisjoint(group.members)]
        self._apart = {seq: group for group in groups for seq in group.members if seq not in self._held}

    def load_into(self, events: Iterable[MessageAdded]) -> None:
        """Load messages that were added before, in whole groups."""
        new = {event.seq: event for event in events if event.seq not in self._held}
        readings = {seq: read_message(event.message) for seq, event in new.items()}
        loose = {seq: reading for seq, reading in readings.items() if seq not in self._apart}
        joins = {seq: new[seq].joins or () for seq in loose}
        loose |= self._joined_by(joins)
        late = {seq: event.late for seq, event in new.items() if event.late}
        late |= {seq: self._held[seq].late for seq in loose if seq in self._held}
        groups = rebuild_groups(loose, joins, late)
        for seq in loose.keys() - new.keys():
            self._held[seq].group = groups[seq]
        for seq, event in new.items():
            check_counts(event, readings[seq])
            group = groups.get(seq) or self._apart.pop(seq)
            self._held[seq] = Entry(
                seq=seq, message=event.message, reading=readings[seq], counts=event.counts, group=group, late=event.late
            )
        for seq in sorted(seq for seq, reading in readings.items() if reading.by_name):
            before = [self._held[each] for each in self._held[seq].group.members if each <= seq and each in self._held]
            self._held[seq].reading = paired([entry.reading for entry in before])[-1]

    def _joined_by(self, joins: dict[int, tuple[int, ...]]) -> dict[int, ParsedMessage]:
        """Return the readings of messages in memory whose groups others join that are loaded, and complete `joins`."""
        found: dict[int, ParsedMessage] = {}
        for first in {first for firsts in joins.values() for first in firsts}:
            entry = self._held.get(first)
            if entry is None or first in joins:
                continue
            for seq in entry.group.members:
                if seq in self._held:
                    found[seq] = self._held[seq].reading
                    joins[seq] = () if seq == entry.group.first else (entry.group.first,)
        return found

    def snapshot(self) -> HistorySnapshot:
        """Return the state, for `restore`."""
        marks, open_calls, serving = self._marks, list(self._turns.open()), list(self._turns.serving())
        groups = {waiting.group.first: waiting.group for _, waiting in open_calls}
        groups |= {group.first: group for _, group in serving}
        return HistorySnapshot(
            next_seq=self.next_seq, runs=self.branch.runs(), leading=marks.leading,
            first_user=marks.first_user.seq if marks.first_user else None,
            last_user=marks.last_user.seq if marks.last_user else None,
            last_assistant=marks.last_assistant,
            newest=self.newest.first if self.newest else None,
            protected=tuple(sorted(marks.protected)),
            pins=tuple(self._pins.items()),
            open=tuple((call.record, group.first, seq, number) for call, (group, seq, number) in open_calls),
            groups=tuple(group.saved() for group in groups.values()),
            kept=tuple(sorted(self.always_loaded())),
            reminder=marks.reminder, last_sealed=self.last_sealed,
            serving=tuple([(call, group.first) for call, group in serving]),
            turns=self._turns.flow.turns if open_calls else (),
            others=self._turns.flow.others if open_calls else (),
        )  # fmt: skip  # one thought

    def restore(self, saved: HistorySnapshot, kept: Sequence[MessageAdded]) -> None:
        """Restore a snapshot; `kept` are the messages that it names."""
        self._base = saved, kept
        groups = {each.first: MessageGroup.restored(each) for each in saved.groups}
        self.next_seq, self.branch, self.evicted_to = saved.next_seq, Branch(saved.runs), saved.next_seq - 1
        self.evicted_length = len(self.branch)
        self._turns.reopen((call, Waiting(groups[first], seq, number)) for call, first, seq, number in saved.open)
        for call, group_first in saved.serving:
            self._turns.serve(call, groups[group_first])
        self._turns.flow.turns, self._turns.flow.others = saved.turns, saved.others
        self._apart = {seq: group for group in groups.values() for seq in group.members}
        self._pins = dict(saved.pins)
        self.load_into(kept)
        self.last = self._held[self.branch[-1]] if self.branch else None
        self._turns.flow.last_role = self.last.reading.role if self.last is not None else ""
        self.newest = None if saved.newest is None else self._held[saved.newest].group
        if self.newest is not None and self.newest.open_calls and self.newest.first not in groups:
            self.newest = self._held[self.branch[-1]].group  # a result of it was lost: its placeholder came later
        first, last = (None if seq is None else self._held[seq] for seq in (saved.first_user, saved.last_user))
        self.last_sealed = saved.last_sealed
        self._marks = _Marks(
            leading=saved.leading, first_user=first, last_user=last, last_assistant=saved.last_assistant,
            reminder=saved.reminder, protected=set(saved.protected),
        )  # fmt: skip  # one thought


def check_counts(event: MessageAdded, reading: ParsedMessage) -> None:
    """Check that a message was counted part by part.

    Raises:
        CorruptionError: It was not.
    """
    if len(event.counts) != len(reading.parts):
        parts, counts = len(reading.parts), len(event.counts)
        raise CorruptionError(f"the record of message {event.seq} has {counts} counts for its {parts} parts")


def _is_reminder(reading: ParsedMessage) -> bool:
    return reading.flags.reminder and not reading.calls and not reading.results
