"""Files beside a database that can be made again at any time: one for each session. Where they lie, how they begin, how
they are opened, and how they end. What is in them is told by whoever opens them.

They lie in the folder `sessions.db-search` and are called after the session's own number and a turn: `17-0`. A number
is never used again, and a file that is no good is not replaced but followed by `17-1`, so that nobody who still has the
old one open can spoil the new one. One file for all sessions would have tables for each, since ranking counts what is
in a table: with 2,000 sessions it takes a second to open, and to delete one means to write all of them anew.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from backscroll.errors import CorruptionError, StoreUnavailableError
from backscroll.stores.fork_lock import GATE
from backscroll.stores.sqlite.errors import told
from backscroll.stores.sqlite.schema import write_ahead

_NAME = re.compile(r"(\d{1,19})-(\d{1,9})(?:-(?:wal|shm|journal))?")
_TIMEOUT = 30.0  # seconds that others may keep a file locked
_CACHE = 8_000  # kilobytes
_LOG = 4_000_000  # bytes that the log of a file keeps while others have it open


class Unfit(Exception):
    """A file is damaged, or of another program or version: it has to be made anew."""


class Unreachable(Exception):
    """A file cannot be made, read or written here and now."""


def folder(database: str) -> str:
    """Where the files of a database lie."""
    return f"{database}-search"


def newest(database: str, number: int) -> tuple[str, int] | None:
    """The file of a session that counts, with its turn; None where there is none."""
    first = _path(database, number, 0)
    if os.path.exists(first):  # nearly always, and cheaper than to look through thousands
        return first, 0
    turns = [turn for _, _, turn in _files(database, f"{number}-")]
    return (_path(database, number, max(turns)), max(turns)) if turns else None


def begin(database: str, number: int, turn: int) -> str:
    """Makes an empty file, which may be there already, and removes those of earlier turns."""
    path = _path(database, number, turn)
    with _reaching(path):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder(database), 0o700)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.suppress(PermissionError):  # where open files cannot be removed, the next time will do
            _remove(name for name, _, before in _files(database, f"{number}-") if before < turn)
    return path


def sweep(database: str, living: Callable[[], Iterable[int]]) -> None:
    """Remove the files of sessions that are gone. Raises `StoreUnavailableError` where that is not possible."""
    files = _files(database)  # first: a session that begins meanwhile has no file among these
    if not files:
        return
    numbers = set(living())
    with told(folder(database)):
        _remove(name for name, number, _ in files if number not in numbers)


@contextlib.contextmanager
def opened(path: str, tables: Sequence[str], head: tuple[int, int], writes: bool) -> Iterator[sqlite3.Connection]:
    """A connection inside a transaction to a file with these tables; texts come as bytes.

    `head`: the application and the version that such a file has. Raises `Unfit` or `Unreachable`. Nothing is kept open
    in between, and nobody may use a store inside: both hold up a process that wants to fork.
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
    connection.execute("pragma synchronous = off")  # what a power cut spoils is made anew
    connection.execute(f"pragma cache_size = -{_CACHE}")
    connection.execute(f"pragma journal_size_limit = {_LOG}")
    return connection


def _check(connection: sqlite3.Connection, tables: Sequence[str], head: tuple[int, int]) -> None:
    """Makes the tables of an empty file. Raises `Unfit` for a file with other ones."""
    if _head(connection) == (0, 0, 0):
        write_ahead(connection, _TIMEOUT)
        connection.execute("begin immediate")
        if _head(connection) == (0, 0, 0):  # asked again: somebody may have come first
            for statement in tables:
                connection.execute(statement)
            connection.execute(f"pragma application_id = {head[0]}")
            connection.execute(f"pragma user_version = {head[1]}")
        connection.execute("commit")
    if _head(connection)[:2] != head:
        raise Unfit("it is of another version, or of another program")


def _head(connection: sqlite3.Connection) -> tuple[int, int, int]:
    application, version, tables = connection.execute(
        "select application_id, user_version, (select count(*) from sqlite_schema) "
        "from pragma_application_id, pragma_user_version"
    ).fetchone()
    return application, version, tables


@contextlib.contextmanager
def _reaching(path: str) -> Iterator[None]:
    try:
        with told(path):
            yield
    except CorruptionError as error:
        raise Unfit(str(error.__cause__ or error)) from error
    except StoreUnavailableError as error:
        raise Unreachable(str(error)) from error


def _path(database: str, number: int, turn: int) -> str:
    return os.path.join(folder(database), f"{number}-{turn}")


def _files(database: str, beginning: str = "") -> list[tuple[str, int, int]]:
    """Path, number and turn of each file that is called so, those that SQLite puts beside one among them."""
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
