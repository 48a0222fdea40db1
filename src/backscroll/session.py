"""What can be done with a session, as operations that ask instead of calling. No I/O, no clock, no framework.

An operation is a generator: it yields questions (`ports.Ask`, `ports.Exclusive`) and a shell answers them. State
changes happen only behind `Exclusive`, by applying events; what is to be reported is left in `outbox` and emitted by
the shell after the lock.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from backscroll import events
from backscroll.budget import Options, provider_window, resolve_budget
from backscroll.compaction.batch import Prices
from backscroll.compaction.window import Strategy
from backscroll.errors import ConflictError, ReferenceNotFound
from backscroll.families import Family
from backscroll.history import (
    Entry,
    Event,
    History,
    Identified,
    LaneOpened,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanRecorded,
    Rewound,
    Settled,
    UsageObserved,
)
from backscroll.lane import Compaction, Lane, Situation
from backscroll.messages import Message, Reading, accept, copy_message, read_message
from backscroll.plan import Plan
from backscroll.ports import Ask, Exclusive, Operation
from backscroll.ports import Event as Report
from backscroll.telling import Explained, explain, usage
from backscroll.usage import Count, Counts, Usage
from backscroll.view import Ephemeral, Surroundings

Measure = Callable[[Sequence[Reading]], tuple[Counts, ...]]
Read = tuple[Message, Reading, Counts]
PAGE_TOKENS = 4_000
NOTHING_SENT = "no view was handed out on this lane yet"
_MOST_EPHEMERALS = 256
_LONG = 64 * 1024  # characters from which counting is worth a thread: engines release the interpreter's lock


class Session:
    """History, lanes and the operations on them."""

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
    ) -> None:
        self.history = History()
        self.options = options
        self.events: list[Event] = []
        self.outbox: deque[Report] = deque()
        self.prompt: Callable[[], Any] | None = None
        self.listened_to = False
        """Whether anybody hears events; the one that comes with every message is spared otherwise."""
        self._strategies = tuple(strategies)
        self._prices = prices
        self._measure = measure
        self._count = count
        self._counted_by = counted_by
        self._family = family
        self._lanes: dict[str, Lane] = {}
        self._newest_lane: str | None = None
        self._asked: Lane | None = None
        """The lane whose view was handed out last."""
        self._included: Any = None
        """The system prompt that was reported last: it is asked for at every request, and hardly ever changes."""
        self._ephemerals: list[Ephemeral] = []
        self._ephemeral_number = 0
        self._ids: dict[str, Identified] = {}
        self._reported: list[UsageObserved | Overflowed | dict[str, Any]] = []

    # -- events --

    def apply(self, event: Event) -> None:
        """Takes in one event that happened, here or elsewhere. The only way in which a session changes."""
        self.history.apply(event)
        self._follow(event)

    def _follow(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case LaneOpened():
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
            case Identified():
                self._ids[event.id] = event
            case MessageAdded() | Rewound() | PinChanged():
                self._follow_in_lanes(event)

    def _follow_in_lanes(self, event: MessageAdded | Rewound | PinChanged) -> None:
        """What changes the branch may bring back what a lane's plan left out."""
        joined = None
        if isinstance(event, MessageAdded):
            joined = self.history.branch[-1].group
            if joined.first == event.seq:
                return  # a message that answers nothing: by far the most
        if isinstance(event, Rewound):
            self._ephemerals = [found for found in self._ephemerals if found.after <= event.to]
        for lane in self._lanes.values():
            if isinstance(event, Rewound):
                lane.rewound(event.to)
            self.outbox += lane.readmit(joined) if joined is not None else lane.restore(self.history)

    def _make_lane(self, name: str, plan: Plan) -> Lane:
        return Lane(name, Surroundings(self._family(name), self._count), self.options, plan)

    def lane(self, name: str) -> Lane:
        """The lane of that name; opened from the newest plan if there is none yet."""
        if name not in self._lanes:
            self.apply(LaneOpened(name, self._plan_to_start_from()))
        return self._lanes[name]

    def _plan_to_start_from(self) -> Plan:
        return Plan() if self._newest_lane is None else self._lanes[self._newest_lane].plan

    # -- adding --

    def read(self, messages: Sequence[object]) -> Operation[list[Read]]:
        """Checks, copies, reads and measures messages; changes nothing."""
        accepted = [accept(message) for message in messages]
        readings = [read_message(message) for message in accepted]
        heavy = any(len(part.text) > _LONG for reading in readings for part in reading.parts)
        counts = yield Ask(self._measure, (readings,), heavy)
        return list(zip(accepted, readings, counts, strict=True))

    def append(self, messages: Sequence[object], id: str | None = None) -> Operation[int]:
        """Adds messages in one step; the last `seq`. The same `id` again changes nothing and answers the same."""
        read = yield from self.read(messages)
        yield Exclusive()
        if id is not None and id in self._ids:
            return self._repeated(self._ids[id], [message for message, _, _ in read])
        first = self.history.next_seq
        self._settle_usage()
        for message, reading, counts in read:
            self._add(message, reading, counts)
        last = self.history.next_seq - 1
        if id is not None:
            self.apply(Identified(id, first, last))
        return last

    def _repeated(self, known: Identified, messages: list[Message]) -> int:
        stored = [entry.message for seq in range(known.first, known.last + 1) if (entry := self.history.get(seq))]
        if stored != [message for message in messages if not _passing(read_message(message))]:
            raise ConflictError(f"id {known.id!r} was used before, for other messages ({known.first}-{known.last})")
        return known.last

    def _add(self, message: Message, reading: Reading, counts: Counts) -> None:
        if reading.flags.ephemeral:
            if _passing(reading):
                after = self.history.branch[-1].seq if self.history.branch else -1
                self._ephemerals.append(Ephemeral(after, self._ephemeral_number, message, reading, counts))
                self._ephemeral_number += 1
                del self._ephemerals[:-_MOST_EPHEMERALS]
                return
            # half of a tool pair cannot be forgotten without breaking the other half
            self.outbox.append((events.EPHEMERAL_KEPT, {"seq": self.history.next_seq}))
        event = MessageAdded(self.history.next_seq, message, counts, self._counted_by())
        entry = self.history.append(event, reading)
        self._follow(event)
        if reading.results and entry.group.orphans and entry.seq in entry.group.orphans:
            self.outbox.append((events.ORPHAN_RESULT, {"seq": entry.seq, "ids": [name for name, _ in reading.results]}))
        if self.listened_to:
            length = sum([len(part.text) for part in reading.parts])
            added = {"role": reading.role, "content_length": length, "total_messages": len(self.history.branch)}
            self.outbox.append((events.MESSAGE_ADDED, added))

    # -- the branch --

    def messages(self) -> Operation[list[Message]]:
        """Copies of everything stored on the branch."""
        yield Exclusive()
        return [copy_message(entry.message) for entry in self.history.branch]

    def replace(self, messages: Sequence[object]) -> Operation[None]:
        """Makes the branch hold these messages: back to the common prefix, then the rest is appended."""
        accepted = [accept(message) for message in messages]
        yield Exclusive()
        self._settle_usage()
        branch, same = self.history.branch, 0
        while same < min(len(branch), len(accepted)) and branch[same].message == accepted[same]:
            same += 1
        rest = accepted[same:]
        readings = [read_message(message) for message in rest]
        counts = yield Ask(self._measure, (readings,))
        if same < len(branch):
            self.apply(Rewound(branch[same - 1].seq if same else -1))
        for message, reading, counted in zip(rest, readings, counts, strict=True):
            self._add(message, reading, counted)

    def clear(self) -> Operation[None]:
        """An empty branch; the log keeps everything, and no `seq` is used again."""
        yield Exclusive()
        self._settle_usage()
        self._ephemerals.clear()
        self.apply(Rewound(-1))

    def pin(self, seq: int, pinned: bool) -> Operation[None]:
        """Pins or unpins the message `seq`, and with it its whole tool pair."""
        yield Exclusive()
        self._settle_usage()
        entry = self.entry(seq)
        if entry.reading.flags.critical and not pinned:
            return  # a critical message stays protected whatever else is said of it
        self.apply(PinChanged(seq, pinned))

    def entry(self, seq: int) -> Entry:
        """The entry `seq`. Raises `ReferenceNotFound`."""
        found = self.history.get(seq) if type(seq) is int else None
        if found is None:
            last = self.history.next_seq - 1
            raise ReferenceNotFound(f"no message {seq!r} in this session; its messages are 0 to {last}")
        return found

    # -- requests --

    def request(self, token_budget: int | None, provider: object, lane_name: str) -> Operation[list[Message]]:
        """The view to send now. Raises `BudgetError` if what must stay does not fit."""
        told = None
        if token_budget is None and provider is not None:
            told, failures = yield from provider_window(provider)
            self.outbox += [(events.PROVIDER_IGNORED, {"reason": failure}) for failure in failures]
        budget = resolve_budget(token_budget, told, self.options).tokens
        prompt = yield from self._prompt()
        yield Exclusive()
        self._settle_usage()
        lane = self.lane(lane_name)
        now = self._situation(prompt)
        self.outbox += lane.refresh(now)
        event, reports = lane.fit(now, budget)
        self.outbox += reports
        if event is not None:
            self.apply(event)
            self._forget_expired()
        assert lane.view is not None
        lane.handed_out(budget, self._ephemerals)
        self._asked = lane
        return lane.view.copies()

    def _prompt(self) -> Operation[str | None]:
        if self.prompt is None:
            return None
        text = yield Ask(self.prompt)
        if text and text != self._included:
            self._included = text
            self.outbox.append((events.INCLUDE, {"source": "system_prompt_factory", "content": str(text)}))
        return str(text) if text else None

    def _situation(self, prompt: str | None) -> Situation:
        return Situation(self.history, self.options, self._strategies, self._ephemerals, prompt, self._prices)

    def _forget_expired(self) -> None:
        oldest = min(lane.expired for lane in self._lanes.values())
        if self._ephemerals and self._ephemerals[0].number < oldest:
            self._ephemerals = [found for found in self._ephemerals if found.number >= oldest]

    def compact(self, lane_name: str) -> Operation[Compaction | None]:
        """Compacts now, down to the target. None where nothing could be won."""
        prompt = yield from self._prompt()
        yield Exclusive()
        self._settle_usage()
        lane = self.lane(lane_name)
        now = self._situation(prompt)
        self.outbox += lane.refresh(now)
        event, reports = lane.fit(now, lane.budget, force=True)
        self.outbox += reports
        if event is None:
            return None
        self.apply(event)
        self._forget_expired()
        return lane.last_compaction

    def is_due(self, lane_name: str) -> Operation[bool]:
        """Whether a request now would start a compaction, within the budget of the one before."""
        prompt = yield from self._prompt()
        yield Exclusive()
        self._settle_usage()
        lane = self.lane(lane_name)
        now = self._situation(prompt)
        self.outbox += lane.refresh(now)
        return lane.is_due(now, lane.budget)

    def undo_compaction(self, lane_name: str) -> Operation[bool]:
        """Brings back the plan before the newest compaction of the lane; False where there is none."""
        prompt = yield from self._prompt()
        yield Exclusive()
        self._settle_usage()
        lane = self.lane(lane_name)
        event = lane.undo(self._situation(prompt), lane.budget)
        if event is None:
            return False
        self.apply(event)
        self.outbox.append((events.PLAN_CHANGED, {"lane": lane_name, "undone": event.plan.number - 1}))
        return True

    # -- usage --

    def observe(self, lane_name: str, prompt: Sequence[int], answer: int) -> None:
        """Keeps a provider's report on the lane's newest view until the next operation takes it in."""
        lane = self._lanes.get(lane_name)
        given = (*prompt, answer)
        sound = all(type(tokens) is int and tokens >= 0 for tokens in given)
        report = lane.report(sum(prompt), answer) if lane is not None and sound else None
        if lane is not None and report is not None and lane.meter.plausible(report, lane.budget):
            self._reported.append(UsageObserved(lane_name, report))
        else:
            why = NOTHING_SENT if sound and report is None else "it cannot be about that view"
            self._reported.append({"lane": lane_name, "reported": repr(given), "reason": why})

    def overflowed(self, lane_name: str) -> None:
        """Keeps that a provider refused the lane's newest view as too long until the next operation takes it in."""
        lane = self._lanes.get(lane_name)
        found = lane.overflow() if lane is not None else None
        self._reported.append(found or {"lane": lane_name, "reported": "overflow", "reason": NOTHING_SENT})

    def sent(self, lane_name: str) -> int | None:
        """The middle estimate, in tokens, of the request that was handed out last on a lane."""
        lane = self._lanes.get(lane_name)
        return None if lane is None or lane.sent is None else lane.meter.total(lane.sent, lane.budget).middle

    def in_view(self) -> Iterator[str]:
        """The texts of the view handed out last; none before the first request."""
        view = self._asked.view if self._asked else None
        for message in view.flat if view else ():
            yield from [part.text for part in read_message(message).parts]

    def page_tokens(self) -> int:
        """Tokens of one page of recalled text: what fits into a quarter of the budget, at most 4,000."""
        budgets = [lane.budget for lane in self._lanes.values()] or [self.options.max_tokens]
        return max(1, min(PAGE_TOKENS, min(budgets) // 4))

    def explain(self, lane_name: str) -> Operation[list[Explained]]:
        """What became of each message in the lane's newest view."""
        yield Exclusive()
        return explain(self.history, self._look(lane_name))

    def usage(self, lane_name: str) -> Usage:
        """What is in the lane's window."""
        return usage(self.history, self._look(lane_name))

    def _look(self, name: str) -> Lane:
        """The lane of that name as it is, or as it would be opened; changes nothing."""
        return self._lanes.get(name) or self._make_lane(name, self._plan_to_start_from())

    def _settle_usage(self) -> None:
        reported, self._reported = self._reported, []
        for report in reported:
            if isinstance(report, dict):
                self.outbox.append((events.USAGE_IGNORED, report))
                continue
            self.apply(report)
            if isinstance(report, Overflowed):
                self.outbox.append((events.OVERFLOW, {"lane": report.lane, "tokens": report.tokens}))


def _passing(reading: Reading) -> bool:
    """Whether a message is shown and never stored; half of a tool pair has to be stored whatever it says of itself."""
    return reading.flags.ephemeral and not reading.calls and not reading.results
