"""A session's state, and the only ways in which it changes: events that happen, and events that were stored.

Nothing here decides what is added or sent. What could not be stored does not happen.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

from backscroll import events
from backscroll.compaction.cache_pricing import Prices
from backscroll.compaction.candidates import Strategy
from backscroll.compaction.summarization import PROMPT, Made, Summaries
from backscroll.errors import ConflictError
from backscroll.history.history import Entry, History
from backscroll.history.journal import FAR, Logbook
from backscroll.history.loading import fetch, restored, take
from backscroll.history.log import (
    Checkpoint,
    Event,
    Identified,
    LaneOpened,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanRecorded,
    PromptSeen,
    Requested,
    Rewound,
    Settled,
    SummaryFailed,
    SummaryMade,
    UsageObserved,
)
from backscroll.history.plan import Plan
from backscroll.messages import Message, Reading, read_message
from backscroll.messages.echoes import Echoes
from backscroll.ports import Event as Report
from backscroll.ports import Exclusive, Operation
from backscroll.session.explain import usage
from backscroll.session.lane import Lane
from backscroll.tokens.budget import Options
from backscroll.tokens.model_profiles import Family
from backscroll.tokens.reported_usage import NOT_ABOUT_IT, ignored
from backscroll.tokens.responses import Counted
from backscroll.tokens.usage import Count, Counts, Usage
from backscroll.view.view import Ephemeral, HandedOut, Surroundings

Measure = Callable[[Sequence[Reading]], tuple[Counts, ...]]
PAGE_TOKENS = 4_000
NOTHING_SENT = "no view was handed out on this lane yet"
LOSSES = 4  # of a change, before its writer takes a turn: to try again is quicker, as long as it succeeds
TRIES = 8  # of one change against other writers; each of them got further meanwhile
_MOST_IDS = 1_000  # idempotency ids that are remembered of what can be looked up in a store


def outrun() -> ConflictError:
    """What is raised after so many tries."""
    return ConflictError(f"other writers were faster {TRIES} times in a row; try again")


class SessionState:
    """History, lanes and the log that both are made of."""

    reads_only = False
    """Whether this program only reads: then lanes count as the program did that made their requests."""

    def __init__(
        self,
        options: Options,
        strategies: Sequence[Strategy],
        *,
        measure: Measure,
        count: Callable[[str], Count],
        counted_by: Callable[[], str],
        family: Callable[[str], Family],
        prices: Prices | None = None,
        logbook: Logbook | None = None,
        summaries: Summaries | None = None,
    ) -> None:
        self._begin()
        self.options = options
        self.events: list[Event] = []
        self.outbox: deque[Report] = deque()
        self.prompt: Callable[[], Any] | None = None
        self.write: Callable[[HandedOut], list[Message]] | None = None
        """Makes of each view what the caller sends; see `Surroundings.write`."""
        self.listened_to = False
        """Whether anybody hears events; the one that comes with every message is spared otherwise."""
        self._logbook = logbook
        self._summaries = summaries
        self._strategies = tuple(strategies)
        self._prices = prices
        self._measure = measure
        self._count = count
        self._counted_by = counted_by
        self._family = family
        self._included: Any = None
        """The system prompt that was reported last: it is asked for at every request, and hardly ever changes."""
        self._ephemerals: list[Ephemeral] = []
        self._ephemeral_number = 0
        self._seconds: float | None = None
        """When the clock was looked at last."""
        self._entered = False
        """Whether what is stored was taken in."""
        self._reported: list[UsageObserved | Overflowed | Report] = []

    @property
    def summary_timeout(self) -> float:
        """Seconds that a request waits for a summary; 0 where there is no summarizer."""
        return self._summaries.timeout if self._summaries is not None else 0.0

    def _begin(self) -> None:
        """Everything that follows from events, as it is before the first."""
        self.history = History()
        self._lanes: dict[str, Lane] = {}
        self._newest_lane: str | None = None
        self._asked: Lane | None = None
        """The lane whose view was handed out last."""
        self._ids: dict[str, Identified] = {}
        """By the digests of idempotency ids."""
        self._theirs: deque[int] = deque(maxlen=_MOST_IDS)
        """Messages that other writers stored while this one was at work."""
        self._lost = 0
        """How often the change that is being made came too late."""
        self._met = 0
        """How often others added to the conversation, or took it back."""
        self._prompts: set[str] = set()
        """Digests of system prompts whose text is in the log."""

    # -- events --

    def apply(self, event: Event) -> None:
        """Takes in one event that happened, here or elsewhere. The only way in which a session changes."""
        self.history.apply(event)
        self._follow(event)

    def _follow(self, event: Event) -> None:
        if self._logbook is None:
            self.events.append(event)
        match event:
            case PromptSeen():
                self._prompts.add(event.digest)
            case Identified():
                self._ids[event.digest] = event
                if self._logbook is not None and len(self._ids) > _MOST_IDS:
                    del self._ids[next(iter(self._ids))]
            case MessageAdded() | Rewound() | PinChanged():
                self._follow_in_lanes(event)
            case _:
                self._follow_in_lane(event)

    def _follow_in_lane(self, event: Event) -> None:
        lane = getattr(event, "lane", None)
        if lane is not None and lane not in self._lanes and not isinstance(event, LaneOpened):
            self._lanes[lane] = self._make_lane(lane, Plan())  # its opening was lost
        match event:
            case LaneOpened() if event.lane not in self._lanes:  # another worker may have opened it at the same time
                self._lanes[event.lane] = self._make_lane(event.lane, event.plan)
            case PlanRecorded():
                self._lanes[event.lane].recorded(event)
                self._newest_lane = event.lane
                if event.undone:  # what was pinned since must not leave the view again
                    self.outbox += self._lanes[event.lane].restore(self.history)
            case Settled():
                self._lanes[event.lane].settled(event)
            case UsageObserved():
                self._lanes[event.lane].observed(event)
            case Overflowed():
                self._lanes[event.lane].overflowed(event)
            case Requested():
                self._lanes[event.lane].requested(event)
            case SummaryMade():
                self._lanes[event.lane].summarised(event)
            case SummaryFailed():
                self._lanes[event.lane].not_summarised(event)

    def _follow_in_lanes(self, event: MessageAdded | Rewound | PinChanged) -> None:
        """What changes the branch may bring back what a lane's plan left out."""
        joined = None
        if isinstance(event, MessageAdded):
            joined = self.history.entry(event.seq).group
            if joined.first == event.seq:
                return  # a message that answers nothing: by far the most
        if isinstance(event, Rewound):
            self._ephemerals = [found for found in self._ephemerals if found.after <= event.to]
        for lane in self._lanes.values():
            if isinstance(event, Rewound):
                lane.rewound(event.to)
            self.outbox += lane.readmit(joined) if joined is not None else lane.restore(self.history)

    def _make_lane(self, name: str, plan: Plan) -> Lane:
        kept = self.options.protected_first, self.options.protected_last
        around = Surroundings(self._family(name), self._count, kept, self.write, self.reads_only)
        return Lane(name, around, self.options, plan)

    def lane(self, name: str) -> Lane:
        """The lane of that name; opened from the newest plan if there is none yet."""
        if name not in self._lanes:
            self._steer(LaneOpened(name, self._plan_to_start_from()))
        return self._lanes[name]

    def _plan_to_start_from(self) -> Plan:
        return Plan() if self._newest_lane is None else self._lanes[self._newest_lane].plan

    # -- the log --

    def enter(self, *, look: bool = True) -> Operation[None]:
        """Holds the lock from here on, with all that is stored taken in: to `look` finds what others stored, too."""
        yield Exclusive()
        if self._logbook is not None and not self._entered:
            yield from self._open(self._logbook)
        elif self._logbook is not None and look:
            yield from self._take_news(self._logbook)
        self._settle_usage()

    def _open(self, logbook: Logbook) -> Operation[None]:
        """Goes on where the session stands in its store."""
        mark, behind = yield from logbook.open()
        try:
            yield from self._stand(logbook, mark, behind, logbook.end)
        except BaseException:
            self._begin()  # nothing of what was taken in half
            raise

    def _stand(self, logbook: Logbook, mark: Checkpoint | None, behind: Sequence[Event], place: int) -> Operation[None]:
        """Stands where these say, which are what is stored before a place."""
        self._begin()
        first = place - len(behind)
        with logbook.at(first - 1):
            self.history = yield from restored(logbook, mark, [])
            for lane in mark.lanes if mark else ():
                assert isinstance(lane.plan, Plan)
                self._lanes[lane.name] = self._make_lane(lane.name, lane.plan)
                self._lanes[lane.name].resume(lane)
            self._newest_lane = mark.newest_lane if mark else None
            if self._newest_lane not in (None, *self._lanes):
                raise ValueError(f"its newest lane is {self._newest_lane!r:.80}, and it has no such lane")
        for at, event in enumerate(behind, first):
            yield from self._take(event, at)
        self._entered = True

    def _take_news(self, logbook: Logbook) -> Operation[None]:
        try:
            own, others = yield from logbook.news()
            for at, event in own:
                yield from self._take(event, at)
            for at, event in others:
                yield from self._take(event, at)
                self._meet(event)
        except BaseException:
            self._entered = False  # some of it was taken in, and what is missing cannot be had now: begin anew
            raise

    def _meet(self, event: Event) -> None:
        """Notes what another writer did to the conversation."""
        if isinstance(event, MessageAdded):
            self._theirs.append(event.seq)
        if isinstance(event, MessageAdded | Rewound):
            self._met += 1

    def _take(self, event: Event, at: int) -> Operation[None]:
        """Takes in an event that is stored at a place, with what it needs from the store."""
        assert self._logbook is not None
        with self._logbook.at(at):
            yield from take(self.history, self._logbook, event)
            self._follow(event)

    def _commit(self, happening: Sequence[Event]) -> Operation[bool]:
        """Stores events that are about to happen; False where another writer was first, whose events happened now."""
        if self._logbook is None:
            return True
        stored = yield from self._logbook.commit(happening)
        if not stored:
            self._lost += 1
            if self._lost >= LOSSES:
                yield from self._logbook.take_turn()
            yield from self._take_news(self._logbook)
        return stored

    @contextmanager
    def _tries(self) -> Iterator[range]:
        """Of a change that other writers may come before. A writer that lost often has a turn, which ends here."""
        self._lost = 0
        try:
            yield range(TRIES)
        finally:
            if self._logbook is not None:
                self._logbook.end_turn()

    def _flushed(self) -> Operation[None]:
        """Stores what waits for the next event."""
        with self._tries() as tries:
            for _ in tries:
                if (yield from self._commit([])):
                    return
        raise outrun()

    def _happen(self, event: Event, check: Callable[[], None] = lambda: None) -> Operation[None]:
        """Stores an event, behind what others did meanwhile, and takes it in. `check` raises where it cannot follow
        that any more.
        """
        with self._tries() as tries:
            for _ in tries:
                check()
                if (yield from self._commit([event])):
                    self._entered = False  # until it is taken in
                    yield from self._take_own(event)
                    self._entered = True
                    return
        raise outrun()

    def _take_own(self, event: Event) -> Operation[None]:
        yield from take(self.history, self._logbook, event)
        self._follow(event)

    def _steer(self, event: Event) -> None:
        """Takes in an event that is stored with the next one that counts."""
        self.apply(event)
        if self._logbook is not None:
            self._logbook.later(event)

    def _note_standing(self) -> None:
        """Has it stored where the session stands, and holds no longer what no view shows."""
        logbook, history = self._logbook, self.history
        if logbook is None or not history.noted:
            return
        shown = {seq for lane in self._lanes.values() if lane.view for seq in lane.view.shown()}
        fresh = FAR if logbook.due else 0  # nobody asked for a view lately: the newest will be asked for
        history.let_go(shown, history.next_seq - fresh)
        self._steer(Checkpoint(history.mark(), tuple(lane.mark() for lane in self._lanes.values()), self._newest_lane))

    # -- what is not held --

    def fetch(self, seqs: Sequence[int]) -> Operation[list[Entry]]:
        """These entries, for reading only; `seqs` grow."""
        return (yield from fetch(self.history, self._logbook, seqs))

    # -- usage --

    def observe(self, lane_name: str, counted: Counted, *, read: bool = False) -> None:
        """Keeps a provider's report on the lane's newest view until the next operation takes it in.

        `read`: it was read from a response, and not given by a caller who may have mixed it up.
        """
        lane = self._lanes.get(lane_name)
        sound = all(type(tokens) is int and tokens >= 0 for tokens in counted)
        report = lane.report(counted.prompt, counted.answer) if lane is not None and sound else None
        if lane is None or report is None:
            self.usage_ignored(lane_name, tuple(counted), NOTHING_SENT if sound else NOT_ABOUT_IT)
            return
        judged = lane.reported.judge(counted, report, lane.meter, lane.budget, read=read)
        if judged.report is not None:
            cache = counted.read, counted.written
            sound = 0 < sum(cache) <= judged.report.tokens
            self._reported.append(UsageObserved(lane_name, judged.report, *(cache if sound else ())))
        self._reported += judged.reports

    def usage_ignored(self, lane_name: str, reported: object, why: str) -> None:
        """Keeps that a report says nothing of use, until the next operation says so."""
        self._reported.append(ignored(lane_name, reported, why))

    def overflowed(self, lane_name: str, requested: int | None, limit: int | None) -> None:
        """Keeps that a provider refused the lane's newest view as too long until the next operation takes it in."""
        lane = self._lanes.get(lane_name)
        told = type(requested) is int and type(limit) is int and limit > 0
        report = lane.report(requested or 0, 0) if lane is not None and told else None
        if lane is not None and report is not None and lane.meter.plausible(report, lane.budget):
            self._reported.append(UsageObserved(lane_name, report))
        else:
            limit = None  # sizes that cannot be about that view say nothing of what would fit
        found = lane.overflow(limit) if lane is not None else None
        self._reported.append(found or ignored(lane_name, "overflow", NOTHING_SENT))

    def sent(self, lane_name: str) -> int | None:
        """The middle estimate, in tokens, of the request that was handed out last on a lane."""
        lane = self._lanes.get(lane_name)
        return None if lane is None or lane.sent is None else lane.meter.total(lane.sent, lane.budget).middle

    def newest(self) -> tuple[str, int, int] | None:
        """The lane of the view handed out last, the tokens of that request by the middle estimate, and its messages."""
        lane = self._asked
        if lane is None or lane.view is None:
            return None
        return lane.name, lane.used(lane.budget).middle, len(lane.view.flat)

    def in_view(self) -> Iterator[str]:
        """The texts of the view handed out last; none before the first request. Without what recall brought back: the
        same query has the same answer, however often it is asked.
        """
        view, echoes = self._asked.view if self._asked else None, Echoes()
        for message in view.flat if view else ():
            reading = read_message(message)
            left_out = echoes.of(reading)
            yield from [part.text for number, part in enumerate(reading.parts) if number not in left_out]

    def page_tokens(self) -> int:
        """Tokens of one page of recalled text: what fits into a quarter of the budget, at most 4,000."""
        budgets = [lane.budget for lane in self._lanes.values()] or [self.options.max_tokens]
        return max(1, min(PAGE_TOKENS, min(budgets) // 4))

    def usage(self, lane_name: str) -> Usage | None:
        """What is in the lane's window, by what its provider said last; None where no view of it was made here yet."""
        known = self._lanes.get(lane_name)
        if known is None or known.view is None:
            return None
        lane = copy(known)
        lane.meter = copy(known.meter)
        for reported in self._reported:
            if isinstance(reported, UsageObserved) and reported.lane == lane_name:
                lane.observed(reported)
            elif isinstance(reported, Overflowed) and reported.lane == lane_name:
                lane.overflowed(reported)
        return usage(self.history, lane)

    def _look(self, name: str) -> Lane:
        """The lane of that name as it is, or as it would be opened; changes nothing."""
        return self._lanes.get(name) or self._make_lane(name, self._plan_to_start_from())

    def _settle(self, made: Made) -> None:
        """Takes in what came of a summary that was ordered; one of what was taken back meanwhile is of no use."""
        order, spent = made.order, (made.input_tokens, made.output_tokens)
        told: dict[str, Any] = {"lane": order.lane, "first": order.first, "last": order.last, "model": made.model}
        told |= {"prompt": PROMPT, "input_tokens": spent[0], "output_tokens": spent[1]}
        reason = made.reason
        if made.struck:
            counts = {"struck": made.struck, "kept": made.kept}
            place = {"lane": order.lane, "first": order.first, "last": order.last}
            self.outbox.append((events.SUMMARY_CLAIMS_STRUCK, place | counts))
        if not reason and (order.lane not in self._lanes or order.last not in self.history.branch):
            reason = "what it tells of was taken back meanwhile"
        if order.lane not in self._lanes:
            return
        if reason:
            self._steer(SummaryFailed(order.lane, order.last, reason, *spent))
            self.outbox.append((events.SUMMARY_FAILED, told | {"reason": reason}))
            return
        self._steer(SummaryMade(order.lane, order.first, order.last, made.text, made.model, PROMPT, *spent))
        self.outbox.append((events.SUMMARY_READY, told))

    def _settle_usage(self) -> None:
        made = self._summaries.background.fetch() if self._summaries else None
        if made is not None:
            self._settle(made)
        reported, self._reported = self._reported, []
        for report in reported:
            if isinstance(report, tuple):
                self.outbox.append(report)
                continue
            self._steer(report)
            if isinstance(report, Overflowed):
                self.outbox.append((events.OVERFLOW, {"lane": report.lane, "tokens": report.tokens}))
