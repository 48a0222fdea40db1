"""What is known of a session, and how events change it. Asks nothing, stores nothing, decides nothing.

The operations on a session are functions in the other files of this room; each takes a `SessionState`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.compaction.cache_pricing import CachePricing
from backscroll.compaction.candidates import Strategy
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.options import CompactionOptions
from backscroll.compaction.policy import PolicyInput
from backscroll.compaction.summarization import Summaries
from backscroll.errors import ReferenceNotFoundError
from backscroll.history.codec import Codec
from backscroll.history.history import History
from backscroll.history.journal import Journal
from backscroll.history.log import (
    IdempotencyKeyUsed,
    LaneEvent,
    LaneOpened,
    LogEvent,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanRecorded,
    Rewound,
    SystemPromptRecorded,
    UsageObserved,
)
from backscroll.history.plan import Plan
from backscroll.messages import Message, ParsedMessage, Redact
from backscroll.ports import Notification as Report
from backscroll.session.lane import readmit, restore
from backscroll.tokens.budget import BudgetOptions
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import Count, Counts, UsageCalibrator
from backscroll.view.view import Ephemeral, HandedOut, RenderContext

Measure = Callable[[Sequence[ParsedMessage]], tuple[Counts, ...]]
Write = Callable[[HandedOut], list[Message]]
_MOST_IDS = 1_000  # idempotency ids that are remembered of what can be looked up in a store


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What a session is configured with. A replica shares it."""

    budget: BudgetOptions
    compaction: CompactionOptions
    strategies: tuple[Strategy, ...]
    measure: Measure
    count: Callable[[str], Count]
    counted_by: Callable[[], str]
    """The name of the tokenizer that counts."""
    family: Callable[[str], ModelProfile]
    """From a lane's name to how its model counts."""
    overhead_tokens: int | None = None
    """Tokens of a request outside the messages; None = learned from reported usage."""
    prices: CachePricing | None = None
    redact: Redact | None = None
    """Run over each message before anything else; also over what the system prompt factory answers."""
    write: Write | None = None
    """Makes of each view what the caller sends; see `RenderContext.write`."""
    reads_only: bool = False
    """Whether this program only reads: then lanes count as the program did that made their requests."""


class Position(NamedTuple):
    """A replica that stands before a place of the log, and what reads on from there."""

    place: int
    state: "SessionState"
    codec: Codec


class SessionState:
    """History, lanes and the log that both are made of."""

    def __init__(
        self,
        config: SessionConfig,
        *,
        logbook: Journal | None = None,
        summaries: Summaries | None = None,
        outbox: deque[Report] | None = None,
        clock: Callable[[], float] | None = None,
        listened_to: bool = False,
    ) -> None:
        self.config = config
        self.logbook = logbook
        self.summaries = summaries
        self.outbox: deque[Report] = deque() if outbox is None else outbox
        """Reports that the driver emits after the lock."""
        self.clock = clock
        """Seconds, by a clock that only goes forward; asked before each request."""
        self.listened_to = listened_to
        """Whether anybody hears events; the one that comes with every message is spared otherwise."""
        self.prompt: Callable[[], Any] | None = None
        """The system prompt factory."""
        self.included: Any = None
        """The system prompt that was reported last: it is asked for at every request, and hardly ever changes."""
        self.events: list[LogEvent] = []
        """The log, where nothing is stored."""
        self.ephemerals: list[Ephemeral] = []
        self.ephemeral_number = 0
        """Of the next one."""
        self.seconds: float | None = None
        """When the clock was looked at last."""
        self.entered = False
        """Whether what is stored was taken in."""
        self.measured = False
        """Whether anything was counted yet: the first count may load a vocabulary, which takes most of a second."""
        self.pending_usage: list[UsageObserved | Overflowed | Report] = []
        """What was reported since the last operation."""
        self.begin()

    def begin(self) -> None:
        """Stand before the first event."""
        self.history = History()
        self.lanes: dict[str, LaneState] = {}
        self.newest_lane: str | None = None
        """The lane that was compacted last."""
        self.asked: LaneState | None = None
        """The lane whose view was handed out last."""
        self.ids: dict[str, IdempotencyKeyUsed] = {}
        """By the digests of idempotency ids."""
        self.theirs: deque[int] = deque(maxlen=_MOST_IDS)
        """Messages that other writers stored while this one was at work."""
        self.met = 0
        """How often others added to the conversation, or took it back."""
        self.lost = 0
        """How often the change that is being made came too late."""
        self.prompts: set[str] = set()
        """Digests of system prompts whose text is in the log."""
        self.looked_at: Position | None = None
        """Where the request stood that was looked at last: the next one is near, mostly."""

    def replica(self, logbook: Journal | None) -> "SessionState":
        """A session of the same configuration, before the first event: what is done with it changes nothing here."""
        return SessionState(self.config, logbook=logbook)

    # -- events --

    def apply(self, event: LogEvent) -> None:
        """Apply one event that happened, here or elsewhere. The only way in which a session changes."""
        self.history.apply(event)
        self.follow(event)

    def apply_deferred(self, event: LogEvent) -> None:
        """Apply an event now; it is stored with the next one that counts."""
        self.follow(event)
        if self.logbook is not None:
            self.logbook.later(event)

    def follow(self, event: LogEvent) -> None:
        """Apply an event to everything but the history, which has it already."""
        if self.logbook is None:
            self.events.append(event)
        match event:
            case LaneEvent():
                self._follow_in_lane(event)
            case MessageAdded() | Rewound() | PinChanged():
                self._follow_in_lanes(event)
            case SystemPromptRecorded():
                self.prompts.add(event.digest)
            case IdempotencyKeyUsed():
                self.ids[event.digest] = event
                if self.logbook is not None and len(self.ids) > _MOST_IDS:
                    del self.ids[next(iter(self.ids))]
            case _:
                pass

    def _follow_in_lane(self, event: LaneEvent) -> None:
        lane = self.lanes.get(event.lane)
        if isinstance(event, LaneOpened):
            if lane is None:  # else another worker opened it at the same time
                self.lanes[event.lane] = self.make_lane(event.lane, event.plan)
            return
        if lane is None:  # its opening was lost
            lane = self.lanes[event.lane] = self.make_lane(event.lane, Plan())
        lane.apply(event)
        if isinstance(event, PlanRecorded):
            self.newest_lane = event.lane
            if event.undone:  # what was pinned since must not leave the view again
                self.outbox += restore(lane, self.history)

    def _follow_in_lanes(self, event: MessageAdded | Rewound | PinChanged) -> None:
        """What changes the branch may bring back what a lane's plan left out."""
        joined = None
        if isinstance(event, MessageAdded):
            if event.joins == ():
                return  # a message that answers nothing: by far the most
            joined = self.history.entry(event.seq).group
            if joined.first == event.seq:
                return
        if isinstance(event, Rewound):
            self.ephemerals = [found for found in self.ephemerals if found.after <= event.to]
        for lane in self.lanes.values():
            if isinstance(event, Rewound):
                lane.rewound(event.to)
            self.outbox += readmit(lane, joined) if joined is not None else restore(lane, self.history)

    # -- lanes --

    def make_lane(self, name: str, plan: Plan) -> LaneState:
        """A lane that nobody else knows."""
        config = self.config
        protect = config.compaction.protect
        around = RenderContext(
            config.family(name), config.count, (protect.first, protect.last), config.write, config.reads_only
        )
        return LaneState(name, around, plan, UsageCalibrator(config.overhead_tokens), config.budget.max_tokens)

    def lane(self, name: str) -> LaneState:
        """The lane of that name; opened from the newest plan if there is none yet."""
        return self.lanes.get(name) or self.open_lane(name)

    def open_lane(self, name: str) -> LaneState:
        """A new lane, which starts from the newest plan."""
        self.apply_deferred(LaneOpened(name, self._plan_to_start_from()))
        return self.lanes[name]

    def look(self, name: str) -> LaneState:
        """The lane of that name as it is, or as it would be opened; changes nothing."""
        return self.lanes.get(name) or self.make_lane(name, self._plan_to_start_from())

    def _plan_to_start_from(self) -> Plan:
        return Plan() if self.newest_lane is None else self.lanes[self.newest_lane].plan

    def policy_input(self, prompt: str | None) -> PolicyInput:
        """What a decision about a lane rests on now."""
        config = self.config
        return PolicyInput(
            self.history, config.compaction, config.strategies, self.ephemerals, prompt, config.prices, self.seconds
        )

    # -- checks --

    def check_seq(self, seq: object) -> None:
        """Raises `ReferenceNotFoundError` where no message of this number was ever added."""
        last = self.history.next_seq - 1
        if type(seq) is not int or not 0 <= seq <= last:
            raise ReferenceNotFoundError(f"no message {seq!r} in this session; its messages are 0 to {last}")

    def check_on_branch(self, to: object) -> None:
        """Raises `ReferenceNotFoundError` for what is not on the branch; -1 is its beginning."""
        branch = self.history.branch
        if type(to) is not int or (to != -1 and to not in branch):
            raise ReferenceNotFoundError(
                f"message {to!r} is not on the current branch, which has {len(branch)} messages"
            )
