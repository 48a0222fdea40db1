"""Writing to a database: what comes together is committed together. Only that lives here."""

from collections.abc import Iterator, Sequence

from backscroll.errors import StoreUnavailableError
from backscroll.ports import Tip
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.fork_lock import GATE
from backscroll.stores.group_commit import Answer
from backscroll.stores.sqlite.errors import ALONE, code, translated, translated_errors
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.jobs import Delete, Hold, Job, Transactions


class Writer:
    """Does jobs in one database, with a connection that stays open between them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file: Transactions | None = None
        self._guard = CommitCounter(database.path)  # one of its own, since it is kept open

    def perform(self, jobs: list[Job]) -> Iterator[list[Answer[Job]]]:
        """All of them in one transaction, or each in its own where one of them fails by itself; a turn alone."""
        together: list[Job] = []
        for job in jobs:
            if not isinstance(job, Hold):
                together.append(job)
                continue
            yield self._done(together) if together else []
            yield []  # nobody waits for the turn of another one
            yield self._done([job])
            together = []
        if together:
            yield self._done(together)

    def _done(self, jobs: list[Job]) -> list[Answer[Job]]:
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
        deleted = [job for job in jobs if type(job) is Delete and job.error is None]
        failure = self._clear() if deleted else None
        return [(job, failure if job in deleted else job.error) for job in jobs]

    def _whole(self, jobs: Sequence[Job]) -> None:
        """All jobs or none."""
        try:
            self._write(jobs)
        except BaseException:
            self.let_go()  # and with it whatever was begun
            raise

    def _write(self, jobs: Sequence[Job]) -> None:
        if self._file is None:
            self._file = self._begun()
        self._database.check_place()
        if not self._file.write(jobs):
            return
        self._guard.raise_to(self._file.meta.commits)

    def _clear(self) -> Exception | None:
        """Writes the database anew and cuts its log to nothing: what was deleted is in no file then.

        `secure_delete` overwrites what is deleted, but not the copies that stay in the unused parts of pages when
        SQLite moves rows from page to page.
        """
        try:
            with translated_errors(self._database.path), GATE:
                self._file = self._file or self._begun()
                self._file.connection.execute("vacuum")
                busy = self._file.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except Exception as error:
            with GATE:
                self.let_go()
            return error
        if not busy:
            return None
        return StoreUnavailableError(
            f"{self._database.path}: the session is deleted, but while others read the database its -wal may still "
            "hold what it was: delete it again"
        )

    def _begun(self) -> Transactions:
        return Transactions(self._database.connect(), self._database.incarnation)

    def tip(self, session: str) -> Tip | None:
        """Where a log ends that it wrote to, unless somebody else wrote to the file since."""
        with GATE:
            return self._file.tip(session) if self._file is not None else None

    def let_go(self) -> None:
        """Closes its connection: the next job gets a new one."""
        file, self._file = self._file, None
        if file is not None:
            file.connection.close()
        self._guard.close()
