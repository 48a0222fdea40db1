"""One thread that does what is queued, and takes together what queued up meanwhile. It does not know what a job is.

Making something safe costs a wait for the disk, whatever it is: what queued up while one wait lasted shares the next.
"""

import atexit
import functools
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from backscroll.errors import StoreUnavailable
from backscroll.stores.gate import closes_for_forks

MOST = 1_000  # jobs that are done together
MOST_BYTES = 8_000_000  # of them, so that a large one does not hold up many small ones for long
_LIVE: "set[Queue[Any]]" = set()
"""Those that have something to finish before the interpreter ends."""


class Job(Protocol):
    """What can be queued."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...


J = TypeVar("J", bound=Job)


class Queue(Generic[J]):
    """Takes jobs until it is stopped, and ends when all of them are done. `perform` must not raise."""

    def __init__(self, name: str, perform: Callable[[Sequence[J]], None]) -> None:
        self._name, self._perform = name, perform
        self._jobs: queue.SimpleQueue[J | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begins. Raises `StoreUnavailable` where the interpreter is ending and starts no more threads."""
        _at_exit()
        closes_for_forks(self)
        _LIVE.add(self)
        try:
            self._thread.start()
        except RuntimeError as error:
            _LIVE.discard(self)
            raise StoreUnavailable(f"{self._name}: the interpreter is ending, nothing was written") from error

    def put(self, job: J) -> None:
        """Queues a job. Must not be called after `stop`."""
        self._jobs.put(job)

    def stop(self) -> None:
        """No job comes after this."""
        self._jobs.put(None)

    def join(self) -> None:
        """Waits until everything is done."""
        if threading.current_thread() is not self._thread:  # told of a job, somebody may close the store at once
            self._thread.join()

    def let_go(self) -> None:
        """Nothing of it is open between two jobs."""

    def forked(self) -> None:
        """In the child of a fork there is no such thread, and nothing for it to finish."""
        _LIVE.discard(self)

    def _run(self) -> None:
        going = True
        while going:
            jobs, going = self._next()
            self._perform(jobs)
            jobs.clear()  # while it waits, nothing of them is kept alive
        _LIVE.discard(self)

    def _next(self) -> tuple[list[J], bool]:
        """What is queued, or waits for the first; and whether more can come."""
        jobs: list[J] = []
        size = 0
        try:
            while len(jobs) < MOST and size < MOST_BYTES:
                job = self._jobs.get(block=not jobs)
                if job is None:
                    return jobs, False
                jobs.append(job)
                size += job.size
        except queue.Empty:
            pass
        return jobs, True


@functools.cache
def _at_exit() -> None:
    """What is queued is done also by a process that ends without closing."""
    atexit.register(_finish)


def _finish() -> None:
    for each in list(_LIVE):
        each.stop()
        each.join()
