"""One database file: making it, checking it at the first use, and connections to it. No row is written here."""

import contextlib
import os
import shutil
import sqlite3
import stat
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from backscroll.errors import ConfigurationError, CorruptionError, StoreUnavailableError
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.fork_lock import GATE
from backscroll.stores.sqlite import rows, schema
from backscroll.stores.sqlite.errors import code, damaged, told

_MOST_IDLE = 4
_WAL_LIMIT = 16_000_000  # bytes that the log keeps for reuse after something large went through it
_MAKING = threading.Lock()
"""Closing a file drops the locks that the process holds on it, SQLite's as well: nobody may open it in between."""


class Database:
    """A file by its name. Nothing is touched before the first connection is asked for, which is done inside `GATE`."""

    def __init__(self, path: str, synchronous: str, timeout: float, *, read_only: bool = False) -> None:
        self.path, self.timeout, self.read_only = path, timeout, read_only
        self.guard = CommitCounter(path)
        self._synchronous = synchronous
        self._identity: tuple[int, int] | None = None
        """Of the file that was checked; None before that."""
        self._lock = threading.Lock()
        self._replaced = 0
        """How often another file was found in its place while it was in use."""
        self._copied: Database | None = None
        """What is read instead of a file of an earlier version that must not change."""
        self.readers = Readers(self)

    def forked(self) -> None:
        """Begins anew, in the child of a fork."""
        self._lock, self._identity = threading.Lock(), None
        self.readers.forked()

    def connect(self, reading: bool = False) -> sqlite3.Connection:
        """A connection to a file that is as it should be."""
        with told(self.path):
            with self._lock:
                if self._identity is None:
                    if self.read_only:
                        self._look_into()
                    else:
                        self._prepare()
                    self._identity = self._seen()
            if self._copied is not None:
                return self._copied.connect(reading)
            return self.look() if self.read_only else self.raw(reading)

    def forget(self) -> None:
        """The next use checks everything anew."""
        with self._lock:
            self._identity = self._copied = None
        self.readers.close()

    def check_place(self) -> None:
        """Raises `StoreUnavailableError` where the file is another one now: what goes into the old one is lost."""
        if self._identity != self._seen():
            self.forget()
            self._replaced += 1
            raise StoreUnavailableError(f"{self.path} was deleted or replaced while it was in use: nothing was written")

    def incarnation(self, session: int) -> str:
        """Of the session with this number: ids are never used twice in a file, and begin again with another file."""
        return f"{self._replaced}.{session}"

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def raw(self, reading: bool = False, untouched: bool = False) -> sqlite3.Connection:
        """A connection to whatever is there. An `untouched` one leaves everything as it is, also when it is closed."""
        place = Path(self.path).as_uri() + "?mode=ro" if untouched else self.path
        connection = sqlite3.connect(
            place, timeout=self.timeout, isolation_level=None, check_same_thread=False, uri=untouched
        )
        try:
            connection.text_factory = bytes  # what is no UTF-8 any more must be told apart by us, not fail in between
            connection.execute("pragma secure_delete = on")
            connection.execute(f"pragma synchronous = {self._synchronous}")
            connection.execute(f"pragma journal_size_limit = {_WAL_LIMIT}")
            if reading:
                connection.execute("pragma query_only = on")
        except BaseException:
            connection.close()
            raise
        return connection

    def look(self) -> sqlite3.Connection:
        """A connection that changes nothing, except where a crash left something that must be rolled back first."""
        try:
            return self.raw(untouched=True)
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_READONLY:
                raise
        return self.raw()

    def _prepare(self) -> None:
        """Makes the file if need be, brings it up to date, and checks what can be checked without reading it all."""
        acknowledged = self.guard.read()  # before the log, which is never behind it
        if self.empty():
            if acknowledged:
                raise CorruptionError(self.lost(acknowledged, 0))
            self._make()
        elif self._is_good(acknowledged):
            return
        with contextlib.closing(self.raw()) as connection:
            schema.bring_up(connection, self.path, self.timeout)
            self._check(connection, acknowledged)

    def _look_into(self) -> None:
        """Check a file that is only read. Raise `ConfigurationError` where it is no store."""
        from tempfile import mkdtemp  # noqa: PLC0415 - few files are of an earlier version

        acknowledged = self.guard.read()
        if self.empty():
            if acknowledged:
                raise CorruptionError(self.lost(acknowledged, 0))
            raise ConfigurationError(f"{self.path}: this file is empty, and not a Backscroll store yet")
        with contextlib.closing(self.look()) as connection:
            number = schema.version(connection, self.path)
            if number == 0 and not acknowledged:
                raise ConfigurationError(f"{self.path}: not a Backscroll store: this database has no tables")
            if number in (0, schema.VERSION):
                self._check(connection, acknowledged)
                return
        folder = mkdtemp()
        weakref.finalize(self, _remove, folder, os.getpid())
        self._copied = self.brought_up(folder)

    def brought_up(self, folder: str) -> "Database":
        """Return a copy of a file of an earlier version in `folder`, brought up to date. The file stays as it is."""
        copy = Database(os.path.join(folder, "copy"), "off", self.timeout)
        copy.guard = self.guard
        with contextlib.closing(self.look()) as connection, contextlib.closing(copy.raw()) as target:
            connection.backup(target)
            schema.bring_up(target, copy.path, copy.timeout)
        return copy

    def empty(self) -> bool:
        """Whether there is nothing yet, or nothing any more."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return True
        if stat.S_ISDIR(found.st_mode):
            raise StoreUnavailableError(f"{self.path}: it is a folder: name a file in it")
        return found.st_size == 0

    def _make(self) -> None:
        with _MAKING, contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # SQLite would let others read it

    def _is_good(self, acknowledged: int) -> bool:
        """Checks a file without changing it: closing an ordinary connection could delete a log that lost its middle.

        False for a file that needs something done first. Raises `CorruptionError` for one that lost something.
        """
        try:
            with contextlib.closing(self.raw(untouched=True)) as connection:
                number = schema.version(connection, self.path)
                if number == 0 and acknowledged:
                    raise CorruptionError(self.lost(acknowledged, 0))
                if number < schema.VERSION:
                    return False
                self._check(connection, acknowledged)
        except sqlite3.OperationalError as error:
            if code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise
            return False  # a crash left something to be rolled back
        return True

    def _check(self, connection: sqlite3.Connection, acknowledged: int) -> None:
        connection.execute("begin")  # all of it as it is at one moment
        for problem in self.problems(connection, acknowledged):
            raise damaged(self.path, problem) if not problem.startswith(self.path) else CorruptionError(problem)

    def problems(self, connection: sqlite3.Connection, acknowledged: int) -> Iterator[str]:
        """What is wrong with the file as a whole and with its list of sessions. Asked in a transaction."""
        if schema.altered(connection):
            yield "its tables are not those that were made"
            return
        known, number = self._meta(connection), 0
        if isinstance(known, str):
            yield known
        elif known.commits < acknowledged:
            yield self.lost(acknowledged, known.commits)
        for found in rows.begun(connection):
            number += 1
            if isinstance(found, str):
                yield found
        if isinstance(known, rows.Meta) and number != known.sessions:
            yield f"there are {number} sessions, and there should be {known.sessions}"

    def _meta(self, connection: sqlite3.Connection) -> rows.Meta | str:
        try:
            return rows.meta_of(connection)
        except CorruptionError as error:
            return str(error)

    def lost(self, acknowledged: int, commits: int) -> str:
        """Says how many commits are gone."""
        return (
            f"{self.path}: {acknowledged} commits were acknowledged, and the database holds {commits}: the last "
            f"{acknowledged - commits} are gone. Restore the database together with its -wal and -commits files, or "
            "call `accept_loss()` to go on with what is left"
        )


def _remove(folder: str, owner: int) -> None:
    """Remove a folder of copies, unless this is a fork of the process that made it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class Readers:
    """Connections for reading that are used again and again. Safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = 0

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction, so that everything it reads is of one moment."""
        with GATE, self._reading() as connection:
            yield connection

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            age, connection = self._closed, self._idle.pop() if self._idle else None
        connection = connection or self._database.connect(reading=True)
        good = False
        try:
            with told(self._database.path):
                connection.execute("begin")
                yield connection
                connection.execute("commit")
            good = True
        finally:
            with self._lock:
                good = good and age == self._closed and len(self._idle) < _MOST_IDLE
                if good:
                    self._idle.append(connection)
            if not good:
                connection.close()

    def forked(self) -> None:
        """Begins anew, in the child of a fork."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes those that are not in use now; the others follow when they are given back."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closed += 1
        for connection in idle:
            connection.close()
