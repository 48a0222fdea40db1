"""The state of a session, and how events change it.

The operations on a session are functions in the other files of this room; each takes a `SessionState`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from backscroll.compaction.decision import PolicyInput, Strategy
from backscroll.compaction.floor import floor_seqs
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.native_request import Natives, reads_block
from backscroll.compaction.options import CachePricing, CompactionOptions
from backscroll.compaction.summarization import Summaries
from backscroll.errors import ReferenceNotFoundError
from backscroll.history.codec import Codec
from backscroll.history.history import History
from backscroll.history.journal import Journal
from backscroll.history.log import (
    HealingBegun,
    IdempotencyKeyUsed,
    LaneEvent,
    LaneOpened,
    LogEvent,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanRecorded,
    RequestRecorded,
    Rewound,
    SystemPromptRecorded,
    UsageObserved,
)
from backscroll.history.log_reader import LogReader
from backscroll.history.memory_log import MemoryLog
from backscroll.history.plan import Plan, plan_of_new_lane, same_view, without, without_native
from backscroll.messages import Message, ParsedMessage, Redact
from backscroll.ports import Notification as Report
from backscroll.ports import Tokenizer
from backscroll.session.given import GivenMessages
from backscroll.tokens.budget import BudgetOptions, default_budget
from backscroll.tokens.counts import Count, Counts
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import UsageCalibrator
from backscroll.tokens.windows import LaneWindows
from backscroll.view.cache_marks import Marking
from backscroll.view.context import HandedOut, RenderContext
from backscroll.view.ephemerals import Ephemeral

Measure = Callable[[Sequence[ParsedMessage]], tuple[Counts, ...]]
Write = Callable[[HandedOut], list[Message]]
_NONE_ANSWERED = frozenset[tuple[int, int]]()
_MOST_IDS = 1_000  # idempotency keys kept in memory, all of which a store can find


def _no_marks(lane: str) -> None:
    """Mark no views."""


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The configuration of a session, shared with its replicas."""

    budget: BudgetOptions
    compaction: CompactionOptions
    strategies: Callable[[], tuple[Strategy, ...]]
    """Returns those that run, in order."""
    shortens: bool
    """Whether they shorten results."""
    measure: Measure
    count: Callable[[str], Count]
    counted_by: Callable[[], str]
    """Returns the name of the tokenizer."""
    tokenizer: Tokenizer
    """Its `name` and `exact` may change with the first count."""
    family: Callable[[str], ModelProfile]
    """Returns how a lane's model counts, by the lane's name."""
    binds: Callable[[str], bool]
    """Returns whether a lane's provider binds reasoning to what comes before it, by the lane's name."""
    windows: LaneWindows
    """The windows of the lanes' models."""
    media: Callable[[str], MediaLimits | None]
    """Returns what the provider of a lane's model accepts of media, by the lane's name."""
    marking: Callable[[str], Marking | None] = _no_marks
    """Returns how a lane marks its views for the provider's prompt cache, by the lane's name. `None`: not at all."""
    overhead_tokens: int | None = None
    """Tokens of a request outside the messages. `None`: learned from reported usage."""
    prices: CachePricing | None = None
    redact: Redact | None = None
    """Applied to each message before anything else, and to the text of the system prompt factory."""
    native: Literal["no", "auto", "always"] = "no"
    """Whether providers' own compactions are used: by price, or whenever they can."""
    model: Callable[[str], str] = lambda _: ""
    """Returns the name of a lane's model; empty if unknown."""
    compacts: Callable[[str], bool] = lambda _: True
    """Returns whether a lane's model can be compacted natively, by the lane's name."""
    write: Write | None = None
    """Converts each view to what the caller sends; see `RenderContext.write`."""
    shows_users: bool = False
    """Whether views show the user's first and last message also where a hand-over would quote them."""
    reads_only: bool = False
    """True if this program only reads: lanes then count as the program did that made their requests."""

    @property
    def quotes(self) -> bool:
        """Whether the digest quotes the user's messages in place of showing them."""
        return self.compaction.digest.handover and not self.shows_users

    def default_budget(self, lane: str) -> int:
        """Return the budget of a lane in tokens if neither the call nor the provider names one."""
        return default_budget(self.budget, self.windows, lane).tokens


class Position(NamedTuple):
    """A replica at a position of the log, with the codec to continue."""

    place: int
    state: "SessionState"
    codec: Codec


def _log(reader: LogReader | None) -> tuple[MemoryLog | None, LogReader]:
    if reader is not None:
        return None, reader
    log = MemoryLog()
    return log, log


class SessionState:
    """History, lanes and the log that both follow from."""

    config: SessionConfig
    events: MemoryLog | None
    given: GivenMessages
    history: History
    journal: Journal | None
    reader: LogReader

    start: Callable[[Callable[[], Any]], Callable[[], Any]] | None = None
    """Starts work in the background and returns a function that waits for its result. `None`: nothing can."""
    natives: Natives | None = None
    """How providers are asked for their own compactions. `None`: they are not."""
    asked_native: str | None = None
    """The lane for which a provider is asked now."""
    not_compacting: frozenset[str] = frozenset()
    """Models that were reported as not compacted natively."""
    settled = False
    """True once the lanes count by what the first count showed of the tokenizer."""

    def __init__(
        self,
        config: SessionConfig,
        *,
        journal: Journal | None = None,
        reader: LogReader | None = None,
        summaries: Summaries | None = None,
        pending_notifications: deque[Report] | None = None,
        clock: Callable[[], float] | None = None,
        listened_to: bool = False,
    ) -> None:
        self.config, self.journal = config, journal
        self.events, self.reader = _log(journal or reader)
        """The log, if this state keeps it: without a store, and not as a replica. And what reads it."""
        self.summaries = summaries
        self.pending_notifications: deque[Report] = deque() if pending_notifications is None else pending_notifications
        """Notifications that the driver emits after releasing the lock."""
        self.clock = clock
        """Returns seconds of a monotonic clock; called before each request."""
        self.listened_to = listened_to
        """True if there is an event handler; without one, the event of every message is skipped."""
        self.prompt: Callable[[], Any] | None = None
        """The system prompt factory."""
        self.included: Any = None
        """The system prompt that was reported last; the factory is called for every request."""
        self.ephemerals: list[Ephemeral] = []
        self.ephemeral_number = 0
        """Number of the next ephemeral message."""
        self.seconds: float | None = None
        """The last reading of the clock, in seconds."""
        self.assumed = self.unprepared = False
        """True once an assumed window was reported, and once that a plan could not be prepared."""
        self.odd = self.entered = False
        """True once it was reported that views heal messages, and once the stored events are loaded."""
        self.measured = self.decides = False
        """True once anything was counted, and once what decides is loaded: a vocabulary takes most of a second."""
        self.pending_usage: list[UsageObserved | Overflowed | HealingBegun | Report] = []
        """Reports since the last operation."""
        self.begin()

    def __repr__(self) -> str:
        """Return its length and its lanes in a line."""
        lanes = [str(lane).strip("<>") for lane in self.lanes.values()]
        return f"<session: {', '.join([f'{len(self.history.branch):,} messages', *lanes])}>"

    def begin(self) -> None:
        """Reset to the state before the first event."""
        self.history = History()
        self.lanes: dict[str, LaneState] = {}
        self.newest_lane: str | None = None
        """The lane that was compacted last."""
        self.asked: LaneState | None = None
        """The lane of the newest request."""
        self.answering: str | None = None
        """The name of the lane of the newest recorded request, which the model answers next."""
        self.ids: dict[str, IdempotencyKeyUsed] = {}
        """By the digests of idempotency keys."""
        self.theirs: deque[int] = deque(maxlen=_MOST_IDS)
        """Messages that other writers stored while this writer was open."""
        self.met = 0
        """How often other writers appended or rewound."""
        self.lost = 0
        """How often the change in progress lost against other writers."""
        self.prompts: set[str] = set()
        """Digests of system prompts whose text is in the log."""
        self.given = GivenMessages()
        """What callers of `set_messages` handed over."""
        self.looked_at: Position | None = None
        """The replica of the request read last, because the next one read is usually near."""

    def replica(self, reader: LogReader) -> "SessionState":
        """Return a session of the same configuration before its first event. Changes of it leave this one alone."""
        journal = reader if isinstance(reader, Journal) else None
        return SessionState(self.config, journal=journal, reader=reader)

    # -- events --

    def apply(self, event: LogEvent) -> None:
        """Apply one log event: to the history, then to all else (`follow`)."""
        self.history.apply(event)
        self.follow(event)

    def apply_deferred(self, event: LogEvent) -> None:
        """Apply an event that leaves the history as it is, and store it with the next commit."""
        self.follow(event)
        if self.journal is not None:
            self.journal.buffer(event)

    def follow(self, event: LogEvent) -> None:
        """Apply an event to all but the history, which has it already or is not changed by it."""
        if self.events is not None:
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
                if self.journal is not None and len(self.ids) > _MOST_IDS:
                    del self.ids[next(iter(self.ids))]
            case _:
                pass

    def _follow_in_lane(self, event: LaneEvent) -> None:
        lane = self.lanes.get(event.lane)
        if isinstance(event, LaneOpened):
            if lane is None:  # otherwise another worker opened it at the same time
                lane = self.lanes[event.lane] = self.make_lane(event.lane, event.plan)
                self._start_like_another(lane)
            return
        if lane is None:  # the event that opened it was lost
            lane = self.lanes[event.lane] = self.make_lane(event.lane, Plan())
        lane.apply(event)
        if isinstance(event, RequestRecorded):
            self.answering = event.lane
            lane.passing = event.ephemerals
            if self.history.waits:
                lane.wait_for(self.history.waiting_calls())
            newest = self.history.last
            if newest is None or newest.seq != event.last:
                self._forget_if_rewound(lane, event.last)
        if isinstance(event, PlanRecorded):
            self.newest_lane = event.lane
            if event.undone:  # messages pinned since then must not leave the view again
                self.pending_notifications += lane.restore_required(self.history)

    def _forget_if_rewound(self, lane: LaneState, last: int) -> None:
        """Forget a request that was stored after another writer's rewind, which took away its newest message `last`."""
        branch = self.history.branch
        if last >= 0 and last not in branch:
            at = branch.position(last)
            lane.forget_request(branch[at - 1] if at else -1)

    def _start_like_another(self, lane: LaneState) -> None:
        """Let a new lane know what the lane knows that it starts from: which reasoning of its view is invalid, for
        which budget its plan was made, and with which system prompt that reasoning was made. Where a lane shows results
        apart from their calls, its reasoning from there on does not follow what the new lane shows.
        """
        asked = self.lanes.get(self.answering or "")
        origin = asked if self.newest_lane is None else self.lanes[self.newest_lane]
        if origin is not None:
            lane.stale, lane.planned_for = origin.stale, origin.planned_for or origin.budget
        if asked is not None:
            lane.prompt, lane.requested, lane.marked = asked.prompt, asked.requested, asked.marked
            lane.passing = asked.passing
            if asked.tools is not None:
                lane.offer(asked.tools)
        if apart := [other.apart for other in self.lanes.values() if other.apart]:
            lane.invalidate(min(apart), self.history.last_sealed)

    def _follow_in_lanes(self, event: MessageAdded | Rewound | PinChanged) -> None:
        """Restore what a lane's plan left out, if a change of the branch requires it."""
        joined, answered = None, _NONE_ANSWERED
        if isinstance(event, MessageAdded):
            if len(self.lanes) > 1:
                self._follow_in_other_lanes(event)
            if event.joins == ():
                return  # a message without results, which is by far the most common
            joined = self.history.entry(event.seq).group
            if joined.first == event.seq:
                return
            answered = self.history.answered
        if isinstance(event, Rewound):
            self.ephemerals = [found for found in self.ephemerals if found.after <= event.to]
            self.given.cut(len(self.history.branch))
        for lane in self.lanes.values():
            if isinstance(event, Rewound):
                lane.rewound(event.to)
            waited = answered.intersection(lane.plan.waited) if lane.plan.waited else _NONE_ANSWERED
            if waited:
                behind = min(waited)[0] + 1
                lane.apart = min(lane.apart or behind, behind)
            if waited and waited == answered:
                continue  # the lane shows the result where it came
            found = (
                lane.readmit(joined, self.history.last_sealed)
                if joined is not None
                else lane.restore_required(self.history)
            )
            self.pending_notifications += found

    def _follow_in_other_lanes(self, event: MessageAdded) -> None:
        """Note that reasoning was made over the view of one lane, and so not over another lane's that differs."""
        made_in = self.lanes.get(self.answering or "")
        if (
            made_in is None
            or (reading := self.history.entry(event.seq).reading).role != "assistant"
            or not reading.is_sealed
        ):
            return
        for lane in self.lanes.values():
            if lane is not made_in and not same_view(lane.plan, made_in.plan):
                lane.invalidate(event.seq, event.seq)

    # -- lanes --

    def make_lane(self, name: str, plan: Plan) -> LaneState:
        """Return a new lane, which is not registered."""
        config = self.config
        protect = config.compaction.protect
        around = RenderContext(
            family=config.family(name),
            count=config.count,
            kept=(protect.first, protect.last),
            quotes=config.quotes,
            shows_users=config.shows_users,
            write=config.write,
            binds=config.binds(name),
            media=config.media(name),
            adopts=config.reads_only,
            tokenizer=config.tokenizer,
            marking=config.marking(name),
        )
        return LaneState(
            name=name,
            around=around,
            plan=plan,
            calibrator=UsageCalibrator(config.overhead_tokens),
            budget=config.default_budget(name),
        )

    def lane(self, name: str) -> LaneState:
        """Return the lane of that name; opens it from the newest plan if needed."""
        return self.lanes.get(name) or self.open_lane(name)

    def open_lane(self, name: str) -> LaneState:
        """Open a lane, which starts from the newest plan."""
        plan = self._plan_to_start_from(name)
        self.apply_deferred(LaneOpened(name, plan))
        return self.lanes[name]

    def look(self, name: str) -> LaneState:
        """Return the lane of that name, or the one that would be opened; changes nothing."""
        return self.lanes.get(name) or self.make_lane(name, self._plan_to_start_from(name))

    def _plan_to_start_from(self, name: str) -> Plan:
        plan = Plan() if self.newest_lane is None else self.lanes[self.newest_lane].plan
        plan = plan_of_new_lane(plan)  # which sent nothing yet
        config = self.config
        if plan.native is None or (config.compacts(name) and reads_block(config.model(name), plan.native.model)):
            return plan
        floor = floor_seqs(self.history, quoted=config.quotes) | self.history.newest_seqs
        groups = [group for seq in floor if (group := self.history.group_of(seq))]
        shown = sorted({seq for group in groups for seq in group.members})
        return without(without_native(plan), shown, plan.number)

    def policy_input(self, prompt: str | None) -> PolicyInput:
        """Return the input of a decision about a lane."""
        config = self.config
        return PolicyInput(
            history=self.history,
            options=config.compaction,
            strategies=config.strategies,
            ephemerals=self.ephemerals,
            prompt=prompt,
            prices=config.prices,
            seconds=self.seconds,
            native=config.native != "no",
            shortens=config.shortens,
            asked_native=self.asked_native,
        )

    # -- checks --

    def check_seq(self, seq: object) -> None:
        """Check that a message of this number exists on any branch.

        Raises:
            ReferenceNotFoundError: It does not.
        """
        last = self.history.next_seq - 1
        if type(seq) is not int or not 0 <= seq <= last:
            has = f"its messages are 0 to {last}" if last >= 0 else "it has none yet"
            raise ReferenceNotFoundError(f"no message {seq!r} in this session; {has}")

    def check_on_branch(self, to: object) -> None:
        """Check that a message is on the branch; -1 is its beginning.

        Raises:
            ReferenceNotFoundError: It is not.
        """
        branch = self.history.branch
        if type(to) is not int or (to != -1 and to not in branch):
            last = f"whose last message is {branch[-1]}" if branch else "which is empty"
            raise ReferenceNotFoundError(
                f"message {to!r} is not on the current branch, {last}: pass the number of one of its messages, or -1 "
                "for its beginning"
            )
