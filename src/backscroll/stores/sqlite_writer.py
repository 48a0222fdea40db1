"""The one thread of a process that writes to a database, committing together what came together. Only that lives here.

A commit costs a wait for the disk, whatever is in it. So appends are queued, and what has queued up while one commit
was waiting is the next one. Each append is checked by itself: a conflict is an answer and disturbs no other.
"""

import atexit
import functools
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from backscroll.errors import ConflictError, StoreUnavailable
from backscroll.stores import sqlite_rows as rows
from backscroll.stores.sqlite_faults import ALONE, code, told
from backscroll.stores.sqlite_file import Database
from backscroll.stores.sqlite_gate import GATE, closes_for_forks
from backscroll.stores.sqlite_guard import Guard

MOST = 1_000  # jobs of one commit
MOST_BYTES = 8_000_000  # of one commit, so that a large append does not hold up many small ones for long
_MOST_KNOWN = 10_000  # sessions whose ends are remembered
_LIVE: "set[Writer]" = set()
"""Those that have something to finish before the interpreter ends."""


@dataclass(slots=True, eq=False)
class Job:
    """What is to be done, and whom to tell."""

    session: str
    first: int
    rows: Sequence[rows.Row]
    erases: bool = False
    done: Future[None] = field(default_factory=Future)
    error: Exception | None = None

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return sum(len(row[-1]) for row in self.rows)

    def answer(self, error: BaseException | None = None) -> None:
        """Tells how it went."""
        if error is None:
            error = self.error
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class Writer:
    """Takes jobs until it is stopped, and ends when all of them are done."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._file: _File | None = None
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
        self._queue.put(job)

    def stop(self) -> None:
        """No job comes after this."""
        self._queue.put(None)

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
        going = True
        while going:
            jobs, going = self._next()
            self._commit([job for job in jobs if job.done.set_running_or_notify_cancel()])
            jobs.clear()  # while it waits, nothing of them is kept alive
        with GATE:
            self._drop()
        _LIVE.discard(self)

    def _next(self) -> tuple[list[Job], bool]:
        """What is queued, or waits for the first; and whether more can come."""
        jobs: list[Job] = []
        size = 0
        try:
            while len(jobs) < MOST and size < MOST_BYTES:
                job = self._queue.get(block=not jobs)
                if job is None:
                    return jobs, False
                jobs.append(job)
                size += job.size
        except queue.Empty:
            pass
        return jobs, True

    def _commit(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        try:
            with told(self._database.path), GATE:
                self._whole(jobs)
        except BaseException as error:  # whatever it was: somebody waits for each of them
            if len(jobs) > 1 and code(error.__cause__) in ALONE:
                for job in jobs:
                    self._commit([job])
                return
            for job in jobs:
                job.answer(error)
            return
        erasing = [job for job in jobs if job.erases]
        for job in jobs:
            if not job.erases:
                job.answer()
        if erasing:
            failure = self._clear()
            for job in erasing:
                job.answer(failure)

    def _whole(self, jobs: Sequence[Job]) -> None:
        """All jobs or none."""
        try:
            self._write(jobs)
        except BaseException:
            self._drop()  # and with it whatever was begun
            raise

    def _write(self, jobs: Sequence[Job]) -> None:
        if self._file is None:
            self._file = _File(self._database.connect())
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
                self._file = self._file or _File(self._database.connect())
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


class _File:
    """A connection, and what is known of the file as long as nobody else writes to it.

    A failure may leave what is known behind what is: then all of it is thrown away, with the connection.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.meta = rows.Meta(0, 0, 0)
        self._sessions: dict[str, rows.Begun] = {}
        self._version: int | None = None

    def write(self, jobs: Sequence[Job]) -> bool:
        """All jobs in one transaction. Says whether there was anything to commit."""
        self.connection.execute("begin immediate")
        version = self.connection.execute("pragma data_version").fetchone()[0]
        if version != self._version or len(self._sessions) > _MOST_KNOWN:  # another one wrote
            self.meta, self._version = rows.meta_of(self.connection), version
            self._sessions.clear()
        changed = False
        for job in jobs:
            job.error = None
            changed |= self._erase(job) if job.erases else self._append(job)
        if not changed:
            self.connection.execute("rollback")
            return False
        self.meta = self.meta._replace(commits=self.meta.commits + 1)
        rows.write_meta(self.connection, self.meta)
        self.connection.execute("commit")
        return True

    def _append(self, job: Job) -> bool:
        session = self._find(job.session)
        end = session.end if session else 0
        if job.first != end:
            job.error = ConflictError(
                f"session {job.session!r}: its log ends before place {end}, not before {job.first}"
            )
            return False
        if not job.rows:
            return False
        if taken := self._taken(session, [row[3] for row in job.rows if row[3] is not None]):
            job.error = ConflictError(f"session {job.session!r}: its log has a record with the key {taken!r}")
            return False
        if session is None:
            self.meta = self.meta._replace(begun=self.meta.begun + 1, sessions=self.meta.sessions + 1)
            session = rows.Begun(job.session, self.meta.begun, 0)
        session = session._replace(end=end + len(job.rows))
        rows.write_records(self.connection, session.id, job.rows)
        rows.write_session(self.connection, session)
        self._sessions[session.name] = session
        return True

    def _taken(self, session: rows.Begun | None, keys: Sequence[str]) -> str | None:
        """The first of these keys that is in use, also by an earlier one of them."""
        for number, key in enumerate(keys):
            if key in keys[:number]:
                return key
            if session is not None and rows.place(self.connection, session, None, key) is not None:
                return key
        return None

    def _erase(self, job: Job) -> bool:
        session = self._find(job.session)
        if session is None:
            return False
        rows.delete(self.connection, session)
        self._sessions.pop(session.name, None)
        self.meta = self.meta._replace(sessions=self.meta.sessions - 1)
        return True

    def _find(self, name: str) -> rows.Begun | None:
        return self._sessions.get(name) or rows.find(self.connection, name)


@functools.cache
def _at_exit() -> None:
    """What is queued is written also by a process that ends without closing."""
    atexit.register(_finish)


def _finish() -> None:
    for writer in list(_LIVE):
        writer.stop()
        writer.join()
