"""What can be done with a session, as operations that ask instead of calling. No I/O, no clock, no framework.

An operation is a generator: it yields questions (`ports.Ask`, `ports.Exclusive`) and a shell answers them. State
changes happen only behind `Exclusive`, by applying events; what is to be reported is left in `outbox` and emitted by
the shell after the lock.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256

from backscroll import events
from backscroll.adding import Addition, Read, additions, passing, why_not
from backscroll.budget import NO_LIMITS, Limits, provider_window, resolve_budget
from backscroll.compaction.wish import Wish
from backscroll.errors import ConfigurationError, ConflictError, StoreUnavailable
from backscroll.history import Entry
from backscroll.holding import chunks, hold, hold_group, past
from backscroll.lane import NOTHING_DUE, Lane
from backscroll.log import Event, Identified, PinChanged, PlanAt, PlanRecorded, PromptSeen, Rewound, Settled, digest_of
from backscroll.messages import Message, Redact, accept, accept_text, read_message, read_new, same_json
from backscroll.plan import hidden
from backscroll.ports import LONG, Ask, Operation
from backscroll.reporting import Compaction
from backscroll.requests import Requests
from backscroll.restoring import Kept, Match, match
from backscroll.state import outrun
from backscroll.summaries import Made, Order, Summaries, ask
from backscroll.telling import Explained, explain
from backscroll.view import Ephemeral

_MOST_EPHEMERALS = 256
_FOREVER = 1e8  # seconds; a summarizer's own time limit comes before


class Session(Requests):
    """The operations on a session."""

    redact: Redact | None = None
    """Run over each message before anything else; also over what the system prompt factory answers."""
    _unmeasured = True
    """Whether nothing was counted yet: the first count may load a vocabulary, which takes most of a second."""
    clock: Callable[[], float] | None = None
    """Seconds, by a clock that only goes forward; asked before each request."""

    # -- adding --

    def read(self, messages: Sequence[object]) -> Operation[list[Read]]:
        """Checks, copies, reads and measures messages; changes nothing."""
        accepted = [accept(message, self.redact) for message in messages]
        readings = list(map(read_new, accepted))
        heavy = self._unmeasured or any(len(part.text) > LONG for reading in readings for part in reading.parts)
        counts = yield Ask(self._measure, (readings,), heavy)
        self._unmeasured = False
        return list(zip(accepted, readings, counts, strict=True))

    def append(self, messages: Sequence[object], id: str | None = None) -> Operation[int]:
        """Adds messages in one step; the last `seq`. The same `id` again changes nothing and answers the same."""
        read = yield from self.read(messages)
        yield from self.enter(look=False)
        met = self._met
        if self._logbook is not None and why_not(read, self.history, self._theirs, outrun=False):
            yield from self._take_news(self._logbook)  # it may not hold any more
        with self._tries() as tries:
            for _ in tries:
                if id is not None and (known := (yield from self._identified(id))):
                    return (yield from self._repeated(known, [message for message, _, _ in read]))
                if reason := why_not(read, self.history, self._theirs, outrun=self._met > met):
                    raise ConflictError(f"these messages do not follow what was stored meanwhile: {reason}")
                if (yield from self._appended(read, id)):
                    return self.history.next_seq - 1
        raise outrun()

    def _appended(self, read: Sequence[Read], id: str | None) -> Operation[bool]:
        first = self.history.next_seq
        added = list(additions(read, first, self._counted_by(), self.history.joining()))
        happening: list[Event] = [addition.event for addition in added if addition.event is not None]
        if id is not None:
            digested = self.redact is not None  # an id may hold what a message must not
            name = digest_of(id) if digested else id
            happening.append(Identified(name, first, first + len(happening) - 1, digested))
        if not (yield from self._commit(happening)):
            return False
        for addition in added:
            self._add(addition)
        if id is not None:
            self.apply(happening[-1])
        if self._logbook is not None and self._logbook.due:
            self._note_standing()
        return True

    def _identified(self, id: str) -> Operation[Identified | None]:
        if (digest := digest_of(id)) in self._ids or self._logbook is None:
            return self._ids.get(digest)
        return (yield from self._logbook.identified(id))

    def _repeated(self, known: Identified, messages: list[Message]) -> Operation[int]:
        entries = yield from self.fetch(range(known.first, known.last + 1))
        stored = [entry.message for entry in entries]
        if not same_json(stored, [message for message in messages if not passing(read_message(message))]):
            name = "this id" if self.redact is not None else f"id {known.id!r}"
            raise ConflictError(f"{name} was used before, for other messages ({known.first}-{known.last})")
        return known.last

    def _add(self, addition: Addition) -> None:
        reading, message, counts, event = addition
        if event is None:
            after = self.history.branch[-1] if self.history.branch else -1
            digest = sha256(json.dumps(message).encode()).hexdigest()
            self._ephemerals.append(Ephemeral(after, self._ephemeral_number, message, reading, counts, digest))
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
        """Stores what waits for the next event, and gives a lease back."""
        if self._logbook is None or not self._logbook.gone:  # else nothing of it is to be stored, which was said
            yield from self.enter(look=False)
            yield from self._flushed()
        if self._logbook is not None:
            yield from self._logbook.release()

    # -- the branch --

    def replace(self, messages: Sequence[object], kept: Kept | None = None) -> Operation[bool]:
        """Makes the branch hold these messages: back to what both begin with, then the rest is appended. Returns
        whether that changed anything. `kept`: by what a host's own copies of messages are known.
        """
        accepted = [accept(message, self.redact) for message in messages]
        yield from self.enter()
        with self._tries() as tries:
            for _ in tries:
                branch = self.history.branch
                same, given = yield from self._in_common(accepted, kept)
                rest = accepted[given:]
                if same == len(branch) and not rest:
                    return False
                readings = list(map(read_new, rest))
                counts = yield Ask(self._measure, (readings,), heavy=True)
                back = [Rewound(branch[same - 1] if same else -1)] if same < len(branch) else []
                before = (yield from past(self.history, self._logbook, back[0].to)) if back else None
                joining, read = (before or self.history).joining(), list(zip(rest, readings, counts, strict=True))
                added = list(additions(read, self.history.next_seq, self._counted_by(), joining))
                stored = [addition.event for addition in added if addition.event is not None]
                if (yield from self._commit([*back, *stored])):
                    if before is not None:
                        self.history.rewind_to(before)
                        self._follow(back[0])
                    for addition in added:
                        self._add(addition)
                    return True
        raise outrun()

    def _in_common(self, messages: Sequence[Message], kept: Kept | None) -> Operation[Match]:
        """With how many of these the branch begins, and with how many of its own."""
        if kept is not None:
            return match(messages, (yield from self.stored()), kept)
        same = 0
        branch = self.history.branch
        for seqs in chunks(list(branch.between(0, min(len(branch), len(messages))))):
            for entry in (yield from self.fetch(seqs)):
                if not same_json(entry.message, messages[same]):
                    return Match(same, same)
                same += 1
        return Match(same, same)

    def clear(self) -> Operation[None]:
        """An empty branch; the log keeps everything, and no `seq` is used again."""
        yield from self.enter()
        yield from self._happen(Rewound(-1))
        self._ephemerals.clear()

    def pin(self, seq: int, pinned: bool) -> Operation[None]:
        """Pins or unpins the message `seq`, and with it its whole tool pair."""
        yield from self.enter()
        if seq in self.history.branch:
            yield from hold_group(self.history, self._logbook, seq)
        entry = yield from self._entry(seq)
        if entry.reading.flags.critical and not pinned:
            return  # a critical message stays protected whatever else is said of it
        yield from self._happen(PinChanged(seq, pinned))

    def _entry(self, seq: int) -> Operation[Entry]:
        """The entry `seq`. Raises `ReferenceNotFound`."""
        self._check(seq)
        (found,) = yield from self.fetch([seq])
        return found

    # -- requests --

    def request(
        self, token_budget: int | None, provider: object, lane_name: str, outside: int = 0, limits: Limits = NO_LIMITS
    ) -> Operation[list[Message]]:
        """The view to send now. Raises `BudgetError` if what must stay does not fit."""
        told = None
        if token_budget is None and provider is not None:
            told, failures = yield from provider_window(provider)
            self.outbox += [(events.PROVIDER_IGNORED, {"reason": failure}) for failure in failures]
        budget = resolve_budget(token_budget, told, self.options).tokens
        prompt = None if self.prompt is None else (yield from self._prompt())
        yield from self._look_at_clock()
        yield from self.enter()
        lane = self.lane(lane_name)
        lane.meter.outside = outside
        if self._summaries is not None:
            yield from self._waited(lane, prompt, budget)
        yield from self._fitted(lane, prompt, budget, limits=limits)
        digest = None if prompt is None else (yield from self._seen(prompt))
        self._steer(lane.hand_out(budget, self._situation(prompt), digest))
        self._asked = lane
        if self._summaries is not None:
            yield from self._begin_summary(lane, prompt, budget)
        assert lane.view is not None
        return lane.view.copies()

    def _look_at_clock(self) -> Operation[None]:
        if self.clock is not None and self._prices is not None:
            self._seconds = yield Ask(self.clock)

    def _waited(self, lane: Lane, prompt: str | None, budget: int) -> Operation[None]:
        """Waits for a summary that is being made, where one is needed now and the user allows for it."""
        summaries = self._summaries
        if summaries is None or not summaries.timeout:
            return
        now = yield from self._refreshed(lane, prompt)
        if not lane.is_due(now, budget):
            return
        yield from self._begin_summary(lane, prompt, budget)
        yield Ask(summaries.background.wait, (summaries.timeout,))
        self._settle_usage()

    def _begin_summary(self, lane: Lane, prompt: str | None, budget: int) -> Operation[None]:
        """Has a summary made, beside everything else, once the lane nears its next compaction."""
        summaries = self._summaries
        if summaries is None or summaries.background.running:
            return
        yield from self._ordered(lane, lane.order(self._situation(prompt), budget, summaries))

    def _ordered(self, lane: Lane, order: Order | None) -> Operation[None]:
        if order is not None and self._summaries is not None:
            self.outbox.append((events.SUMMARY_STARTED, {"lane": lane.name, "first": order.first, "last": order.last}))
            yield Ask(self._summaries.background.start, (self._made(order, self._summaries),))

    def _made(self, order: Order, summaries: Summaries) -> Operation[Made]:
        return ask(order, summaries.summarizer, lambda text: self._count(text).tokens, summaries.blocking, self.redact)

    def _seen(self, prompt: str) -> Operation[str]:
        """Has the text of a system prompt stored, once; answers its digest."""
        digest = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
        if digest not in self._prompts:
            logbook = self._logbook
            known = None if logbook is None else (yield from logbook.prompt(digest))
            if known is None:
                self._steer(PromptSeen(digest, prompt))
            self._prompts.add(digest)
        return digest

    def _fitted(
        self,
        lane: Lane,
        prompt: str | None,
        budget: int,
        *,
        force: bool = False,
        wish: Wish | None = None,
        limits: Limits = NO_LIMITS,
    ) -> Operation[bool]:
        """Has the lane decide, stores its new plan and takes it in; whether there was one."""
        with self._tries() as tries:
            for _ in tries:
                now = (yield from self._refreshed(lane, prompt))._replace(limits=limits)
                for seq in sorted(hidden(lane.plan, limits.retain)):
                    yield from hold_group(self.history, self._logbook, seq)
                work = lane.due(now, budget, force) if wish is None else partial(lane.leave_out, now, wish)
                fitted = NOTHING_DUE if work is None else (yield Ask(work, heavy=True, tolerant=True))
                if isinstance(fitted, Exception):
                    raise fitted
                event = fitted.event
                if isinstance(event, PlanRecorded) and not (yield from self._recorded(event)):
                    continue  # another writer's plan, or messages, came first: look again
                if work is not None:
                    lane.take(fitted)
                if isinstance(event, Settled):
                    self._steer(event)
                elif event is not None:
                    self.apply(event)
                    self._forget_expired()
                    self._note_standing()
                self.outbox += fitted.reports
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
        text = accept_text(str(text), "system", self.redact) if text else text
        if text and text != self._included:
            self._included = text
            self.outbox.append((events.INCLUDE, {"source": "system_prompt_factory", "content": str(text)}))
        return str(text) if text else None

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

    def leave_out(self, lane_name: str, wish: Wish) -> Operation[Compaction | None]:
        """Leaves out of the lane's view what somebody asks for. None where there is nothing of that."""
        prompt = yield from self._prompt()
        yield from self.enter()
        lane = self.lane(lane_name)
        return lane.last_compaction if (yield from self._fitted(lane, prompt, lane.budget, wish=wish)) else None

    @property
    def summarises(self) -> bool:
        """Whether there is a summarizer."""
        return self._summaries is not None

    def begin_summary(self, lane_name: str, focus: str | None, wish: Wish | None = None) -> Operation[bool]:
        """Has a summary made for what will be compacted next, if it is worth one; False while another is being made.

        `focus`: what matters most. Raises `ConfigurationError` without a summarizer.
        """
        summaries = self._summaries
        if summaries is None:
            raise ConfigurationError("focus tells a summarizer what to keep, and there is none: give summarizer=")
        focus = None if focus is None else accept_text(focus, "user", self.redact)
        prompt = yield from self._prompt()
        yield from self.enter()
        if summaries.background.running:
            return False
        lane = self.lane(lane_name)
        now = yield from self._refreshed(lane, prompt)
        yield from self._ordered(lane, lane.order(now, lane.budget, summaries, focus, wish))
        return True

    def summary_made(self) -> Operation[None]:
        """Waits until no summary is being made; without the lock, so that requests go on meanwhile."""
        if self._summaries is not None:
            yield Ask(self._summaries.background.wait, (_FOREVER,))

    def is_due(self, lane_name: str) -> Operation[bool]:
        """Whether a request now would start a compaction, within the budget of the one before."""
        prompt = yield from self._prompt()
        yield from self._look_at_clock()
        yield from self.enter()
        lane = self.lane(lane_name)
        now = yield from self._refreshed(lane, prompt)
        return lane.is_due(now, lane.budget)

    def undo_compaction(self, lane_name: str) -> Operation[bool]:
        """Brings back the plan before the newest compaction of the lane; False where there is none."""
        prompt = yield from self._prompt()
        yield from self.enter()
        lane = self.lane(lane_name)
        with self._tries() as tries:
            for _ in tries:
                earlier = lane.earlier
                if earlier is None:
                    return False
                if isinstance(earlier, PlanAt):
                    assert self._logbook is not None
                    earlier = yield from self._logbook.plan(lane_name, earlier)
                now = self._situation(prompt)
                missing = self.history.missing(seq for seq, _ in self.history.outside(earlier.gaps()))
                yield from hold(self.history, self._logbook, missing)
                event = lane.undo(now, lane.budget, earlier)
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
        lane, told = self._look(lane_name), list[Explained]()
        yield from hold(self.history, self._logbook, lane.missing(self._situation(None)))
        for seqs in chunks(list(self.history.branch.between(0, len(self.history.branch)))):
            told += explain(self.history, lane, (yield from self.fetch(seqs)))
        return told
