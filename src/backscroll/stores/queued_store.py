"""Base class of stores on disk whose writes go through a queue."""

import threading
import weakref
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Any, Generic

from backscroll.errors import ConfigurationError
from backscroll.ports import Tip
from backscroll.stores.fork_lock import closes_for_forks
from backscroll.stores.group_commit import J, Queue, Worker
from backscroll.stores.turns import Turn

DURABILITIES = ("full", "normal")
TIMEOUT = 30.0  # seconds to wait for other processes


def checked_durability(durability: str) -> str:
    """Validate a durability. Raise `ConfigurationError` if it is unknown."""
    if durability not in DURABILITIES:
        raise ConfigurationError(f"`durability` must be one of {', '.join(DURABILITIES)}, not {durability!r}")
    return durability


class QueuedStore(ABC, Generic[J]):
    """What these stores share. A subclass sets its own attributes before it calls `__init__`: the process may fork
    after it.
    """

    durability: str
    path: str

    def __init__(self, path: str, durability: str) -> None:
        self.path, self.durability = path, durability
        self._lock = threading.Lock()
        self._queue: Queue[J] | None = None
        self._unclosed: weakref.finalize[..., QueuedStore[J]] | None = None
        closes_for_forks(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, {self.durability!r})"

    @property
    def capabilities(self) -> frozenset[str]:
        """What the store supports."""
        return frozenset(("durable", "shared", "delete", "fork", "lease", "turn"))

    def close(self) -> None:
        """Wait for queued jobs, then free all resources. The next use opens the store again."""
        with self._lock:
            queue = self._detach()
            if queue is not None:
                queue.stop()
        if queue is not None:
            queue.join()
        self._free()

    @abstractmethod
    def close_idle(self) -> None:
        """Close idle resources before a fork."""

    def forked(self) -> None:
        """Reset in the child of a fork. The parent writes what it had queued."""
        self._lock = threading.Lock()
        self._detach()

    def _perform(self, job: J) -> Future[Any]:
        """Perform a job in the calling thread if it is alone; else queue it."""
        queue = self._queue
        done = None if queue is None else queue.try_now(job)
        return self._put(job) if done is None else done

    def _in_turn(self, job: J, turn: Turn[J]) -> Future[Any]:
        """Hand a job to the worker that waits for it in this turn; queue it if the turn is over."""
        done = job.done  # first used before the worker's thread has the job
        return done if turn.give(job) else self._put(job)

    def _put(self, job: J, *, at_once: bool = False) -> Future[Any]:
        with self._lock:
            if self._queue is None:
                queue = Queue[J](self.path, self._worker())
                queue.start()
                self._queue, self._unclosed = queue, weakref.finalize(self, queue.stop)
                self._unclosed.atexit = False  # the queue's own exit hook also waits for its jobs
            self._queue.put(job)
            if at_once:
                self._queue.wake()
        return job.done

    def _known_tip(self, session: str) -> Tip | None:
        """The tip of a log, if the worker still knows it: then nothing is read."""
        queue = self._queue
        return None if queue is None else queue.tip(session)

    def _detach(self) -> Queue[J] | None:
        queue, self._queue = self._queue, None
        if self._unclosed is not None:
            self._unclosed.detach()
        return queue

    @abstractmethod
    def _worker(self) -> Worker[J]:
        """Return a new worker for queued jobs."""

    @abstractmethod
    def _free(self) -> None:
        """Free connections and caches. No job is queued any more."""
