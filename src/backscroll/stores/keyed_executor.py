"""Jobs in threads: those of one key in their order, those of different keys at once.

A session is a key. So appends that nobody waited for arrive in their order, no session waits for another, and an append
whose bytes travel over a network holds up no event loop.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from backscroll.errors import StoreUnavailableError
from backscroll.stores.fork_lock import closes_for_forks

_Job: TypeAlias = tuple[Future[Any], Callable[[], Any]]


@dataclass(slots=True)
class _Line:
    """Jobs of a key, and of every other key that goes by the same line."""

    keys: list[str]
    jobs: deque[_Job]
    """The first one is being done."""


class KeyedExecutor:
    """Runs jobs in threads that begin when they are needed, at most `threads` of them at once; `None`: no limit.

    A limit suits jobs that never wait for one another. What is queued is done also when the interpreter ends.
    """

    def __init__(self, name: str, threads: int | None = None) -> None:
        self._name, self._threads = name, threads or sys.maxsize
        self.forked()
        closes_for_forks(self)

    def let_go(self) -> None:
        """Before a fork: nothing to do, as the parent keeps its threads."""

    def forked(self) -> None:
        """Begin again in the child of a fork, which has no such thread, and nothing for it to do."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._lines: dict[str, _Line] = {}
        self._inside = threading.local()

    def idle(self, key: str) -> bool:
        """Return whether nothing of this key is queued or running."""
        return key not in self._lines

    def put(self, key: str, job: Callable[[], Any], *, begins: str | None = None) -> Future[Any]:
        """Queue a job. `begins`: another key whose jobs come after this one from now on.

        Raises:
            StoreUnavailable: the interpreter is ending and takes no more jobs.
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
        """Wait for what is queued, and end the threads. The next job begins new ones."""
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
            raise StoreUnavailableError("the interpreter is ending: nothing was written") from error

    def _drain(self, line: _Line) -> None:
        self._inside.now = True
        done, job = line.jobs[0]
        while True:
            answer, failure = None, None
            wanted = done.set_running_or_notify_cancel()
            try:
                answer = job() if wanted else None
            except BaseException as error:  # whatever it was: somebody waits for it
                failure = error
            following = self._next(line)  # before the answer: a caller that gets it finds the key idle
            if failure is not None:
                done.set_exception(failure)
            elif wanted:
                done.set_result(answer)
            del done, job, answer, failure  # while the thread waits, nothing of it is kept alive
            if following is None:
                break
            done, job = following
        self._inside.now = False

    def _next(self, line: _Line) -> _Job | None:
        """Take what was done out of its line, and return what follows."""
        with self._lock:
            line.jobs.popleft()
            if line.jobs:
                return line.jobs[0]
            for key in line.keys:
                del self._lines[key]
            return None
