"""The append-only log of a session and the state that follows from it. Nothing here decides what is sent.

Everything that makes up a session is an event in order. State is never edited: it is what the events say, so replaying
the same events anywhere gives the same history, and with it the same plans and views.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from backscroll.messages import Message, Reading, read_message
from backscroll.plan import Plan
from backscroll.turns import Group, Turns
from backscroll.usage import Counts, Report


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A message as it came, and what it counted when it came."""

    seq: int
    message: Message
    counts: Counts
    counted_by: str = ""
    """Name and version of the tokenizer: counts of another one cannot be added to these."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The idempotency id of the append that added the entries `first` to `last`."""

    id: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PlanRecorded:
    """A lane's new plan: a compaction, or its undoing."""

    lane: str
    plan: Plan
    removed: tuple[int, int]
    """Middle and upper estimate, in tokens, of what left the view."""
    tokens: int
    """The upper estimate of the request under the new plan."""
    messages: int
    """Messages of the view under the new plan."""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class PinChanged:
    """A message was pinned or unpinned after it was added."""

    seq: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class UsageObserved:
    """What a provider reported for a view of a lane."""

    lane: str
    report: Report


@dataclass(frozen=True, slots=True)
class Rewound:
    """The branch goes on behind entry `to`; -1 stands for the very beginning. Later entries stay in the log."""

    to: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A compaction of this lane would have won too little; it is not tried again before the view has grown."""

    lane: str
    tokens: int
    """The upper estimate of the request at that moment."""
    messages: int
    batch: bool = False
    """Whether it was about a batch of old results and not about the whole view."""


@dataclass(frozen=True, slots=True)
class Overflowed:
    """A provider refused the newest view of a lane as too long."""

    lane: str
    tokens: int
    """The upper estimate of that request."""
    limit: int | None = None
    """Tokens that it would have taken, where the provider said so."""


@dataclass(frozen=True, slots=True)
class LaneOpened:
    """A lane's first request: it starts from the newest plan of the session."""

    lane: str
    plan: Plan


Event = (
    LaneOpened | MessageAdded | Identified | PlanRecorded | PinChanged | UsageObserved | Rewound | Settled | Overflowed
)


@dataclass(slots=True, eq=False)
class Entry:
    """One message of the session."""

    seq: int
    message: Message
    """Private: hand out copies only."""
    reading: Reading
    counts: Counts
    group: Group


@dataclass(slots=True)
class _Marks:
    """What is asked about a branch at every step, kept up to date as it grows."""

    leading: int = 0
    first_user: Entry | None = None
    last_user: Entry | None = None
    last_assistant: int = -1
    protected: set[int] = field(default_factory=set)


class History:
    """The current branch of a session. `seq`s are never re-used, also not after a rewind."""

    def __init__(self) -> None:
        self.next_seq = 0
        self.branch: list[Entry] = []
        self.turns = Turns()
        self.epoch = 0
        """Changes whenever something other than an append changed the branch, so that lanes build their views anew."""
        self.newest: Group | None = None
        """The group that was opened last: the only one whose unanswered calls are still pending."""
        self._log: dict[int, Entry] = {}
        self._pins: dict[int, bool] = {}
        self._marks = _Marks()

    @property
    def leading(self) -> int:
        """How many system messages open the branch."""
        return self._marks.leading

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
        """`seq` of the newest assistant message, -1 without one. Results behind it were not yet seen by the model."""
        return self._marks.last_assistant

    @property
    def protected(self) -> set[int]:
        """`seq`s of the branch that are pinned or critical."""
        return self._marks.protected

    def get(self, seq: int) -> Entry | None:
        """The entry of that number, on the current branch or not."""
        return self._log.get(seq)

    def entries(self) -> Iterator[Entry]:
        """Every entry ever added, also those a rewind left behind."""
        return iter(self._log.values())

    def position(self, seq: int) -> int:
        """Index in the branch of the first entry whose `seq` is at least this one."""
        return bisect_left(self.branch, seq, key=_seq)

    def apply(self, event: Event) -> None:
        """Takes one event in. Events of lanes (plans, usage) change nothing here."""
        match event:
            case MessageAdded():
                self.append(event, read_message(event.message))
            case PinChanged():
                self._pinned(event)
            case Rewound():
                self._rewound(event)

    def append(self, event: MessageAdded, reading: Reading) -> Entry:
        """`apply` of an added message that was read already."""
        group, merged = self.turns.add(event.seq, reading)
        entry = Entry(event.seq, event.message, reading, event.counts, group)
        for other in merged:
            self.epoch += 1
            for seq in other.members:
                self._log[seq].group = group
        if group.first == entry.seq or self.newest in merged:
            self.newest = group
        self._log[entry.seq] = entry
        self.branch.append(entry)
        self.next_seq = max(self.next_seq, entry.seq + 1)
        self._mark(entry)
        return entry

    def _mark(self, entry: Entry) -> None:
        marks, reading = self._marks, entry.reading
        if reading.role == "assistant":
            marks.last_assistant = entry.seq
        elif reading.is_user_turn:
            marks.last_user = entry
            if marks.first_user is None:
                marks.first_user = entry
        elif reading.is_system and marks.leading == len(self.branch) - 1:
            marks.leading += 1
        flags = reading.flags
        if (flags.pinned or flags.critical or self._pins) and self._is_protected(entry):
            marks.protected.add(entry.seq)

    def _is_protected(self, entry: Entry) -> bool:
        flags = entry.reading.flags
        return self._pins.get(entry.seq, flags.pinned) or flags.critical

    def _pinned(self, event: PinChanged) -> None:
        self._pins[event.seq] = event.pinned
        place = self.position(event.seq)
        if place < len(self.branch) and self.branch[place].seq == event.seq:
            change = self.protected.add if self._is_protected(self.branch[place]) else self.protected.discard
            change(event.seq)

    def _rewound(self, event: Rewound) -> None:
        kept = self.branch[: self.position(event.to + 1)]
        self.branch, self.turns, self._marks, self.newest = [], Turns(), _Marks(), None
        self.epoch += 1
        for entry in kept:
            self.append(MessageAdded(entry.seq, entry.message, entry.counts), entry.reading)


_seq = attrgetter("seq")
