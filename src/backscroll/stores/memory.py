"""Sessions in memory: for tests, and the plainest thing that keeps the contract of a store. No file is touched here."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from backscroll.errors import ConflictError
from backscroll.ports import Record, Stored
from backscroll.stores.names import checked


class MemoryStore:
    """Keeps sessions as long as the object lives. Safe for threads; a forked process has a copy of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[str, list[Record]] = {}

    @property
    def capabilities(self) -> frozenset[str]:
        """It neither survives the process nor is seen by another one."""
        return frozenset(("erase",))

    def append(self, session: str, first: int, records: Sequence[Record]) -> Future[None]:
        """Puts records behind the log's end, which must be `first`. What comes back is done already."""
        name, new = checked(session), list(records)
        done: Future[None] = Future()
        with self._lock:
            end = len(self._logs.get(name, ()))
            if fits := first == end:
                self._logs.setdefault(name, []).extend(new)
                if not self._logs[name]:
                    del self._logs[name]  # nothing was written to it, so it has not begun
        if fits:
            done.set_result(None)
        else:
            done.set_exception(ConflictError(f"session {name!r}: its log ends before place {end}, not before {first}"))
        return done

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop`, as they are at the call."""
        with self._lock:
            log = self._logs.get(checked(session), [])
            places = range(max(start, 0), len(log) if stop is None else min(stop, len(log)))
            return iter([Stored(at, log[at]) for at in places])

    def end(self, session: str) -> int:
        """The place behind the last record."""
        with self._lock:
            return len(self._logs.get(checked(session), ()))

    def sessions(self) -> list[str]:
        """Names, the session that began first before the others."""
        with self._lock:
            return list(self._logs)

    def erase(self, session: str) -> None:
        """Forgets a session."""
        with self._lock:
            self._logs.pop(checked(session), None)

    def close(self) -> None:
        """Nothing to wait for and nothing to free: the records live as long as the object."""
