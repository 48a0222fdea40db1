"""Derived files next to a database, one for each session: their names, and how to create, open and delete them.

They are in the folder `sessions.db-search`, named after the session's number and a turn: `17-0`. A number is never
reused. A bad file is not replaced but followed by `17-1`, so that a process that has the old one open cannot damage the
new one. Rejected: one file for all sessions, with tables for each, because ranking counts what is in a table. With
2,000 sessions it takes a second to open, and deleting one session rewrites all of them.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from backscroll.errors import CorruptionError, StoreUnavailableError
from backscroll.stores.fork_lock import GATE
from backscroll.stores.sqlite.errors import translated_errors
from backscroll.stores.sqlite.schema import write_ahead

_NAME = re.compile(r"(\d{1,19})-(\d{1,9})(?:-(?:wal|shm|journal))?")
_TIMEOUT = 30.0  # seconds to wait for other processes
_CACHE = 8_000  # kilobytes
_LOG = 4_000_000  # bytes of the write-ahead log while other processes have the file open


class Unfit(Exception):
    """The file is damaged, or of another program or version: replace it."""


class Unreachable(Exception):
    """The file cannot be created, read or written now."""


def folder(database: str) -> str:
    """The folder of a database's derived files."""
    return f"{database}-search"


def newest(database: str, number: int) -> tuple[str, int] | None:
    """The current file of a session, with its turn; `None` if there is none."""
    first = _path(database, number, 0)
    if os.path.exists(first):  # the usual case, and cheaper than to list thousands of files
        return first, 0
    turns = [turn for _, _, turn in _files(database, f"{number}-")]
    return (_path(database, number, max(turns)), max(turns)) if turns else None


def begin(database: str, number: int, turn: int) -> str:
    """Create an empty file, which may exist already, and delete those of earlier turns."""
    path = _path(database, number, turn)
    with _reaching(path):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder(database), 0o700)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.suppress(PermissionError):  # a system may keep open files; the next call deletes them
            _remove(name for name, _, before in _files(database, f"{number}-") if before < turn)
    return path


def sweep(database: str, living: Callable[[], Iterable[int]]) -> None:
    """Delete the files of deleted sessions. Raises `StoreUnavailableError` if that fails.

    Args:
        database: path of the database.
        living: returns the numbers of all sessions.
    """
    files = _files(database)  # first: a session created meanwhile has no file among these
    if not files:
        return
    numbers = set(living())
    with translated_errors(folder(database)):
        _remove(name for name, number, _ in files if number not in numbers)


@contextlib.contextmanager
def opened(path: str, tables: Sequence[str], head: tuple[int, int], writes: bool) -> Iterator[sqlite3.Connection]:
    """Yield a connection, in a transaction, to a file with these tables. It returns texts as bytes.

    Use no store inside: that could deadlock with a fork, which waits for this connection to close.

    Args:
        path: the file.
        tables: statements that create the tables of an empty file.
        head: application id and version of the file.
        writes: take the write lock at once.

    Raises:
        Unfit: the file must be replaced.
        Unreachable: the file cannot be used now.
    """
    with GATE, _reaching(path), contextlib.closing(_connection(path)) as connection:
        _check(connection, tables, head)
        connection.execute("begin immediate" if writes else "begin")
        yield connection
        connection.execute("commit")


def _connection(path: str) -> sqlite3.Connection:
    place = Path(path).as_uri() + "?mode=rw"
    connection = sqlite3.connect(place, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = bytes
    connection.execute("pragma synchronous = off")  # a file that a power cut damages is built again
    connection.execute(f"pragma cache_size = -{_CACHE}")
    connection.execute(f"pragma journal_size_limit = {_LOG}")
    return connection


def _check(connection: sqlite3.Connection, tables: Sequence[str], head: tuple[int, int]) -> None:
    """Create the tables of an empty file. Raise `Unfit` for a file of another kind."""
    if _head(connection) == (0, 0, 0):
        write_ahead(connection, _TIMEOUT)
        connection.execute("begin immediate")
        if _head(connection) == (0, 0, 0):  # again: another process may have come first
            for statement in tables:
                connection.execute(statement)
            connection.execute(f"pragma application_id = {head[0]}")
            connection.execute(f"pragma user_version = {head[1]}")
        connection.execute("commit")
    if _head(connection)[:2] != head:
        raise Unfit("it has another version, or belongs to another program")


def _head(connection: sqlite3.Connection) -> tuple[int, int, int]:
    application, version, tables = connection.execute(
        "select application_id, user_version, (select count(*) from sqlite_schema) "
        "from pragma_application_id, pragma_user_version"
    ).fetchone()
    return application, version, tables


@contextlib.contextmanager
def _reaching(path: str) -> Iterator[None]:
    try:
        with translated_errors(path):
            yield
    except CorruptionError as error:
        raise Unfit(str(error.__cause__ or error)) from error
    except StoreUnavailableError as error:
        raise Unreachable(str(error)) from error


def _path(database: str, number: int, turn: int) -> str:
    return os.path.join(folder(database), f"{number}-{turn}")


def _files(database: str, beginning: str = "") -> list[tuple[str, int, int]]:
    """Path, number and turn of each derived file, including SQLite's own ones next to them."""
    try:
        names = os.listdir(folder(database))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = ((name, _NAME.fullmatch(name)) for name in names if name.startswith(beginning))
    return [(os.path.join(folder(database), name), int(it[1]), int(it[2])) for name, it in found if it]


def _remove(paths: Iterable[str]) -> None:
    for path in sorted(paths):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
