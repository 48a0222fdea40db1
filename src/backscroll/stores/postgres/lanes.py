"""Jobs in threads: those of one lane in their order, those of different lanes at once. Nothing else may live here.

A session is a lane, so that appends which nobody waited for arrive in their order, and no session waits for another.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from backscroll.errors import StoreUnavailable
from backscroll.stores.postgres.fork_safety import begins_anew

_Job: TypeAlias = tuple[Future[Any], Callable[[], Any]]


@dataclass(slots=True)
class _Lane:
    names: list[str]
    jobs: deque[_Job] = field(default_factory=deque)


class Lanes:
    """At most `threads` threads, begun when they are needed. What is queued is done also when the interpreter ends."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self.forked()
        begins_anew(self)

    def forked(self) -> None:
        """Begins anew: in the child of a fork there is no such thread, and nothing for it to do."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._lanes: dict[str, _Lane] = {}
        self._inside = threading.local()

    def put(self, name: str, job: Callable[[], Any], *, begins: str | None = None) -> Future[Any]:
        """Queues a job. `begins`: another name of the lane from now on, for jobs that have to come after this one."""
        done: Future[Any] = Future()
        with self._lock:
            lane = self._lanes.get(name)
            if lane is None:
                lane = _Lane([name])
                self._start(lane)
                self._lanes[name] = lane
            if begins is not None and begins not in self._lanes:
                lane.names.append(begins)
                self._lanes[begins] = lane
            lane.jobs.append((done, job))
        return done

    def close(self) -> None:
        """Waits for what is queued, and ends the threads. The next job begins new ones."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:  # told of a job, somebody may close the store at once, in the job's own thread
            executor.shutdown(wait=not getattr(self._inside, "now", False))

    def _start(self, lane: _Lane) -> None:
        try:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._threads, "backscroll-postgres")
            self._executor.submit(self._drain, lane)
        except RuntimeError as error:
            raise StoreUnavailable("the interpreter is ending: nothing was written") from error

    def _drain(self, lane: _Lane) -> None:
        self._inside.now = True
        while (job := self._next(lane)) is not None:
            _do(*job)
            del job  # while it waits, nothing of it is kept alive
        self._inside.now = False

    def _next(self, lane: _Lane) -> _Job | None:
        with self._lock:
            if lane.jobs:
                return lane.jobs.popleft()
            for name in lane.names:
                del self._lanes[name]
            return None


def _do(done: Future[Any], job: Callable[[], Any]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        answer = job()
    except BaseException as error:  # whatever it was: somebody waits for it
        done.set_exception(error)
    else:
        done.set_result(answer)
