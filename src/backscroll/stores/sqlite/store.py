"""Sessions in an SQLite file: the default store for durable sessions.

    store = SqliteStore("sessions.db")

One file holds any number of sessions, for any number of processes. Acknowledged records survive the process and, with
`durability="full"`, a power cut. Every record is checked when it is read. No file is touched before the first use. A
forked process opens its own connections.
"""

import os
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Extent, Record, Stored, Tip
from backscroll.stores.fork_lock import GATE
from backscroll.stores.names import checked, checked_lease, checked_once
from backscroll.stores.problems import Problem, RepairAction
from backscroll.stores.queued_store import TIMEOUT, QueuedStore, checked_durability
from backscroll.stores.sqlite import rows, side_files
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.jobs import Append, Delete, Fork, Hold, Job, Lease
from backscroll.stores.sqlite.repair import repair
from backscroll.stores.sqlite.verify import accept_loss, verify
from backscroll.stores.sqlite.writer import Writer
from backscroll.stores.turns import Turn


class SqliteStore(QueuedStore[Job]):
    """A store in one SQLite file and two more next to it: `-wal` and `-commits`. Move or copy all three.

    Search creates the folder `-search` next to them, and creates it again if it is missing.

    Args:
        path: the file. The first append creates it.
        durability: `"full"`: an append is done when it survives a power cut. `"normal"`: when it survives the process.
            Then a power cut may silently lose what came after the last checkpoint.
        timeout: seconds to wait for other processes.
        read_only: change no byte of the file. One of an earlier version is read from a copy, and a file that is no
            store raises `ConfigurationError`.

    Raises:
        ConfigurationError: an argument is invalid.
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
            raise ConfigurationError(
                f"`path` must be the path of a file, not {name!r}; for a store in memory use MemoryStore"
            )
        path = os.path.realpath(name)  # `-commits` is next to the file itself, not to a link
        self._database = Database(path, durability, timeout, read_only=read_only)
        weakref.finalize(self, self._database.readers.close)
        super().__init__(path, durability)

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Future[str | None]:
        """Append records at `expected_position`. Done when they are as safe as `durability` says.

        The calling thread writes them if no other thread or process is writing to the file. In an event loop it does so
        only while writing is fast and no other session writes, so that sessions share commits.
        """
        name = checked_once(session)
        job = Append(name, expected_position, rows.rows_of(name, expected_position, records), incarnation)
        return self._perform(job) if turn is None else self._in_turn(job, turn)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`, at most to the log's end when reading starts.

        Raises:
            CorruptionError: at the first record that is missing or damaged.
            ConflictError: the session is deleted meanwhile.
        """
        return self._read(checked(session), max(start, 0), stop)

    def _read(self, name: str, at: int, stop: int | None) -> Iterator[Stored]:
        known: rows.SessionRow | None = None
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

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation: its number in the file, which is never reused."""
        name = checked_once(session)
        known = self._known_tip(name)
        if known is not None:
            return known
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
        return Tip(0, None) if found is None else Tip(found.end, self._database.incarnation(found.id))

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
            return None if found is None else rows.place(connection, found, seq, key)

    def number(self, session: str) -> int | None:
        """The session's number in this file, which is never reused; `None` for an unknown session."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
        return found.id if found else None

    def extent(self, session: str) -> Extent:
        """Return the bytes of a session's own records. Reads no body. The file has no times."""
        name = checked(session)
        with self._database.readers.reading() as connection:
            found = rows.find(connection, name)
            return Extent(0 if found is None else rows.size(connection, found))

    def numbers(self) -> set[int]:
        """Numbers of all sessions."""
        with self._database.readers.reading() as connection:
            return rows.numbers(connection)

    def sessions(self) -> list[str]:
        """Names in the order of creation. Raises `CorruptionError` if one is damaged."""
        with self._database.readers.reading() as connection:
            return [
                session.name for session in sorted(rows.all_session_rows(connection), key=lambda session: session.id)
            ]

    def fork(self, session: str, new: str, at: int) -> Future[None]:
        """Start a session that shares the first `at` records of another. Writes one row for any number of these."""
        return self._put(Fork(checked(session), checked(new), at))

    def lease(self, session: str, owner: str, seconds: float) -> Future[None]:
        """Lease a session to one writer for `seconds` from now, by the clock of this machine."""
        return self._put(Lease(checked(session), *checked_lease(owner, seconds)))

    def turn(self, session: str) -> Future[Turn[Append]]:
        """Keep all others from writing to the file until the append that passes this turn."""
        job = Hold(checked(session))
        self._put(job, at_once=True)
        return job.turn.granted

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session, and all its bytes in every file. Also completes a deletion that was interrupted.

        Rewrites the whole database while others wait. Concurrent deletions share that cost.
        """
        try:
            self._put(Delete(checked(session), cascade)).result()
        finally:
            side_files.sweep(self.path, self.numbers)

    def verify(self, session: str | None = None) -> Iterator[Problem]:
        """Read everything, or one session, and yield what differs from what was written. Changes nothing."""
        return verify(self._database, None if session is None else checked(session))

    def accept_loss(self) -> int:
        """Continue with what is left after acknowledged commits were lost. Returns their number."""
        return accept_loss(self._database)

    def repair(self) -> list[RepairAction]:
        """Repair the file, and return the actions and losses; an empty list if nothing is wrong.

        A new file is written from every record that passes its checksum, wherever it is in the file. The damaged file
        is kept as `.damaged-1` (2, 3 ...) with its `-wal` and `-commits`. A record of the kind `lost` (`ports.LOST`)
        replaces each lost one, so that all others stay readable. What is deleted later stays in the `.damaged` files:
        delete them when they are no longer needed. If the process is killed at the moment when the files are swapped,
        the next use raises that commits are missing, and everything is in these files.

        Raises:
            StoreUnavailableError: another process has the file open.
            CorruptionError: nothing in the file can be read. It is left unchanged.
        """
        self.close()
        return repair(self._database)

    def close_idle(self) -> None:
        """Close idle connections before a fork."""
        self._database.readers.close()

    def forked(self) -> None:
        """Reset in the child of a fork. The parent writes what it had queued."""
        super().forked()
        self._database.forked()

    def _worker(self) -> Writer:
        if self._database.read_only:
            raise ConfigurationError(f"{self.path} was opened with `read_only`: open it without to change it")
        return Writer(self._database)

    def _free(self) -> None:
        with GATE:
            self._database.forget()
