"""One thread that does what is queued, and takes together what queued up meanwhile. It does not know what a job does.

Making something safe costs a wait for the disk, whatever it is: what queued up while one wait lasted shares the next.
Only where a job is alone, and a thread waits for it, that thread does it by itself: to wake another one, and to be
woken by it, takes as long as the rest of the work.
"""

import atexit
import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from backscroll.errors import BackscrollError, StoreUnavailableError
from backscroll.ports import Tip
from backscroll.stores.fork_lock import GATE, closes_for_forks

MOST = 1_000  # jobs that are done together
MOST_BYTES = 8_000_000  # of them, so that a large one does not hold up many small ones for long
_DOZE = 0.005  # seconds: how long a job may have to wait that nobody waits for
_LIVE: "set[Queue[Any]]" = set()
"""Those that have something to finish before the interpreter ends."""


class Done(Future[Any]):
    """Tells when a job is done; who waits for it in a thread may do it."""

    queue: "Queue[Any] | None" = None
    """Where the job is; None when it is done."""

    def result(self, timeout: float | None = None) -> Any:
        """Waits for it; raises what went wrong."""
        self._hurry(timeout is None)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for it; what went wrong."""
        self._hurry(timeout is None)
        return super().exception(timeout)

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Calls it when the job is done: what is awaited begins so."""
        super().add_done_callback(fn)
        self._hurry(False)

    def _hurry(self, helps: bool) -> None:
        queue = self.queue
        if queue is not None and helps:
            queue.help(self)
        elif queue is not None:
            queue.wake()


@dataclass(slots=True, eq=False)
class Job:
    """What is to be done, and whom to tell."""

    session: str
    done: Done = field(default_factory=Done, init=False)
    error: BackscrollError | None = field(default=None, init=False)
    answer: object = field(default=None, init=False)
    """What came of it."""

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return 0

    def tell(self, error: BaseException | None) -> None:
        """Tells how it went."""
        self.done.queue = None
        if error is None:
            self.done.set_result(self.answer)
        else:
            self.done.set_exception(error)


J = TypeVar("J", bound=Job)
Answer = tuple[J, BaseException | None]


class Worker(Protocol[J]):
    """Whoever does jobs, one after the other or together. Never from two threads at once."""

    def perform(self, jobs: list[J]) -> Iterable[Sequence[Answer[J]]]:
        """Does jobs in their order, and says how it went with those that were done together. Must not raise."""
        ...

    def tip(self, session: str) -> Tip | None:
        """Where a log ends, as far as it still knows that from its last job; else None."""
        ...

    def let_go(self) -> None:
        """Closes what it has open between two uses."""
        ...


class Queue(Generic[J]):
    """Takes jobs until it is stopped, and ends when all of them are done."""

    def __init__(self, name: str, worker: Worker[J]) -> None:
        self._name, self._worker = name, worker
        self._jobs: deque[J] = deque()
        self._ending = False
        self._put = 0
        """Jobs that were ever queued."""
        self._dozing = False
        """Whether the thread looks by itself soon, and need not be woken."""
        self._woken = threading.Lock()
        """Released to wake it."""
        self._woken.acquire()
        self._turn = threading.Lock()
        """Held by whoever takes jobs out of the queue, until they are done: so their order stays."""
        self._thread = threading.Thread(target=self._run, name=f"writes {name}", daemon=True)

    def start(self) -> None:
        """Begins. Raises `StoreUnavailableError` where the interpreter is ending and starts no more threads."""
        _at_exit()
        closes_for_forks(self)
        _LIVE.add(self)
        try:
            self._thread.start()
        except RuntimeError as error:
            _LIVE.discard(self)
            raise StoreUnavailableError(f"{self._name}: the interpreter is ending, nothing was written") from error

    def put(self, job: J) -> None:
        """Queues a job. Must not be called after `stop`."""
        job.done.queue = self
        self._jobs.append(job)
        self._put += 1
        if not self._dozing:
            self.wake()

    def stop(self) -> None:
        """No job comes after this."""
        self._ending = True
        self.wake()

    def wake(self) -> None:
        """Has the thread look at once."""
        with contextlib.suppress(RuntimeError):  # it was released before
            self._woken.release()

    def help(self, done: Future[Any]) -> None:
        """Does the job that somebody is about to wait for, if it is the only one; else has it done at once."""
        if not self._turn.locked():
            with self._turn:
                alone = len(self._jobs) == 1 and self._jobs[0].done is done
                answers = self._tried([self._jobs.popleft()]) if alone else ()
            if alone:
                _tell(answers)
                return
        if not done.done():
            self.wake()

    def tip(self, session: str) -> Tip | None:
        """What the worker knows of a log's end; None where it does not, or is busy."""
        if not self._turn.acquire(blocking=False):
            return None
        try:
            return self._worker.tip(session)
        finally:
            self._turn.release()

    def join(self) -> None:
        """Waits until everything is done."""
        if threading.current_thread() is not self._thread:  # told of a job, somebody may close the store at once
            self._thread.join()

    def let_go(self) -> None:
        """Closes what is open, while it is not in use."""
        self._worker.let_go()

    def forked(self) -> None:
        """In the child of a fork there is no such thread, and nothing for it to finish."""
        _LIVE.discard(self)

    def _run(self) -> None:
        while not self._ending or self._jobs:
            if not self._jobs:
                self._rest()
            with self._turn:
                answers = self._tried(self._next())
            _tell(answers)
            del answers  # while it waits, nothing of them is kept alive
        with self._turn, GATE:
            self._worker.let_go()
        _LIVE.discard(self)

    def _rest(self) -> None:
        """Waits until it is woken, or has something to do: as long as jobs come one after the other, it only dozes."""
        before, self._dozing = -1, True
        while before != self._put and not self._ending:
            before = self._put
            if self._woken.acquire(timeout=_DOZE) or self._jobs:
                return
        self._dozing = False
        if not self._jobs and not self._ending:
            self._woken.acquire()

    def _next(self) -> list[J]:
        """What is queued, as far as it is done together."""
        jobs: list[J] = []
        size = 0
        while self._jobs and len(jobs) < MOST and size < MOST_BYTES:
            jobs.append(self._jobs.popleft())
            size += jobs[-1].size
        return jobs

    def _tried(self, jobs: list[J]) -> Sequence[Answer[J]]:
        """Does all jobs that nobody cancelled, and says how it went with the last ones; whom others were done for need
        not wait for these, and is told.
        """
        jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
        last: Sequence[Answer[J]] = ()
        for answers in self._worker.perform(jobs) if jobs else ():
            _tell(last)
            last = answers
        return last


def _tell(answers: Iterable[Answer[Any]]) -> None:
    for job, error in answers:
        job.tell(error)


@functools.cache
def _at_exit() -> None:
    """What is queued is done also by a process that ends without closing."""
    atexit.register(_finish)


def _finish() -> None:
    for each in list(_LIVE):
        each.stop()
        each.join()
