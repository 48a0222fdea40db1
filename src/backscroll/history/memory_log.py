"""Keep the log of a session without a store.

New events are kept as they are, which costs a step nothing. A compaction packs those whose messages were evicted.
Positions are those of the events alone: checkpoints are kept apart.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from typing import NamedTuple

from backscroll.history.codec import Codec, kind_of
from backscroll.history.log import (
    Checkpoint,
    LogEvent,
    MessageAdded,
    PlanAt,
    Rewound,
    SystemPromptRecorded,
)
from backscroll.history.memory_plans import MemoryPlans
from backscroll.history.packing import Placed, PlanEvent, pack, unpack, visible
from backscroll.history.plan import Plan
from backscroll.ports import Ask, Operation

_CHECKPOINT_EVERY = 1_000  # events: the past is read from the checkpoint before it
_APART = frozenset(("message", "plan", "lane"))
"""Kinds of events that are large, and kept apart from the others."""


class _Chunk(NamedTuple):
    """Packed events, by position."""

    start: int
    stop: int
    last_seq: int
    """The newest message up to its end; -1 without one."""
    messages: bytes
    others: bytes
    """Its other events, except those with plans."""


class MemoryLog:
    """The events of one session, by position. Iterating yields all of them, in order."""

    session = ""
    together = 64
    """Events packed at once: fewer compress less, and more take longer to read one of them."""

    def __init__(self) -> None:
        self._recent: list[LogEvent] = []
        """Events from `_start` on, as they are."""
        self.append: Callable[[LogEvent], None] = self._recent.append
        """Add an event that happened: nothing else, because every step does this."""
        self.clear()

    def clear(self) -> None:
        """Forget all events: the session was deleted."""
        self._recent.clear()
        self._start = 0
        self._chunks: list[_Chunk] = []
        self._plans = MemoryPlans()
        self._prompts: dict[str, int] = {}
        """Positions of packed system prompts, by digest."""
        self._checkpoints: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return self._start + len(self._recent)

    def __iter__(self) -> Iterator[LogEvent]:
        return (event for _, event in self._between(0, len(self)))

    # -- writing --

    def pack(self, evicted_to: int) -> Operation[None]:
        """Pack the events up to the message with this `seq`, which is the newest that was evicted."""
        old = 0
        for number, event in enumerate(self._recent, 1):
            if isinstance(event, MessageAdded):
                if event.seq > evicted_to:
                    break
                old = number
        starts = range(0, old - self.together + 1, self.together)
        groups = [list(enumerate(self._recent[at : at + self.together], self._start + at)) for at in starts]
        if groups:
            bodies: list[tuple[bytes, bytes]] = yield Ask(_bodies, (groups,), heavy=True)
            for events, (messages, others) in zip(groups, bodies, strict=True):
                self._add(events, messages, others)
            done = len(groups) * self.together
            del self._recent[:done]
            self._start += done

    def _add(self, events: Sequence[Placed], messages: bytes, others: bytes) -> None:
        last = self._chunks[-1].last_seq if self._chunks else -1
        for at, event in events:
            if isinstance(event, MessageAdded):
                last = event.seq
            elif isinstance(event, PlanEvent):
                self._plans.add(at, event)
            elif isinstance(event, SystemPromptRecorded):
                self._prompts[event.digest] = at
        self._chunks.append(
            _Chunk(start=events[0][0], stop=events[-1][0] + 1, last_seq=last, messages=messages, others=others)
        )

    @property
    def due(self) -> bool:
        """True if it is time for a checkpoint."""
        return len(self) - (self._checkpoints[-1][0] if self._checkpoints else 0) >= _CHECKPOINT_EVERY

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep the state behind the newest event, from which later ones are read."""
        lanes = tuple([replace(lane, plan=self._placed(lane.plan), before=()) for lane in checkpoint.lanes])
        self._checkpoints.append((len(self), pack([(0, replace(checkpoint, lanes=lanes))])))

    def _placed(self, plan: Plan | PlanAt) -> Plan | PlanAt:
        """Return the position of a plan, if its event is not packed yet, else what views need of it."""
        for at, event in enumerate(self._recent, self._start):
            if isinstance(event, PlanEvent) and event.plan is plan:
                return PlanAt(at)
        return plan if isinstance(plan, PlanAt) else visible(plan)

    # -- reading --

    def reader(self) -> "MemoryLog":
        """Return a reader of the same log for a replica, which stores nothing."""
        return self

    def load(self, seqs: Sequence[int]) -> Operation[list[MessageAdded]]:
        """Load these messages, in order; `seqs` ascend."""
        found: list[MessageAdded] = yield Ask(self._load, (seqs,), heavy=True)
        return found

    def place_behind(self, seq: int) -> Operation[int]:
        """Return the position after a message's event; 0 for -1."""
        if seq < 0:
            return 0
        places: dict[int, int] = yield Ask(self._places, (seq,))
        return places[seq] + 1

    def place_before_next(self, seq: int) -> Operation[int]:
        """Return the position of the first message after this one, or of a rewind before that, or the log's end."""
        place = yield from self.place_behind(seq)
        following = (at for at, event in self._between(place, len(self)) if isinstance(event, MessageAdded | Rewound))
        return next(following, len(self))

    def place_at_end(self) -> Operation[int]:
        """Return the position after the newest event."""
        return len(self)
        yield  # a generator, as every operation is

    def checkpoint_at(self, place: int) -> Operation[tuple[Checkpoint | None, list[LogEvent]]]:
        """Load the state at a position: the newest checkpoint before it, and the events behind that."""
        found: tuple[Checkpoint | None, list[LogEvent]] = yield Ask(self._checkpoint_at, (place,), heavy=True)
        return found

    def prompt(self, digest: str) -> Operation[str | None]:
        """Return the text of a system prompt."""
        at = self._prompts.get(digest)
        place, end = (self._start, len(self)) if at is None else (at, at + 1)
        found: list[Placed] = yield Ask(partial(list, self._others_between(place, end)))
        texts = (event.text for _, event in found if isinstance(event, SystemPromptRecorded) and event.digest == digest)
        return next(texts, None)

    def events_of(self, kinds: Collection[str], start: int, stop: int | None) -> Operation[list[tuple[int, LogEvent]]]:
        """Load the events of some kinds from `start` up to but excluding `stop`, with positions."""
        found: list[tuple[int, LogEvent]] = yield Ask(self._events_of, (kinds, start, stop), heavy=True)
        return found

    def page_from(self, place: int, most: int, codec: Codec) -> Operation[list[tuple[int, LogEvent]]]:  # noqa: ARG002  a journal needs the codec
        """Load the next `most` events from a position on, with positions."""
        found: list[tuple[int, LogEvent]] = yield Ask(partial(list, self._between(place, place + most)), heavy=True)
        return found

    def codec(self) -> Codec:
        """Return a codec, which nothing here needs."""
        return Codec(looking=True)

    def at(self, place: int) -> AbstractContextManager[None]:  # noqa: ARG002  a journal names the position
        """Wrap reading and applying an event: it happened in this process, so nothing can be wrong with it."""
        return nullcontext()

    # -- called outside --

    def _load(self, seqs: Sequence[int]) -> list[MessageAdded]:
        found: dict[int, MessageAdded] = {}
        for seq in seqs:
            if seq not in found:
                found.update((event.seq, event) for _, event in self._messages_with(seq))
        return [found[seq] for seq in seqs]

    def _places(self, seq: int) -> dict[int, int]:
        """Return the positions of a message and of those near it."""
        return {event.seq: at for at, event in self._messages_with(seq)}

    def _messages_with(self, seq: int) -> Iterator[tuple[int, MessageAdded]]:
        """Yield the messages of the chunk that holds this one, or all that are not packed."""
        number = bisect_left(self._chunks, seq, key=lambda chunk: chunk.last_seq)
        near = (
            unpack(self._chunks[number].messages)
            if number < len(self._chunks)
            else enumerate(self._recent, self._start)
        )
        return ((at, event) for at, event in near if isinstance(event, MessageAdded))

    def _between(self, start: int, stop: int) -> Iterator[Placed]:
        """Yield the events at these positions."""
        for chunk in self._chunks_between(start, stop):
            found = dict([*unpack(chunk.messages), *unpack(chunk.others)])
            for at in range(max(start, chunk.start), min(stop, chunk.stop)):
                yield at, found.get(at) or self._plans.event(at)
        yield from self._recent_between(start, stop)

    def _others_between(self, start: int, stop: int) -> Iterator[Placed]:
        """Yield the events at these positions that neither add messages nor hold plans."""
        for chunk in self._chunks_between(start, stop):
            yield from ((at, event) for at, event in unpack(chunk.others) if start <= at < stop)
        for at, event in self._recent_between(start, stop):
            if not isinstance(event, MessageAdded | PlanEvent):
                yield at, event

    def _chunks_between(self, start: int, stop: int) -> Iterator[_Chunk]:
        first = bisect_right(self._chunks, start, key=lambda chunk: chunk.stop)
        return takewhile(lambda chunk: chunk.start < stop, islice(self._chunks, first, None))

    def _recent_between(self, start: int, stop: int) -> Iterator[Placed]:
        first = max(0, start - self._start)
        return enumerate(self._recent[first : max(0, stop - self._start)], self._start + first)

    def _events_of(self, kinds: Collection[str], start: int, stop: int | None) -> list[Placed]:
        place, end = max(0, start), len(self) if stop is None else stop
        apart = _APART.isdisjoint(kinds)
        found = self._others_between(place, end) if apart else self._between(place, end)
        return [(at, event) for at, event in found if kind_of(event) in kinds]

    def _checkpoint_at(self, place: int) -> tuple[Checkpoint | None, list[LogEvent]]:
        number = bisect_right(self._checkpoints, place, key=lambda saved: saved[0]) - 1
        start, checkpoint = (0, None) if number < 0 else self._saved(*self._checkpoints[number])
        return checkpoint, [event for _, event in self._between(start, place)]

    def _saved(self, place: int, packed: bytes) -> tuple[int, Checkpoint]:
        """Return a checkpoint with its plans."""
        ((_, found),) = unpack(packed)
        assert isinstance(found, Checkpoint)
        lanes = tuple([replace(lane, plan=self._plan(lane.plan)) for lane in found.lanes])
        return place, replace(found, lanes=lanes)

    def _plan(self, at: Plan | PlanAt) -> Plan:
        """Return the plan for which `_placed` returned this."""
        if isinstance(at, Plan):
            return at
        ((_, event),) = self._between(at.place, at.place + 1)
        assert isinstance(event, PlanEvent)
        return event.plan


def _bodies(groups: Sequence[Sequence[Placed]]) -> list[tuple[bytes, bytes]]:
    """Return the messages of each group as bytes, and its other events except those with plans."""
    return [
        (
            pack([each for each in events if isinstance(each[1], MessageAdded)]),
            pack([each for each in events if not isinstance(each[1], MessageAdded | PlanEvent)]),
        )
        for events in groups
    ]
