"""A store on a disk whose changes go through a queue, which begins with the first one. What it writes, and how, others
know; nothing else lives here.
"""

import threading
import weakref
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Any, Generic

from backscroll.errors import ConfigurationError
from backscroll.ports import Tip
from backscroll.stores.fork_lock import closes_for_forks
from backscroll.stores.group_commit import J, Queue, Worker

DURABILITIES = ("full", "normal")
TIMEOUT = 30.0  # seconds


def checked_durability(durability: str) -> str:
    """It as it came. Raises `ConfigurationError` for one that there is not."""
    if durability not in DURABILITIES:
        raise ConfigurationError(f"durability is one of {', '.join(DURABILITIES)}, and not {durability!r}")
    return durability


class QueuedStore(ABC, Generic[J]):
    """What such stores share. A subclass makes what it needs itself before it calls `__init__`: from then on the
    process may fork.
    """

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
        """Everything that a store can do."""
        return frozenset(("durable", "shared", "delete", "fork", "lease", "turn"))

    def close(self) -> None:
        """Waits for what is queued and frees everything. The next use opens anew."""
        with self._lock:
            queue = self._detach()
            if queue is not None:
                queue.stop()
        if queue is not None:
            queue.join()
        self._free()

    @abstractmethod
    def let_go(self) -> None:
        """Closes what is open between uses: for a fork, while nothing is in use."""

    def forked(self) -> None:
        """Begins anew, in the child of a fork. What the parent had queued is the parent's."""
        self._lock = threading.Lock()
        self._detach()

    def _put(self, job: J, *, at_once: bool = False) -> Future[Any]:
        with self._lock:
            if self._queue is None:
                queue = Queue[J](self.path, self._worker())
                queue.start()
                self._queue, self._unclosed = queue, weakref.finalize(self, queue.stop)
                self._unclosed.atexit = False  # then the queue is waited for as well
            self._queue.put(job)
            if at_once:
                self._queue.wake()
        return job.done

    def _known_tip(self, session: str) -> Tip | None:
        """Where a log ends, if whoever writes knows that still: then nothing has to be read."""
        queue = self._queue
        return None if queue is None else queue.tip(session)

    def _detach(self) -> Queue[J] | None:
        queue, self._queue = self._queue, None
        if self._unclosed is not None:
            self._unclosed.detach()
        return queue

    @abstractmethod
    def _worker(self) -> Worker[J]:
        """A new one, to do what is queued."""

    @abstractmethod
    def _free(self) -> None:
        """Frees what was read with and what is known; nothing is queued any more."""
