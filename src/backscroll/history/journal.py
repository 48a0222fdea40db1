"""The session's journal: persisted events, other writers' events, and buffered events.

An event is written ahead: what could not be stored did not happen. Events that only steer (a lane was opened, usage was
observed, a compaction was skipped) apply at once and are stored with the next commit. Checkpoints hold the session's
state now and then, so that resuming starts at the newest one. This class yields effects; the driver calls the store.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from backscroll.errors import BackscrollError, ConflictError, CorruptionError
from backscroll.history.codec import Codec, id_key, prompt_key
from backscroll.history.log import (
    Checkpoint,
    IdempotencyKeyUsed,
    LogEvent,
    MessageAdded,
    PlanAt,
    SystemPromptRecorded,
    digest_of,
)
from backscroll.history.plan import Plan
from backscroll.ports import LONG, Ask, Operation, Record, Store, Stored, Tip, Turn, WriterLease

CHECKPOINT_EVERY = 2_000  # records after a checkpoint that make the next one due
_MOST_ASKED = 64  # appends in a row whose callers were cancelled, or whose store failed, that are known when one lands
_PAGE = 256  # records read at once on the way back to a checkpoint
_GIVE_UP = 20_000  # records without a checkpoint, after which everything is read
_FOREIGN = (TypeError, ValueError, AttributeError, LookupError, AssertionError, ArithmeticError, RecursionError)
"""Exceptions from applying an event that no session can have had."""
_BETWEEN = 8  # records of other kinds expected among some messages


class _Asked(NamedTuple):
    """Events that may have been stored. Of several at one position, at most one was."""

    waited: int
    """How many of them were buffered, and have been applied already."""
    happening: list[LogEvent]


class Journal:
    """One session's log in a store."""

    def __init__(
        self, store: Store, session: str, lease: WriterLease | None = None, *, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> None:
        self.session = session
        self.checkpoint_every = checkpoint_every
        self.lease = lease
        """Exclusive-writer lease: an append of another writer is a conflict, and is not loaded."""
        self.store = store
        self._codec = Codec(self._fetch)
        self._tip = Tip(0, None)
        """Positions below this one are known, of this incarnation of the session."""
        self._gone: str | None = None
        """Why every call fails: another writer deleted the session that is known here."""
        self._since = 0
        """Records after the newest checkpoint."""
        self.due: bool = False
        """True if it is time for a checkpoint."""
        self._buffer: list[LogEvent] = []
        self._asked: deque[_Asked] = deque(maxlen=_MOST_ASKED)
        """The appends sent to the store for the present end of the log, because a caller may be cancelled before the
        answer arrives.
        """
        self.turn: Turn | None = None
        """A turn, during which no other writer can append."""

    # -- writing --

    def buffer(self, event: LogEvent) -> None:
        """Buffer an event, to be stored with the next commit."""
        self._buffer.append(event)

    def commit(self, events: Sequence[LogEvent]) -> Operation[bool]:
        """Store the buffered events and these.

        Returns:
            False, with nothing stored, if another writer appended first.

        Raises:
            StoreError: The store failed.
            ConflictError: Another writer deleted the session, or holds its lease.
        """
        happening = [*self._buffer, *events]
        if not happening:
            return True
        self._check_gone()
        if self.lease is not None:
            kept = yield Ask(self.lease.keep, tolerant=True)
            if isinstance(kept, Exception):
                self.lease.refused()
                raise kept
        codec = self._codec.after(happening)
        added = [event for event in happening if isinstance(event, MessageAdded)]
        heavy = sum([count.size for event in added for count in event.counts]) > LONG
        records: list[Record] = (
            (yield Ask(codec.encode_all, (happening, self._tip.end), heavy=True))
            if heavy
            else codec.encode_all(happening, self._tip.end)
        )
        add = partial(self.store.append, incarnation=self._tip.incarnation)
        if self.turn is not None:
            add, self.turn = partial(add, turn=self.turn), None
        self._asked.append(_Asked(len(self._buffer), happening))
        answer = yield Ask(add, (self.session, self._tip.end, records), heavy, tolerant=True)
        if isinstance(answer, ConflictError):
            self._asked.pop()
            if self.lease is None:
                return False
            self._compare((yield Ask(self.store.tip, (self.session,))))
        if isinstance(answer, Exception):
            raise answer
        self._asked.clear()
        self._codec, self._tip = codec, Tip(self._tip.end + len(records), answer)
        self._count(happening)
        self._buffer.clear()
        return True

    def behind(self, fork: str, place: int, events: Sequence[LogEvent]) -> Operation[None]:
        """Append events to a fork that was just created from this session."""
        if events:
            records = [self._codec.encode(event, at) for at, event in enumerate(events, place)]
            yield Ask(self.store.append, (fork, place, records))

    def take_turn(self) -> Operation[None]:
        """Wait until no other writer can append, if the store supports that, so that the next commit succeeds.

        Call `end_turn` afterwards.
        """
        if "turn" in self.store.capabilities:
            self.turn = yield Ask(self.store.turn, (self.session,))

    def end_turn(self) -> None:
        """Admit other writers again, if nothing was committed meanwhile."""
        turn, self.turn = self.turn, None
        if turn is not None:
            turn.end()

    def release(self) -> Operation[None]:
        """Release the lease. If it expired and another writer holds it by now, there is nothing to release."""
        if self.lease is not None:
            failed = yield Ask(self.lease.release, tolerant=True)
            if isinstance(failed, Exception) and not isinstance(failed, ConflictError):
                raise failed

    def _count(self, events: Iterable[LogEvent]) -> None:
        for event in events:
            self._since = 0 if isinstance(event, Checkpoint) else self._since + 1
        self.due = self._since >= self.checkpoint_every

    # -- reading --

    def open(self) -> Operation[tuple[Checkpoint | None, list[LogEvent]]]:
        """Load the newest checkpoint and the events after it, or all events if there is no checkpoint."""
        self._codec, self._since, self.due = Codec(self._fetch), 0, False
        self._check_gone()
        self._buffer.clear()
        self._asked.clear()
        tip: Tip = yield Ask(self.store.tip, (self.session,))
        self._compare(tip)
        if not tip.end:
            return None, []
        self._tip = Tip(self._tip.end, tip.incarnation)
        found: tuple[Checkpoint | None, list[LogEvent]] = yield Ask(self._opened, (tip.end, self._codec), heavy=True)
        self._tip = tip
        self._count(found[1])
        return found

    def forget(self) -> None:
        """Reset: the session was deleted here."""
        self._tip = Tip(0, None)

    @property
    def end(self) -> int:
        """Positions below this one are known."""
        return self._tip.end

    @property
    def gone(self) -> bool:
        """True if another writer deleted the session that is known here."""
        return self._gone is not None

    def _check_gone(self) -> None:
        if self._gone is not None:
            raise ConflictError(self._gone)

    def _compare(self, tip: Tip) -> None:
        """Compare with the store's tip."""
        known = self._tip
        other = None not in (known.incarnation, tip.incarnation) and known.incarnation != tip.incarnation
        if not other and tip.end >= known.end:
            return
        what = f"the session was deleted{' and begun again' if tip.end else ''} by another writer"
        if tip.end and not other:
            what = f"its log has {tip.end} records and had {known.end}, as in a store put back from an older copy"
        self._gone = (
            f"session {self.session!r}: {what}: open it with a new manager; this one sends and writes nothing more"
        )
        self._buffer.clear()
        self._check_gone()

    def catch_up(self) -> Operation[tuple[list[tuple[int, LogEvent]], list[tuple[int, LogEvent]]]]:
        """Load what was stored since, with positions: own events whose caller was cancelled, and other writers'
        events.
        """
        self._check_gone()
        tip: Tip = yield Ask(self.store.tip, (self.session,))
        self._compare(tip)
        if tip.end == self._tip.end:
            return [], []
        self._tip = self._tip._replace(incarnation=tip.incarnation)
        start, read = self._tip.end, (yield Ask(self._read, (self._tip.end, tip.end, self._codec), heavy=True))
        self._tip = tip
        self._count(read)
        waited, own = self._landed(read)
        placed = [(at, event) for at, event in enumerate(read, start) if not isinstance(event, Checkpoint)]
        stored = {event.digest for event in read[own:] if isinstance(event, SystemPromptRecorded)}
        waiting = [event for event in self._buffer if not isinstance(event, Checkpoint)]
        self._buffer = [e for e in waiting if not (isinstance(e, SystemPromptRecorded) and e.digest in stored)]
        mine = [(at, event) for at, event in placed if start + waited <= at < start + own]
        return mine, [(at, event) for at, event in placed if at >= start + own]

    def _landed(self, read: Sequence[LogEvent]) -> tuple[int, int]:
        """Return how many of these events are an own append whose caller was cancelled: the buffered ones, which were
        applied already, and all.
        """
        stored = [each for each in self._asked if list(read[: len(each.happening)]) == each.happening]
        self._asked.clear()
        if not stored:
            return 0, 0
        asked = max(stored, key=lambda each: len(each.happening))
        del self._buffer[: asked.waited]
        return asked.waited, len(asked.happening)

    def load(self, seqs: Sequence[int]) -> Operation[list[MessageAdded]]:
        """Load these messages, in order; `seqs` ascend."""
        if not seqs:
            return []
        found: list[MessageAdded] = yield Ask(self._load, (seqs,), heavy=True)
        return found

    def place_behind(self, seq: int) -> Operation[int]:
        """Return the position after a message's record; 0 for -1."""
        if seq < 0:
            return 0
        at: int | None = yield Ask(partial(self.store.find, seq=seq), (self.session,))
        if at is None:
            raise CorruptionError(f"session {self.session!r}: message {seq} is not in its log")
        return at + 1

    def place_before_next(self, seq: int) -> Operation[int]:
        """Return the position of the first message after this one, or of a rewind before that, or the log's end."""
        behind = yield from self.place_behind(seq)
        place: int = yield Ask(self._branch_goes_on, (seq, behind), heavy=True)
        return place

    def place_at_end(self) -> Operation[int]:
        """Return the position after the last record."""
        end: int = yield Ask(self.store.length, (self.session,))
        return end

    def checkpoint_at(self, place: int) -> Operation[tuple[Checkpoint | None, list[LogEvent]]]:
        """Load the state at a position, as `open` does for the end."""
        codec = Codec(self._fetch)
        found: tuple[Checkpoint | None, list[LogEvent]] = yield Ask(self._checkpoint_at, (place, codec), heavy=True)
        return found

    def plan(self, lane: str, at: PlanAt) -> Operation[Plan]:
        """Load a plan from the log."""
        found: Plan = yield Ask(self._plan, (lane, at), heavy=True)
        return found

    def identified(self, id: str) -> Operation[IdempotencyKeyUsed | None]:
        """Return what was added under an idempotency key."""
        found = yield from self._keyed(id_key(digest_of(id)))
        return found if isinstance(found, IdempotencyKeyUsed) else None

    def prompt(self, digest: str) -> Operation[str | None]:
        """Return the text of a system prompt, buffered ones included."""
        for event in self._buffer:
            if isinstance(event, SystemPromptRecorded) and event.digest == digest:
                return event.text
        found = yield from self._keyed(prompt_key(digest))
        return found.text if isinstance(found, SystemPromptRecorded) else None

    def _keyed(self, key: str) -> Operation[LogEvent | None]:
        at: int | None = yield Ask(partial(self.store.find, key=key), (self.session,))
        if at is None:
            return None
        found: LogEvent = yield Ask(lambda: self._decode(self._codec, self._fetch(at)))
        return found

    def events_of(self, kinds: Collection[str], start: int, stop: int | None) -> Operation[list[tuple[int, LogEvent]]]:
        """Load the events of some kinds from `start` up to but excluding `stop`, with positions."""
        found: list[tuple[int, LogEvent]] = yield Ask(self._events_of, (kinds, start, stop), heavy=True)
        return found

    def page_from(self, place: int, most: int, codec: Codec) -> Operation[list[tuple[int, LogEvent]]]:
        """Load the next `most` events from a position on, with positions. The codec must have decoded everything
        before.
        """
        found: list[tuple[int, LogEvent]] = yield Ask(self._page_from, (place, most, codec), heavy=True)
        return found

    def reader(self) -> "Journal":
        """Return a reader of the same log for a replica, which stores nothing."""
        return Journal(self.store, self.session)

    def codec(self) -> Codec:
        """Return a codec for reading the log from its beginning."""
        return Codec(self._fetch, looking=True)

    # -- called outside --

    def _plan(self, lane: str, at: PlanAt) -> Plan:
        with self.at(at.place):
            return self._codec.plan(lane, at)

    def _events_of(self, kinds: Collection[str], start: int, stop: int | None) -> list[tuple[int, LogEvent]]:
        codec = Codec(self._fetch)
        read = self.store.read(self.session, start, stop)
        return [(stored.position, self._decode(codec, stored)) for stored in read if stored.record.kind in kinds]

    def _page_from(self, place: int, most: int, codec: Codec) -> list[tuple[int, LogEvent]]:
        read = self.store.read(self.session, place, place + most)
        return [(stored.position, self._decode(codec, stored)) for stored in read]

    def _decode(self, codec: Codec, stored: Stored) -> LogEvent:
        with self.at(stored.position):
            return codec.decode(stored)

    @contextmanager
    def at(self, place: int) -> Iterator[None]:
        """Wrap reading and applying the record at a position: an impossible event is corruption there."""
        try:
            yield
        except CorruptionError as error:
            if f"session {self.session!r}" in str(error):
                raise
            where = "" if "record " in str(error) else f"record {place}: "
            raise CorruptionError(f"session {self.session!r}: {where}{error}") from error
        except BackscrollError:
            raise
        except _FOREIGN as error:
            what = f"record {place} is impossible: {error!r:.200}"
            raise CorruptionError(f"session {self.session!r}: {what}") from error

    def _branch_goes_on(self, seq: int, behind: int) -> int:
        following = self.store.find(self.session, seq=seq + 1)
        stop = self.store.length(self.session) if following is None else following
        read = self.store.read(self.session, behind, stop)
        return next((stored.position for stored in read if stored.record.kind == "rewind"), stop)

    def _fetch(self, at: int) -> Stored:
        for stored in self.store.read(self.session, at, at + 1):
            return stored
        raise CorruptionError(f"session {self.session!r}: the record at position {at} is missing")

    def _read(self, start: int, stop: int, codec: Codec) -> list[LogEvent]:
        with self._unchanged():
            return [self._decode(codec, stored) for stored in self.store.read(self.session, start, stop)]

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Wrap reading: raises `ConflictError` if the session was deleted meanwhile, even if reading failed."""
        try:
            yield
        except (ConflictError, CorruptionError):
            self._compare(self.store.tip(self.session))
            raise
        self._compare(self.store.tip(self.session))

    def _opened(self, end: int, codec: Codec) -> tuple[Checkpoint | None, list[LogEvent]]:
        with self._unchanged():
            return self._checkpoint_at(end, codec)

    def _checkpoint_at(self, end: int, codec: Codec) -> tuple[Checkpoint | None, list[LogEvent]]:
        tail: list[Stored] = []
        stop = end
        while stop > 0 and len(tail) < _GIVE_UP:
            page = list(self.store.read(self.session, max(0, stop - _PAGE), stop))
            for number in range(len(page) - 1, -1, -1):
                if page[number].record.kind == "checkpoint":
                    found = self._decode(codec, page[number])
                    assert isinstance(found, Checkpoint)
                    tail = page[number + 1 :] + tail
                    with self.at(page[number].position):
                        found = _with_plans(found, codec)
                    return found, [self._decode(codec, stored) for stored in tail]
            tail = page + tail
            stop -= len(page)
        before = self.store.read(self.session, 0, stop) if stop else ()
        return None, [self._decode(codec, stored) for part in (before, tail) for stored in part]

    def _load(self, seqs: Sequence[int]) -> list[MessageAdded]:
        with self._unchanged():
            return self._found(seqs)

    def _found(self, seqs: Sequence[int]) -> list[MessageAdded]:
        found: list[MessageAdded] = []
        for first, last in _runs(seqs):
            at = self.store.find(self.session, seq=first)
            missing = last - first + 1
            while missing and at is not None:
                start, at = at, None
                for stored in self.store.read(self.session, start, start + missing + _BETWEEN):
                    at = stored.position + 1
                    if stored.record.seq is not None and stored.record.seq <= last:
                        event = self._decode(self._codec, stored)
                        if not isinstance(event, MessageAdded) or event.seq != last - missing + 1:
                            raise CorruptionError(
                                f"session {self.session!r}: record {stored.position} does not hold the expected message"
                            )
                        found.append(event)
                        missing -= 1
                    if not missing:  # the next records may be large, and stored elsewhere
                        break
            if missing:
                raise CorruptionError(
                    f"session {self.session!r}: {missing} of the messages {first} to {last} are missing"
                )
        return found


def _with_plans(found: Checkpoint, codec: Codec) -> Checkpoint:
    """Load the current plans, which a checkpoint may only refer to."""
    lanes = [
        replace(lane, plan=codec.plan(lane.name, lane.plan)) if isinstance(lane.plan, PlanAt) else lane
        for lane in found.lanes
    ]
    return replace(found, lanes=tuple(lanes))


def _runs(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = seqs[0]
    for seq in seqs[1:]:
        if seq != last + 1:
            yield first, last
            first = seq
        last = seq
    yield first, last
