"""Sessions in memory: for tests, and the simplest implementation of the store contract."""

import secrets
import threading
import time
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Record, Stored, Tip
from backscroll.stores.names import another, checked, checked_keys, checked_lease, kept

T = TypeVar("T")


@dataclass(slots=True)
class _Log:
    records: list[Record] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    seqs: list[tuple[int, int]] = field(default_factory=list)
    """`(seq, position)` of the records that have a `seq`."""
    id: str = field(default_factory=partial(secrets.token_hex, 8))
    """The incarnation of the session."""
    shares: str | None = None
    """The session that this one was forked from."""


class Turn:
    """One writer's exclusive turn to append. It also ends when it is garbage collected."""

    def __init__(self, over: Callable[[], None]) -> None:
        self.over: weakref.finalize[[], Turn] = weakref.finalize(self, over)
        self.over.atexit = False

    def end(self) -> None:
        """Let other writers append again."""
        self.over()


@dataclass(slots=True)
class _Held:
    """The current turn of a session, and who waits for it."""

    now: Callable[[], Turn | None] = lambda: None
    waiting: deque[Future[Turn]] = field(default_factory=deque)
    late: list[tuple[Callable[[], str | ConflictError | None], Future[str | None]]] = field(default_factory=list)
    """Appends that other writers made during the turn."""


class MemoryStore:
    """Keeps sessions for the lifetime of the object. Safe for threads. A forked process has its own copy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[str, _Log] = {}
        self._turns: dict[str, _Held] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        """Owner and expiry of each lease, by the monotonic clock."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What the store supports. It is neither durable nor shared."""
        return frozenset(("delete", "fork", "lease", "turn"))

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Future[str | None]:
        """Append records at `expected_position`, the end of the log. Waits for the turn of another writer."""
        name, new = checked(session), checked_keys(records)
        job, done = partial(self._append, name, expected_position, new, incarnation), Future[str | None]()
        with self._lock:
            held = self._turns.get(name)
            if held is not None and held.now() is not turn:
                held.late.append((job, done))
                return done
            answer = job()
        _resolve(done, answer)
        if turn is not None:
            turn.end()
        return done

    def _append(
        self, name: str, first: int, new: Sequence[Record], incarnation: str | None
    ) -> str | ConflictError | None:
        log = self._logs.get(name)
        if incarnation is not None and (log is None or log.id != incarnation):
            return another(name, log is None)
        log = log or _Log()
        if why := _why_not(log, first, new):
            return ConflictError(f"session {name!r}: {why}")
        if new:
            _extend(log, new)
            self._logs[name] = log
        return log.id if log.records else None

    def turn(self, session: str) -> Future[Turn]:
        """Reserve the session: appends of others wait until the one that passes this turn."""
        name, granted = checked(session), Future[Turn]()
        with self._lock:
            free = name not in self._turns
            held = self._turns.setdefault(name, _Held())
            held.waiting.append(granted)
        if free:
            self._next(name)
        return granted

    def _next(self, name: str) -> None:
        """End a turn: run the appends that waited, then grant the next turn, if one was requested."""
        with self._lock:
            held = self._turns[name]
            late, held.late = held.late, []
            answers = [(done, job()) for job, done in late if done.set_running_or_notify_cancel()]
            granted, turn = None, Turn(partial(self._next, name))
            while held.waiting and granted is None:
                first = held.waiting.popleft()
                granted = first if first.set_running_or_notify_cancel() else None
            held.now = weakref.ref(turn)
            if granted is None:
                del self._turns[name]
                turn.over.detach()
        for done, answer in answers:
            _resolve(done, answer)
        if granted is not None:
            granted.set_result(turn)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`, as of the call."""
        with self._lock:
            log = self._log(session).records
            places = range(max(start, 0), len(log) if stop is None else min(stop, len(log)))
            return iter([Stored(at, log[at]) for at in places])

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        with self._lock:
            return len(self._log(session).records)

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation."""
        with self._lock:
            log = self._logs.get(checked(session))
        return Tip(0, None) if log is None else Tip(len(log.records), log.id)

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key."""
        with self._lock:
            log = self._log(session)
            if key is not None:
                return log.keys.get(key)
            at = bisect_left(log.seqs, (seq or 0, -1))
            return log.seqs[at][1] if at < len(log.seqs) else None

    def fork(self, session: str, new: str, at: int) -> Future[None]:
        """Start a session with the first `at` records of another. The result is already done."""
        name = checked(new)
        with self._lock:
            log = self._log(session)
            if not 0 < at <= len(log.records):
                raise ConfigurationError(f"session {session!r} has {len(log.records)} records, so `at` cannot be {at}")
            if name in self._logs:
                return _failed(ConflictError(f"session {name!r} exists already: choose another name for the fork"))
            self._logs[name] = _Log(shares=session)
            _extend(self._logs[name], log.records[:at])
        return _done(None)

    def lease(self, session: str, owner: str, seconds: float) -> Future[None]:
        """Lease a session to one writer for `seconds` from now. The result is already done."""
        name, (owner, seconds), now = checked(session), checked_lease(owner, seconds), time.monotonic()
        with self._lock:
            holder, until = self._leases.get(name, (owner, now))
            if holder != owner and until > now:
                return _failed(kept(name, holder, until - now))
            self._leases[name] = owner, now + seconds
            if not seconds:
                del self._leases[name]
        return _done(None)

    def sessions(self) -> list[str]:
        """Names in the order of creation."""
        with self._lock:
            return list(self._logs)

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session; with `cascade`, its forks as well."""
        name = checked(session)
        with self._lock:
            forks = [fork for fork, log in self._logs.items() if log.shares == name]
            if forks and not cascade:
                raise ConflictError(
                    f"session {name!r} shares records with its forks {forks}: delete them first, or pass `cascade=True`"
                )
            going = [name]
            for each in going:  # grows on the way
                going += [fork for fork, log in self._logs.items() if log.shares == each]
                self._logs.pop(each, None)
                self._leases.pop(each, None)

    def close(self) -> None:
        """Do nothing: there is nothing to wait for, and the records live as long as the object."""

    def _log(self, session: str) -> _Log:
        return self._logs.get(checked(session)) or _Log()


def _why_not(log: _Log, first: int, new: Sequence[Record]) -> str | None:
    """Why these records cannot be appended at `first`; `None` if they can."""
    if first != len(log.records):
        return f"its log has {len(log.records)} records, so position {first} is not its end"
    seen = set(log.keys)
    for record in new:
        if record.key in seen:
            return f"the key {record.key!r} is used already"
        if record.key is not None:
            seen.add(record.key)
    return None


def _extend(log: _Log, new: Sequence[Record]) -> None:
    for record in new:
        if record.key is not None:
            log.keys[record.key] = len(log.records)
        if record.seq is not None:
            log.seqs.append((record.seq, len(log.records)))
        log.records.append(record)


def _done(answer: T) -> Future[T]:
    done: Future[T] = Future()
    done.set_result(answer)
    return done


def _resolve(done: Future[str | None], answer: str | ConflictError | None) -> None:
    if isinstance(answer, ConflictError):
        done.set_exception(answer)
    else:
        done.set_result(answer)


def _failed(error: Exception) -> Future[Any]:
    failed: Future[Any] = Future()
    failed.set_exception(error)
    return failed
