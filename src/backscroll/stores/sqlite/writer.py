"""Write to a database: jobs that were queued together are committed together."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from backscroll.errors import CorruptionError, StoreUnavailableError
from backscroll.ports import Tip
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.fork_lock import exclusive_lock
from backscroll.stores.group_commit import Answer
from backscroll.stores.sqlite.errors import ALONE, OthersWriteError, code, translated, translated_errors
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.jobs import Append, Delete, Hold, Job, Transactions


class Writer:
    """Performs jobs in one database, with a connection that stays open between them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file: Transactions | None = None
        self._guard = CommitCounter(database.path)  # a separate object, because it stays open
        self._lock = exclusive_lock()
        """Held while the connection is used, so that the process does not fork meanwhile."""

    def perform_now(self, job: Job, *, in_loop: bool) -> Sequence[Answer[Job]] | None:
        """Perform an append if the file is open and no other process writes to it; else return `None`.

        An event loop leaves it to the thread to copy a long write-ahead log to the file.
        """
        if type(job) is not Append:
            return None
        with self._lock:
            if self._file is None:
                return None
            failure = self._whole((job,), waits=False, copies=not in_loop)
        if isinstance(failure, OthersWriteError):
            return None
        return [(job, job.error)] if failure is None else self._failed([job], failure)

    def perform(self, jobs: list[Job]) -> Iterable[list[Answer[Job]]]:
        """Perform all jobs in one transaction, or each in its own if one may fail alone. A turn is always alone."""
        if any(isinstance(job, Hold) for job in jobs):
            return self._around_turns(jobs)
        return [self._done(jobs)]

    def _around_turns(self, jobs: list[Job]) -> Iterator[list[Answer[Job]]]:
        together: list[Job] = []
        for job in jobs:
            if not isinstance(job, Hold):
                together.append(job)
                continue
            yield self._done(together) if together else []
            yield []  # so that finished jobs do not wait for another writer's turn
            yield self._done([job])
            together = []
        if together:
            yield self._done(together)

    def _done(self, jobs: list[Job]) -> list[Answer[Job]]:
        with self._lock:
            failure = self._whole(jobs)
        if failure is not None:
            return self._failed(jobs, failure)
        deleted = [job for job in jobs if type(job) is Delete and job.error is None]
        unclear = self._clear() if deleted else None
        return [(job, unclear if job in deleted else job.error) for job in jobs]

    def _failed(self, jobs: list[Job], error: BaseException) -> list[Answer[Job]]:
        if len(jobs) > 1 and code(error) in ALONE:
            return [answer for job in jobs for answer in self._done([job])]
        instead = translated(self._database.path, error)
        if instead is not error:
            instead.__cause__ = error
        return [(job, instead) for job in jobs]

    def _whole(self, jobs: Sequence[Job], *, waits: bool = True, copies: bool = True) -> BaseException | None:
        """Perform all jobs or none; return what failed. `waits`, `copies`: see `Transactions._begin`."""
        try:
            if self._file is None:
                self._file = self._begun()
            self._database.check_place()
            if self._file.write(jobs, waits=waits, copies=copies):
                self._guard.raise_to(self._file.meta.commits)
        except OthersWriteError as error:
            return error
        except BaseException as error:  # every error: a caller waits for each result
            self.close_idle()  # which rolls back the transaction
            return error
        return None

    def _clear(self) -> Exception | None:
        """Rewrite the database and truncate its write-ahead log, so that no file has the deleted bytes.

        `secure_delete` alone is not enough: it overwrites deleted rows, but not the copies that stay in unused parts of
        pages when SQLite moves rows between pages.
        """
        try:
            with translated_errors(self._database.path), self._lock:
                self._file = self._file or self._begun()
                self._file.connection.execute("vacuum")
                busy = self._file.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except Exception as error:
            with self._lock:
                self.close_idle()
            return error
        if not busy:
            return None
        return StoreUnavailableError(
            f"{self._database.path}: the session is deleted, but others read the database, so its -wal may still "
            "have the deleted bytes: delete the session again"
        )

    def _begun(self) -> Transactions:
        return Transactions(self._database.connect(), self._database.incarnation, self._database.timeout)

    def tip(self, session: str) -> Tip | None:
        """The tip of a log, if the file is open. One statement, unless another connection wrote to the file since."""
        with self._lock:
            if self._file is None:
                return None
            try:
                return self._file.tip(session)
            except (sqlite3.Error, CorruptionError):
                self.close_idle()
                return None  # then the caller reads the file, which raises the error

    def close_idle(self) -> None:
        """Close the connection: the next job opens a new one."""
        file, self._file = self._file, None
        if file is not None:
            file.connection.close()
        self._guard.close()
