"""What can be done with a session, as operations that ask instead of calling. No I/O, no clock, no framework.

An operation is a generator: it yields questions (`ports.Ask`, `ports.Exclusive`) and a shell answers them. State
changes happen only behind `Exclusive`, by applying events; what is to be reported is left in `outbox` and emitted by
the shell after the lock.
"""

from collections.abc import Sequence

from backscroll import events
from backscroll.adding import Addition, Read, additions, passing, why_not
from backscroll.budget import provider_window, resolve_budget
from backscroll.errors import ConflictError, ReferenceNotFound, StoreUnavailable
from backscroll.history import (
    Entry,
    Event,
    Identified,
    PinChanged,
    PlanRecorded,
    Rewound,
    Settled,
)
from backscroll.lane import Compaction, Lane, Situation
from backscroll.messages import Message, accept, copy_message, read_message
from backscroll.ports import Ask, Operation
from backscroll.state import TRIES, SessionState, outrun
from backscroll.telling import Explained, explain
from backscroll.view import Ephemeral

_MOST_EPHEMERALS = 256
_LONG = 64 * 1024  # characters from which counting is worth a thread: engines release the interpreter's lock


class Session(SessionState):
    """The operations on a session."""

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
        yield from self.enter(look=False)
        for attempt in range(TRIES):
            if id is not None and id in self._ids:
                return self._repeated(self._ids[id], [message for message, _, _ in read])
            if attempt and read and (reason := why_not(read, self.history)):
                raise ConflictError(f"these messages do not follow what was stored meanwhile: {reason}")
            first = self.history.next_seq
            added = list(additions(read, first, self._counted_by()))
            happening: list[Event] = [addition.event for addition in added if addition.event is not None]
            if id is not None:
                happening.append(Identified(id, first, first + len(happening) - 1))
            if (yield from self._commit(happening)):
                for addition in added:
                    self._add(addition)
                if id is not None:
                    self.apply(happening[-1])
                return self.history.next_seq - 1
        raise outrun()

    def _repeated(self, known: Identified, messages: list[Message]) -> int:
        stored = [entry.message for seq in range(known.first, known.last + 1) if (entry := self.history.get(seq))]
        if stored != [message for message in messages if not passing(read_message(message))]:
            raise ConflictError(f"id {known.id!r} was used before, for other messages ({known.first}-{known.last})")
        return known.last

    def _add(self, addition: Addition) -> None:
        reading, message, counts, event = addition
        if event is None:
            after = self.history.branch[-1].seq if self.history.branch else -1
            self._ephemerals.append(Ephemeral(after, self._ephemeral_number, message, reading, counts))
            self._ephemeral_number += 1
            del self._ephemerals[:-_MOST_EPHEMERALS]
            return
        if reading.flags.ephemeral:  # half of a tool pair cannot be forgotten without breaking the other half
            self.outbox.append((events.EPHEMERAL_KEPT, {"seq": event.seq}))
        entry = self.history.append(event, reading)
        self._follow(event)
        if reading.results and entry.group.orphans and entry.seq in entry.group.orphans:
            self.outbox.append((events.ORPHAN_RESULT, {"seq": entry.seq, "ids": [name for name, _ in reading.results]}))
        if self.listened_to:
            length = sum([len(part.text) for part in reading.parts])
            added = {"role": reading.role, "content_length": length, "total_messages": len(self.history.branch)}
            self.outbox.append((events.MESSAGE_ADDED, added))

    def flush(self) -> Operation[None]:
        """Stores what waits for the next event."""
        yield from self.enter(look=False)
        for _ in range(TRIES):
            if (yield from self._commit([])):
                return
        raise outrun()

    # -- the branch --

    def messages(self) -> Operation[list[Message]]:
        """Copies of everything stored on the branch."""
        yield from self.enter()
        return [copy_message(entry.message) for entry in self.history.branch]

    def replace(self, messages: Sequence[object]) -> Operation[None]:
        """Makes the branch hold these messages: back to the common prefix, then the rest is appended."""
        accepted = [accept(message) for message in messages]
        yield from self.enter()
        for _ in range(TRIES):
            branch, same = self.history.branch, 0
            while same < min(len(branch), len(accepted)) and branch[same].message == accepted[same]:
                same += 1
            rest = accepted[same:]
            readings = [read_message(message) for message in rest]
            counts = yield Ask(self._measure, (readings,))
            added = list(
                additions(list(zip(rest, readings, counts, strict=True)), self.history.next_seq, self._counted_by())
            )
            back = [Rewound(branch[same - 1].seq if same else -1)] if same < len(branch) else []
            stored = [addition.event for addition in added if addition.event is not None]
            if (yield from self._commit([*back, *stored])):
                for event in back:
                    self.apply(event)
                for addition in added:
                    self._add(addition)
                return
        raise outrun()

    def clear(self) -> Operation[None]:
        """An empty branch; the log keeps everything, and no `seq` is used again."""
        yield from self.enter()
        yield from self._happen(Rewound(-1))
        self._ephemerals.clear()

    def pin(self, seq: int, pinned: bool) -> Operation[None]:
        """Pins or unpins the message `seq`, and with it its whole tool pair."""
        yield from self.enter()
        entry = self.entry(seq)
        if entry.reading.flags.critical and not pinned:
            return  # a critical message stays protected whatever else is said of it
        yield from self._happen(PinChanged(seq, pinned))

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
        yield from self.enter()
        lane = self.lane(lane_name)
        yield from self._fitted(lane, prompt, budget)
        assert lane.view is not None
        lane.handed_out(budget, self._ephemerals)
        self._asked = lane
        return lane.view.copies()

    def _fitted(self, lane: Lane, prompt: str | None, budget: int, force: bool = False) -> Operation[bool]:
        """Has the lane decide, stores its new plan and takes it in; whether there was one."""
        for _ in range(TRIES):
            now = self._situation(prompt)
            self.outbox += lane.refresh(now)
            event, reports = lane.fit(now, budget, force)
            if isinstance(event, Settled):
                self._steer(event)
            elif event is not None and not (yield from self._recorded(event)):
                continue  # another writer's plan, or messages, came first: look again
            elif event is not None:
                self.apply(event)
                self._forget_expired()
            self.outbox += reports
            return isinstance(event, PlanRecorded)
        raise outrun()

    def _recorded(self, event: PlanRecorded) -> Operation[bool]:
        """Stores a plan. A store that fails must not stop a request: the plan waits for better times, with a report."""
        try:
            return (yield from self._commit([event]))
        except StoreUnavailable as error:
            assert self._logbook is not None
            self._logbook.later(event)
            self.outbox.append((events.STORE_UNAVAILABLE, {"lane": event.lane, "error": str(error)[:200]}))
            return True

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
        yield from self.enter()
        lane = self.lane(lane_name)
        return lane.last_compaction if (yield from self._fitted(lane, prompt, lane.budget, force=True)) else None

    def is_due(self, lane_name: str) -> Operation[bool]:
        """Whether a request now would start a compaction, within the budget of the one before."""
        prompt = yield from self._prompt()
        yield from self.enter()
        lane = self.lane(lane_name)
        now = self._situation(prompt)
        self.outbox += lane.refresh(now)
        return lane.is_due(now, lane.budget)

    def undo_compaction(self, lane_name: str) -> Operation[bool]:
        """Brings back the plan before the newest compaction of the lane; False where there is none."""
        prompt = yield from self._prompt()
        yield from self.enter()
        lane = self.lane(lane_name)
        for _ in range(TRIES):
            event = lane.undo(self._situation(prompt), lane.budget)
            if event is None:
                return False
            if (yield from self._commit([event])):
                break
        else:
            raise outrun()
        self.apply(event)
        self.outbox.append((events.PLAN_CHANGED, {"lane": lane_name, "undone": event.plan.number - 1}))
        return True

    def explain(self, lane_name: str) -> Operation[list[Explained]]:
        """What became of each message in the lane's newest view."""
        yield from self.enter()
        return explain(self.history, self._look(lane_name))
