"""One database file: create it, check it at the first use, and connect to it."""

import contextlib
import os
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
from backscroll.stores.sqlite.errors import code, damaged, translated_errors

_MOST_IDLE = 4
_WAL_LIMIT = 16_000_000  # bytes that the write-ahead log keeps after a large transaction
_MAKING = threading.Lock()
"""Closing a file drops the process's locks on it, SQLite's too: no connection may be opened in between."""


class Database:
    """A file by its path. Nothing is opened before the first connection, which is requested while holding `GATE`."""

    path: str
    read_only: bool
    timeout: float

    def __init__(self, path: str, synchronous: str, timeout: float, *, read_only: bool = False) -> None:
        self.path, self.timeout, self.read_only = path, timeout, read_only
        self.guard: CommitCounter = CommitCounter(path)
        self._synchronous = synchronous
        self._identity: tuple[int, int] | None = None
        """Device and inode of the checked file; `None` before the check."""
        self._lock = threading.Lock()
        self._replaced = 0
        """How often another file was found in its place during use."""
        self._copied: Database | None = None
        """A migrated copy that is read instead of a read-only file of an earlier version."""
        self.readers: Readers = Readers(self)

    def forked(self) -> None:
        """Reset in the child of a fork."""
        self._lock, self._identity = threading.Lock(), None
        self.readers.forked()

    def connect(self, reading: bool = False) -> sqlite3.Connection:
        """Connect to the file; check it at the first use."""
        with translated_errors(self.path):
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
        """Drop all checks. The next use repeats them."""
        with self._lock:
            self._identity = self._copied = None
        self.readers.close()

    def check_place(self) -> None:
        """Raise `StoreUnavailableError` if another file is in its place: writes to the old one would be lost."""
        if self._identity != self._seen():
            self.forget()
            self._replaced += 1
            raise StoreUnavailableError(f"{self.path} was deleted or replaced while it was in use: nothing was written")

    def incarnation(self, session: int) -> str:
        """The incarnation of a session by its number. A file never reuses numbers, and another file starts over."""
        return f"{self._replaced}.{session}"

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def raw(self, reading: bool = False, untouched: bool = False) -> sqlite3.Connection:
        """Connect without checks. An `untouched` connection leaves the file unchanged, also when it closes."""
        place = Path(self.path).as_uri() + "?mode=ro" if untouched else self.path
        connection = sqlite3.connect(
            place, timeout=self.timeout, isolation_level=None, check_same_thread=False, uri=untouched
        )
        try:
            connection.text_factory = bytes  # damaged UTF-8 must fail its checksum, not raise in sqlite3
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
        """Connect without changing the file, unless a crash left a transaction that must be rolled back first."""
        try:
            return self.raw(untouched=True)
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_READONLY:
                raise
        return self.raw()

    def _prepare(self) -> None:
        """Create or migrate the file if needed, and check what can be checked without reading all of it."""
        acknowledged = self.guard.read()  # before the log, which is never behind the counter
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
        """Check a file that is only read. Raise `ConfigurationError` if it is no store."""
        from tempfile import mkdtemp  # noqa: PLC0415 - few files are of an earlier version

        acknowledged = self.guard.read()
        if self.empty():
            if acknowledged:
                raise CorruptionError(self.lost(acknowledged, 0))
            raise ConfigurationError(f"{self.path}: not a Backscroll store yet: this file is empty")
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
        """Return a migrated copy in `folder` of a file of an earlier version. The file itself is unchanged."""
        copy = Database(os.path.join(folder, "copy"), "off", self.timeout)
        copy.guard = self.guard
        with contextlib.closing(self.look()) as connection, contextlib.closing(copy.raw()) as target:
            connection.backup(target)
            schema.bring_up(target, copy.path, copy.timeout)
        return copy

    def empty(self) -> bool:
        """Whether the file is missing or empty."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return True
        if stat.S_ISDIR(found.st_mode):
            raise StoreUnavailableError(f"{self.path} is a folder: pass the path of a file")
        return found.st_size == 0

    def _make(self) -> None:
        with _MAKING, contextlib.suppress(FileExistsError):
            os.close(
                os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            )  # SQLite would create it readable for others

    def _is_good(self, acknowledged: int) -> bool:
        """Check a file without changing it: closing a normal connection could delete a damaged write-ahead log.

        Returns `False` if the file must be created or migrated first. Raises `CorruptionError` if it lost something.
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
            return False  # a crash left a transaction to roll back
        return True

    def _check(self, connection: sqlite3.Connection, acknowledged: int) -> None:
        connection.execute("begin")  # one snapshot for all reads
        for problem in self.problems(connection, acknowledged):
            raise damaged(self.path, problem) if not problem.startswith(self.path) else CorruptionError(problem)

    def problems(self, connection: sqlite3.Connection, acknowledged: int) -> Iterator[str]:
        """Yield what is wrong with the file as a whole and its list of sessions. Call it in a transaction."""
        if schema.altered(connection):
            yield "its tables differ from those that Backscroll created"
            return
        known, number = self._meta(connection), 0
        if isinstance(known, str):
            yield known
        elif known.commits < acknowledged:
            yield self.lost(acknowledged, known.commits)
        for found in rows.session_rows(connection):
            number += 1
            if isinstance(found, str):
                yield found
        if isinstance(known, rows.StoreRow) and number != known.sessions:
            yield f"the file lists {number} sessions, but counts {known.sessions}"

    def _meta(self, connection: sqlite3.Connection) -> rows.StoreRow | str:
        try:
            return rows.store_row_of(connection)
        except CorruptionError as error:
            return str(error)

    def lost(self, acknowledged: int, commits: int) -> str:
        """The message for missing commits."""
        return (
            f"{self.path}: {acknowledged} commits were acknowledged, and the database holds {commits}: the last "
            f"{acknowledged - commits} are gone. Restore the database together with its -wal and -commits files, or "
            "call `accept_loss()` to continue with what is left"
        )


def _remove(folder: str, owner: int) -> None:
    """Remove a folder of copies, unless this is a fork of the process that made it."""
    if os.getpid() == owner:
        import shutil  # noqa: PLC0415 - few files are of an earlier version

        shutil.rmtree(folder, ignore_errors=True)


class Readers:
    """A pool of connections for reading. Safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = 0

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, so that all reads see one snapshot."""
        with GATE, self._reading() as connection:
            yield connection

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            age, connection = self._closed, self._idle.pop() if self._idle else None
        connection = connection or self._database.connect(reading=True)
        good = False
        try:
            with translated_errors(self._database.path):
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
        """Reset in the child of a fork."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close idle connections; those in use close when they are returned."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closed += 1
        for connection in idle:
            connection.close()
