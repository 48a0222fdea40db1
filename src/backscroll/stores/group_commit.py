"""Group commit: one thread batches the writes that arrived while it was busy.

Making a write durable costs a wait for the disk, however small it is: all jobs that queue up during one wait share the
next. If a job is alone, the calling thread performs it: to wake another thread and to be woken by it would take as long
as the rest of the work. An event loop does so only while that is fast and no other session writes.
"""

import atexit
import contextlib
import functools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from backscroll.errors import BackscrollError, StoreUnavailableError
from backscroll.ports import Tip
from backscroll.stores.fork_lock import GATE, closes_for_forks

MOST = 1_000  # jobs per batch
MOST_BYTES = 8_000_000  # per batch, so that large jobs do not delay many small ones for long
_DOZE = 0.005  # seconds, the longest delay of a job whose result no caller waits for
_SHORT = 0.001  # seconds that a batch may take for event loops to perform the next one themselves
_TRIAL = 16  # batches that must be short before they do, after one that was not; a quarter in a new process
_ROW = 16  # jobs that an event loop performs in a row before its other tasks get a turn
_CROWD = 0.01  # seconds after another session's job in which an event loop waits for more jobs to share a batch with
_SMALL = 64_000  # bytes of a job that an event loop performs
_LIVE: "set[Queue[Any]]" = set()
"""Queues whose jobs must be done before the interpreter exits."""


class Done(Future[Any]):
    """The result of a job. A thread that waits for it may perform the job itself."""

    queue: "Queue[Any] | None" = None
    """The queue with the job; `None` when the job is done."""

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result, at most `timeout` seconds. Raises the job's error."""
        self._hurry(timeout is None)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the job, at most `timeout` seconds, and return its error."""
        self._hurry(timeout is None)
        return super().exception(timeout)

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Call `fn` when the job is done. Awaiting the future starts with this."""
        super().add_done_callback(fn)
        self._hurry(False)

    def _hurry(self, helps: bool) -> None:
        queue = self.queue
        if queue is not None and helps:
            queue.help(self)
        elif queue is not None:
            queue.wake()


class Finished(Future[Any]):
    """The result of a job that was done before it was asked for. A plain future costs several times as much."""

    def __init__(self, answer: object) -> None:  # without that of the base class, which makes a lock
        self._state, self._result, self._exception = "FINISHED", answer, None

    _condition = functools.cached_property(lambda _: threading.Condition())
    _waiters = functools.cached_property(lambda _: list[Any]())

    def done(self) -> bool:
        """True."""
        return True

    def result(self, timeout: float | None = None) -> Any:  # noqa: ARG002 - as in the base class
        """Return the result."""
        return self._result


@dataclass(slots=True, eq=False)
class Job:
    """A job and its result."""

    session: str
    _done: Done | None = field(default=None, init=False)
    error: BackscrollError | None = field(default=None, init=False)
    answer: object = field(default=None, init=False)
    """The result."""

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return 0

    @property
    def done(self) -> Done:
        """The result of a job that may take a while. First used before another thread has the job."""
        if self._done is None:
            self._done = Done()
        return self._done

    def resolve(self, error: BaseException | None) -> None:
        """Hand the result, or an error, to the caller."""
        self.done.queue = None
        if error is None:
            self.done.set_result(self.answer)
        else:
            self.done.set_exception(error)


J = TypeVar("J", bound=Job)
Answer = tuple[J, BaseException | None]


class Worker(Protocol[J]):
    """Performs jobs, one by one or together. Never called from two threads at once."""

    def perform_now(self, job: J, *, in_loop: bool) -> Sequence[Answer[J]] | None:
        """Perform a job if that needs no wait for other writers; else return `None`. Must not raise.

        `in_loop`: the calling thread runs an event loop, so leave longer work to the other thread.
        """
        ...

    def perform(self, jobs: list[J]) -> Iterable[Sequence[Answer[J]]]:
        """Perform jobs in order; yield the results of those that were done together. Must not raise."""
        ...

    def tip(self, session: str) -> Tip | None:
        """The tip of a log, if it is known from earlier jobs; else `None`."""
        ...

    def close_idle(self) -> None:
        """Close what stays open between two jobs."""
        ...


class _Pace:
    """Whether an event loop performs its jobs itself: those of one session, as long as batches are short."""

    def __init__(self) -> None:
        self._trial = _TRIAL // 4
        self._row = 0
        self._session = ""
        self._asked = self._crowded = float("-inf")

    def took(self, seconds: float) -> None:
        """Note how long a batch took."""
        if seconds > _SHORT:
            self._trial = _TRIAL
        elif self._trial:
            self._trial -= 1

    def allows(self, job: Job) -> bool:
        """Decide on a job."""
        now = time.monotonic()
        if job.session != self._session and now - self._asked < _CROWD:
            self._crowded = now
        self._session, self._asked = job.session, now
        self._row += 1
        if self._trial or self._row > _ROW or now - self._crowded < _CROWD or job.size > _SMALL:
            self._row = 0
            return False
        return True


class Queue(Generic[J]):
    """Takes jobs until it is stopped, and ends when all of them are done."""

    def __init__(self, name: str, worker: Worker[J]) -> None:
        self._name, self._worker = name, worker
        self._jobs: deque[J] = deque()
        self._ending = False
        self._put = 0
        """Number of jobs ever queued."""
        self._dozing = False
        """Whether the thread checks the queue soon and need not be woken."""
        self._woken = threading.Lock()
        """Released to wake the thread."""
        self._woken.acquire()
        self._performing = threading.Lock()
        """Held from taking jobs out of the queue until they are done, which keeps their order."""
        self._pace = _Pace()
        self._thread = threading.Thread(target=self._run, name=f"writes {name}", daemon=True)

    def start(self) -> None:
        """Start the thread. Raises `StoreUnavailableError` if the interpreter is exiting and starts no more threads."""
        _at_exit()
        closes_for_forks(self)
        _LIVE.add(self)
        try:
            self._thread.start()
        except RuntimeError as error:
            _LIVE.discard(self)
            raise StoreUnavailableError(f"{self._name}: the interpreter is exiting: nothing was written") from error

    def put(self, job: J) -> None:
        """Queue a job. Must not be called after `stop`."""
        job.done.queue = self
        self._jobs.append(job)
        self._put += 1
        if not self._dozing:
            self.wake()

    def try_now(self, job: J) -> Future[Any] | None:
        """Perform a job in the calling thread if no other is queued or under way. `None`: it must be `put`."""
        in_loop = _in_event_loop()
        if in_loop and not self._pace.allows(job):
            return None
        if self._jobs or not self._performing.acquire(blocking=False):
            return None
        try:
            if self._jobs or self._ending:  # after its end, the thread has closed the worker
                return None
            begun = time.monotonic()
            answers = self._worker.perform_now(job, in_loop=in_loop)
            self._pace.took(time.monotonic() - begun)
        finally:
            self._performing.release()
        if answers is None:
            return None
        error = answers[0][1]
        if error is None:
            return Finished(job.answer)
        job.resolve(error)
        return job.done

    def stop(self) -> None:
        """End the thread when all jobs are done. No job may follow."""
        self._ending = True
        self.wake()

    def wake(self) -> None:
        """Have the thread check the queue now."""
        with contextlib.suppress(RuntimeError):  # the thread was woken already
            self._woken.release()

    def help(self, done: Future[Any]) -> None:
        """Perform the job that the caller waits for, if it is the only one; else wake the thread."""
        if not self._performing.locked():
            with self._performing:
                alone = len(self._jobs) == 1 and self._jobs[0].done is done
                answers = self._tried([self._jobs.popleft()]) if alone else ()
            if alone:
                _resolve(answers)
                return
        if not done.done():
            self.wake()

    def tip(self, session: str) -> Tip | None:
        """The tip of a log, if the worker knows it and is not busy; else `None`."""
        if not self._performing.acquire(blocking=False):
            return None
        try:
            return self._worker.tip(session)
        finally:
            self._performing.release()

    def join(self) -> None:
        """Wait until all jobs are done."""
        if threading.current_thread() is not self._thread:  # a callback of a job may close the store
            self._thread.join()

    def close_idle(self) -> None:
        """Close the worker's idle connection before a fork."""
        self._worker.close_idle()

    def forked(self) -> None:
        """Forget the queue in the child of a fork: its thread and jobs are the parent's."""
        _LIVE.discard(self)

    def _run(self) -> None:
        while not self._ending or self._jobs:
            if not self._jobs:
                self._rest()
            with self._performing:
                jobs, begun = self._next(), time.monotonic()
                answers = self._tried(jobs)
                self._pace.took(time.monotonic() - begun)
            _resolve(answers)
            del jobs, answers  # an idle thread must keep nothing alive
        with self._performing, GATE:
            self._worker.close_idle()
        _LIVE.discard(self)

    def _rest(self) -> None:
        """Wait for a job. As long as jobs keep coming, only doze, which saves waking the thread for each."""
        before, self._dozing = -1, True
        while before != self._put and not self._ending:
            before = self._put
            if self._woken.acquire(timeout=_DOZE) or self._jobs:
                return
        self._dozing = False
        if not self._jobs and not self._ending:
            self._woken.acquire()

    def _next(self) -> list[J]:
        """Take the next batch out of the queue."""
        jobs: list[J] = []
        size = 0
        while self._jobs and len(jobs) < MOST and size < MOST_BYTES:
            jobs.append(self._jobs.popleft())
            size += jobs[-1].size
        return jobs

    def _tried(self, jobs: list[J]) -> Sequence[Answer[J]]:
        """Perform all jobs that are not cancelled. Resolve all but those done last, and return the results of these.

        The caller resolves them without the lock: a callback may append and wait for its own job.
        """
        jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
        last: Sequence[Answer[J]] = ()
        for answers in self._worker.perform(jobs) if jobs else ():
            _resolve(last)
            last = answers
        return last


def _in_event_loop() -> bool:
    """Return whether the calling thread runs an event loop: it runs none before `asyncio` is loaded, which is slow."""
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return running is not None and running() is not None


def _resolve(answers: Iterable[Answer[Any]]) -> None:
    for job, error in answers:
        job.resolve(error)


@functools.cache
def _at_exit() -> None:
    """Perform queued jobs also when the process ends without closing the store."""
    atexit.register(_finish)


def _finish() -> None:
    for each in list(_LIVE):
        each.stop()
        each.join()
