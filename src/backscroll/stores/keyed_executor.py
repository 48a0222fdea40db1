"""Jobs in threads: those of one key in order, those of different keys concurrently.

A session is a key. So its appends arrive in order, no session waits for another, and an append over a network blocks no
event loop.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from backscroll.errors import StoreUnavailableError
from backscroll.stores.fork_lock import resets_in_child

_Job: TypeAlias = tuple[Future[Any], Callable[[], Any]]


@dataclass(slots=True)
class _Line:
    """Queued jobs of one or more keys."""

    keys: list[str]
    jobs: deque[_Job]
    """The first one is running."""


class KeyedExecutor:
    """Runs jobs in threads that start on demand. Queued jobs also run when the interpreter exits.

    Args:
        name: prefix of the names of the threads.
        threads: maximum number of threads. `None`: no limit. A limit requires that jobs never wait for one another.
    """

    def __init__(self, name: str, threads: int | None = None) -> None:
        self._name, self._threads = name, threads or sys.maxsize
        self.forked()
        resets_in_child(self)

    def forked(self) -> None:
        """Reset in the child of a fork, which has no such threads and no jobs."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._lines: dict[str, _Line] = {}
        self._inside = threading.local()

    def idle(self, key: str) -> bool:
        """Return whether nothing of this key is queued or running."""
        return key not in self._lines

    def put(self, key: str, job: Callable[[], Any], *, begins: str | None = None) -> Future[Any]:
        """Queue a job.

        Args:
            key: jobs with one key run in order.
            job: called in a thread.
            begins: another key whose jobs come after this one from now on.

        Raises:
            StoreUnavailableError: the interpreter is exiting and takes no more jobs.
        """
        done: Future[Any] = Future()
        with self._lock:
            line = self._lines.get(key)
            if line is not None:
                line.jobs.append((done, job))
            else:
                line = _Line([key], deque([(done, job)]))
                self._start(line)
                self._lines[key] = line
            if begins is not None and begins not in self._lines:
                line.keys.append(begins)
                self._lines[begins] = line
        return done

    def close(self) -> None:
        """Wait for queued jobs, and end the threads. The next job starts new ones."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:  # a job's own thread, which may close the store, cannot wait for itself
            executor.shutdown(wait=not getattr(self._inside, "now", False))

    def _start(self, line: _Line) -> None:
        try:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._threads, self._name)
            self._executor.submit(self._drain, line)
        except RuntimeError as error:
            raise StoreUnavailableError("the interpreter is exiting: nothing was written") from error

    def _drain(self, line: _Line) -> None:
        self._inside.now = True
        done, job = line.jobs[0]
        while True:
            answer, failure = None, None
            wanted = done.set_running_or_notify_cancel()
            try:
                answer = job() if wanted else None
            except BaseException as error:  # every error: a caller waits for the result
                failure = error
            following = self._next(line)  # before the result: a caller that has it must find the key idle
            if failure is not None:
                done.set_exception(failure)
            elif wanted:
                done.set_result(answer)
            del done, job, answer, failure  # an idle thread must keep nothing alive
            if following is None:
                break
            done, job = following
        self._inside.now = False

    def _next(self, line: _Line) -> _Job | None:
        """Remove the finished job from its line, and return the next one."""
        with self._lock:
            line.jobs.popleft()
            if line.jobs:
                return line.jobs[0]
            for key in line.keys:
                del self._lines[key]
            return None
