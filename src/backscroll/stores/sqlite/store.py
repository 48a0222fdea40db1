"""Sessions in an SQLite file: the store that is used where nothing else is named. Only the port's operations live here.

    store = SqliteStore("sessions.db")

One file holds any number of sessions, and any number of processes may use it. What is acknowledged survives the process
and, with `durability="full"`, a power cut; every record is checked when it is read. Nothing is touched before the first
use. A forked process opens anew.
"""

import os
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Extent, Record, Stored, Tip
from backscroll.stores.fork_lock import GATE
from backscroll.stores.names import checked, checked_keys, checked_lease
from backscroll.stores.problems import Mended, Problem
from backscroll.stores.queued_store import TIMEOUT, QueuedStore, checked_durability
from backscroll.stores.sqlite import rows
from backscroll.stores.sqlite import side_files as beside
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.jobs import Append, Delete, Fork, Hold, Job, Lease
from backscroll.stores.sqlite.repair import repair
from backscroll.stores.sqlite.verify import accept_loss, verify
from backscroll.stores.sqlite.writer import Writer
from backscroll.stores.turns import Turn


class SqliteStore(QueuedStore[Job]):
    """A store in one SQLite file and two more beside it: its `-wal` log and its `-commits`. Move or copy all three.

    The folder `-search` beside them is made by searching, and made again where it is missing.

    `durability` says when an append is done: `full` when it would survive a power cut, `normal` when it would survive
    the end of the process; a power cut may then take what came since the last checkpoint, and nothing tells of it.
    `timeout` is how many seconds to wait for other processes. With `read_only` no byte of the file is changed, one of
    an earlier version is read from a copy, and one that is no store is a `ConfigurationError`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        durability: str = "full",
        *,
        timeout: float = TIMEOUT,
        read_only: bool = False,
    ) -> None:
        checked_durability(durability)
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name or name == ":memory:":
            raise ConfigurationError(f"{name!r} names no file; for a store in memory there is MemoryStore")
        path = os.path.realpath(name)  # `-commits` lies beside the file, not a link
        self._database = Database(path, durability, timeout, read_only=read_only)
        weakref.finalize(self, self._database.readers.close)
        super().__init__(path, durability)

    def append(
        self, session: str, first: int, records: Sequence[Record], *, incarnation: str | None = None, turn: Any = None
    ) -> Future[str | None]:
        """Queues records for the places from `first` on. Done when they are as safe as `durability` says."""
        name = checked(session)
        job = Append(name, first, rows.rows_of(name, first, checked_keys(records)), incarnation)
        return job.done if turn is not None and turn.give(job) else self._put(job)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop` or the end that the log has when reading begins.

        Raises `CorruptionError` at the first record that is missing or altered, and `ConflictError` if the session is
        deleted meanwhile.
        """
        return self._read(checked(session), max(start, 0), stop)

    def _read(self, name: str, at: int, stop: int | None) -> Iterator[Stored]:
        known: rows.Begun | None = None
        while stop is None or at < stop:
            with self._database.readers.reading() as connection:
                session = rows.find(connection, name)
                if session is None and known is None:
                    return
                if session is None or (known is not None and known.id != session.id):
                    raise ConflictError(f"session {name!r} was deleted while it was read")
                if known is None:
                    known, stop = session, session.end if stop is None else min(stop, session.end)
                assert stop is not None
                got = rows.load(connection, session, at, stop) if at < stop else []
            yield from got
            at += len(got)
            if not got:
                return

    def end(self, session: str) -> int:
        """The place behind the last record."""
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        """The same, with the session's incarnation: its number in the file, which no other one ever gets."""
        name = checked(session)
        known = self._known_tip(name)
        if known is not None:
            return known
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
        return Tip(0, None) if found is None else Tip(found.end, self._database.incarnation(found.id))

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """The place of the first record with a `seq` of at least this one, or of the record with this key."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
            return None if found is None else rows.place(connection, found, seq, key)

    def number(self, session: str) -> int | None:
        """The session's own number in this file, which no other one ever gets; None before it begins."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
        return found.id if found else None

    def extent(self, session: str) -> Extent:
        """Return the bytes of a session's own records. Reads no body; when they came is not in the file."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
            return Extent(0 if found is None else rows.size(connection, found))

    def numbers(self) -> set[int]:
        """Those of all sessions."""
        with self._database.readers.reading() as connection:
            return rows.numbers(connection)

    def sessions(self) -> list[str]:
        """Names in the order of their beginning. Raises `CorruptionError` where one was altered."""
        with self._database.readers.reading() as connection:
            return [session.name for session in sorted(rows.all_begun(connection), key=lambda session: session.id)]

    def fork(self, session: str, new: str, at: int) -> Future[None]:
        """Begins a session that shares the first `at` records of another. Costs one row, however many these are."""
        return self._put(Fork(checked(session), checked(new), at))

    def lease(self, session: str, owner: str, seconds: float) -> Future[None]:
        """Keeps a session for one writer for so many seconds from now, by the clock of this machine."""
        return self._put(Lease(checked(session), *checked_lease(owner, seconds)))

    def turn(self, session: str) -> Future[Turn[Append]]:
        """Keeps all others from writing to the file until the append that is made with what this answers."""
        job = Hold(checked(session))
        self._put(job, at_once=True)
        return job.turn.granted

    def delete(self, session: str, cascade: bool = False) -> None:
        """Deletes a session, and every trace of it in every file. Also finishes an erasure that was cut short.

        Costs as much as writing the whole database: others wait, but several erasures at once share that cost.
        """
        try:
            self._put(Delete(checked(session), cascade)).result()
        finally:
            beside.sweep(self.path, self.numbers)

    def verify(self, session: str | None = None) -> Iterator[Problem]:
        """Reads everything, or one session, and yields what is not as it was written. Changes nothing."""
        return verify(self._database, None if session is None else checked(session))

    def accept_loss(self) -> int:
        """Goes on with what is left, where acknowledged commits are gone. Answers how many these were."""
        return accept_loss(self._database)

    def repair(self) -> list[Mended]:
        """Mends the file, and says what it did and what was lost; an empty list where nothing is wrong.

        A new file is written from every record that is as it was written, wherever it stands; the damaged one is kept
        beside it as `.damaged-1` (2, 3 ...) with its `-wal` and `-commits`. Where a record is lost, one of the kind
        `lost` (`ports.LOST`) takes its place, so that all others can be read as before. Nobody else may have the file
        open (`StoreUnavailableError`). `CorruptionError` where nothing in it can be read; then it is left as it is.

        What is deleted later stays in the `.damaged` files: delete them when they are needed no more. Were the process
        killed in the very moment when the files change places, the next use says that commits are gone, and all that
        was there is in these files.
        """
        self.close()
        return repair(self._database)

    def let_go(self) -> None:
        """Closes what is open between uses: for a fork, while nothing is in use."""
        self._database.readers.close()

    def forked(self) -> None:
        """Begins anew, in the child of a fork. What the parent had queued is the parent's."""
        super().forked()
        self._database.forked()

    def _put(self, job: Job, *, at_once: bool = False) -> Future[Any]:
        if self._database.read_only:
            raise ConfigurationError(
                f"{self.path} was opened for reading only: open it without `read_only` to change it"
            )
        return super()._put(job, at_once=at_once)

    def _worker(self) -> Writer:
        return Writer(self._database)

    def _free(self) -> None:
        with GATE:
            self._database.forget()
