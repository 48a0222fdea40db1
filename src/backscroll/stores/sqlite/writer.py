"""The one thread of a process that writes to a database, committing together what came together. Only that lives here.

A commit costs a wait for the disk, whatever is in it. So jobs are queued, and what has queued up while one commit was
waiting is the next one. Only where a job is alone, and a thread waits for it, that thread does it by itself: to wake
another one, and to be woken by it, takes as long as the rest of the work.
"""

import atexit
import contextlib
import functools
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

from backscroll.errors import StoreUnavailable
from backscroll.stores.gate import GATE, closes_for_forks
from backscroll.stores.guard import Guard
from backscroll.stores.sqlite.faults import ALONE, code, told, translated
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.jobs import Erase, Job, Transactions

MOST = 1_000  # jobs of one commit
MOST_BYTES = 8_000_000  # of one commit, so that a large append does not hold up many small ones for long
_DOZE = 0.005  # seconds: how long a job may have to wait that nobody waits for
_LIVE: "set[Writer]" = set()
"""Those that have something to finish before the interpreter ends."""
Answer = tuple[Job, BaseException | None]


class Writer:
    """Takes jobs until it is stopped, and ends when all of them are done."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: deque[Job] = deque()
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
        self._file: Transactions | None = None
        self._guard = Guard(database.path)  # one of its own, since it is kept open
        self._thread = threading.Thread(target=self._run, name=f"writes {database.path}", daemon=True)

    def start(self) -> None:
        """Begins. Raises `StoreUnavailable` where the interpreter is ending and starts no more threads."""
        _at_exit()
        closes_for_forks(self)
        _LIVE.add(self)
        try:
            self._thread.start()
        except RuntimeError as error:
            _LIVE.discard(self)
            raise StoreUnavailable(f"{self._database.path}: the interpreter is ending, nothing was written") from error

    def put(self, job: Job) -> None:
        """Queues a job. Must not be called after `stop`."""
        job.done.writer = self
        self._queue.append(job)
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

    def help(self, done: Future[None]) -> None:
        """Does the job that somebody is about to wait for, if it is the only one; else has it done at once."""
        if not self._turn.locked():
            with self._turn:
                alone = len(self._queue) == 1 and self._queue[0].done is done
                answers = self._tried([self._queue.popleft()]) if alone else []
            for job, error in answers:
                job.answer(error)
        if not done.done():
            self.wake()

    def join(self) -> None:
        """Waits until everything is done."""
        if threading.current_thread() is not self._thread:  # told of a job, somebody may close the store at once
            self._thread.join()

    def let_go(self) -> None:
        """Closes its connection, while it is not in use."""
        self._drop()

    def forked(self) -> None:
        """In the child of a fork there is no such thread, and nothing for it to finish."""
        _LIVE.discard(self)

    def _run(self) -> None:
        while not self._ending or self._queue:
            if not self._queue:
                self._rest()
            with self._turn:
                answers = self._tried(self._next())
            for job, error in answers:
                job.answer(error)
            del answers  # while it waits, nothing of them is kept alive
        with self._turn, GATE:
            self._drop()
        _LIVE.discard(self)

    def _rest(self) -> None:
        """Waits until it is woken, or has something to do: as long as jobs come one after the other, it only dozes."""
        before, self._dozing = -1, True
        while before != self._put and not self._ending:
            before = self._put
            if self._woken.acquire(timeout=_DOZE) or self._queue:
                return
        self._dozing = False
        if not self._queue and not self._ending:
            self._woken.acquire()

    def _next(self) -> list[Job]:
        """What is queued, as far as it goes into one commit."""
        jobs: list[Job] = []
        size = 0
        while self._queue and len(jobs) < MOST and size < MOST_BYTES:
            jobs.append(self._queue.popleft())
            size += jobs[-1].size
        return jobs

    def _tried(self, jobs: list[Job]) -> list[Answer]:
        """Does all jobs that nobody cancelled, and says how it went with each."""
        jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
        return self._done(jobs) if jobs else []

    def _done(self, jobs: list[Job]) -> list[Answer]:
        try:
            with GATE:
                self._whole(jobs)
        except BaseException as error:  # whatever it was: somebody waits for each of them
            if len(jobs) > 1 and code(error) in ALONE:
                return [answer for job in jobs for answer in self._done([job])]
            instead = translated(self._database.path, error)
            if instead is not error:
                instead.__cause__ = error
            return [(job, instead) for job in jobs]
        erased = [job for job in jobs if isinstance(job, Erase) and job.error is None]
        failure = self._clear() if erased else None
        return [(job, failure if job in erased else job.error) for job in jobs]

    def _whole(self, jobs: Sequence[Job]) -> None:
        """All jobs or none."""
        try:
            self._write(jobs)
        except BaseException:
            self._drop()  # and with it whatever was begun
            raise

    def _write(self, jobs: Sequence[Job]) -> None:
        if self._file is None:
            self._file = Transactions(self._database.connect())
        self._database.check_place()
        if not self._file.write(jobs):
            return
        self._guard.raise_to(self._file.meta.commits)

    def _clear(self) -> Exception | None:
        """Writes the database anew and cuts its log to nothing: what was erased is in no file then.

        `secure_delete` overwrites what is deleted, but not the copies that stay in the unused parts of pages when
        SQLite moves rows from page to page.
        """
        try:
            with told(self._database.path), GATE:
                self._file = self._file or Transactions(self._database.connect())
                self._file.connection.execute("vacuum")
                busy = self._file.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except Exception as error:
            with GATE:
                self._drop()
            return error
        if not busy:
            return None
        return StoreUnavailable(
            f"{self._database.path}: the session is erased, but while others read the database its -wal file may still "
            "hold what it was: erase it again"
        )

    def _drop(self) -> None:
        """The next job gets a new connection."""
        file, self._file = self._file, None
        if file is not None:
            file.connection.close()
        self._guard.close()


@functools.cache
def _at_exit() -> None:
    """What is queued is written also by a process that ends without closing."""
    atexit.register(_finish)


def _finish() -> None:
    for writer in list(_LIVE):
        writer.stop()
        writer.join()
