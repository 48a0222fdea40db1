"""What SQLite and the system complain of, as errors that say what to do. Nothing else may live here."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from backscroll.errors import CorruptionError, StoreError, StoreUnavailableError

_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "another program has kept it locked for as long as `timeout` allows: find out which one has "
    "it open, or allow more time; nothing was written, and the same call will work then",
    sqlite3.SQLITE_LOCKED: "it is locked: try again; nothing was written",
    sqlite3.SQLITE_FULL: "its disk has no room: free some, and the same call will work; nothing was half written",
    sqlite3.SQLITE_IOERR: "reading or writing failed: look at its disk, at the room there and at limits for files; "
    "nothing was half written, and the same call will work then",
    sqlite3.SQLITE_READONLY: "it cannot be written: look at the rights of the file, its folder and the file system",
    sqlite3.SQLITE_PERM: "it may not be used: look at the rights of the file and of its folder",
    sqlite3.SQLITE_AUTH: "it may not be used: look at the rights of the file and of its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: does its folder exist, and may this user write there?",
    sqlite3.SQLITE_NOMEM: "there is not enough memory for it",
    sqlite3.SQLITE_PROTOCOL: "too many programs opened it at the same moment: try again",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted: try again",
    sqlite3.SQLITE_NOLFS: "its file system cannot hold files of that size",
}
DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_ERROR,  # every statement is a constant: if one cannot run, the tables are not what they were
    sqlite3.SQLITE_CONSTRAINT,  # a place that is taken although the log ends before it
    sqlite3.SQLITE_MISMATCH,
}
"""Result codes that say that the file is not as it was written."""
ALONE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_TOOBIG}
"""What one append may meet and a smaller one may not."""


def code(error: BaseException | None) -> int:
    """SQLite's primary result code; 0 for what has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def fault(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """The error to raise instead."""
    if isinstance(error, OSError):
        return StoreUnavailableError(
            f"{path}: {error.strerror or error}: look at the file, at its folder and their rights"
        )
    number, name = code(error), getattr(error, "sqlite_errorname", type(error).__name__)
    if number in _UNAVAILABLE:
        return StoreUnavailableError(f"{path}: {_UNAVAILABLE[number]} ({name}: {error})")
    if number in DAMAGE:
        return damaged(path, f"{name}: {error}")
    return StoreUnavailableError(f"{path}: {name}: {error}")


def damaged(path: str, what: str) -> CorruptionError:
    """The file is not as it was written."""
    return CorruptionError(
        f"{path} is damaged: {what}; `verify()` lists what is wrong, `repair()` saves what can still be read"
    )


def translated(path: str, error: BaseException) -> BaseException:
    """The error to raise instead of another one: one of Backscroll's, and damage with the name of the file."""
    if isinstance(error, CorruptionError):
        return error if str(error).startswith(path) else CorruptionError(f"{path}: {error}")
    if isinstance(error, UnicodeDecodeError):  # by which Python fails to tell of a damaged name
        return damaged(path, f"a name in it is no text any more: {error.object!r:.200}")
    return fault(path, error) if isinstance(error, sqlite3.Error | OSError) else error


@contextmanager
def told(path: str) -> Iterator[None]:
    """Whatever goes wrong inside is raised as one of Backscroll's errors."""
    try:
        yield
    except Exception as error:
        instead = translated(path, error)
        if instead is error:
            raise
        raise instead from error
