"""Translate errors of SQLite and the system into Backscroll's, with advice."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from backscroll.errors import CorruptionError, StoreError, StoreUnavailableError

_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "another program kept it locked for longer than `timeout`: find the program that has it "
    "open, or raise `timeout`; nothing was written, so repeat the call then",
    sqlite3.SQLITE_LOCKED: "it is locked: try again; nothing was written",
    sqlite3.SQLITE_FULL: "the disk is full: free some space, then repeat the call; nothing was partly written",
    sqlite3.SQLITE_IOERR: "reading or writing failed: check the disk, its free space and limits on files; "
    "nothing was partly written, so repeat the call then",
    sqlite3.SQLITE_READONLY: "it is read-only: check the permissions of the file, its folder and the file system",
    sqlite3.SQLITE_PERM: "access is denied: check the permissions of the file and its folder",
    sqlite3.SQLITE_AUTH: "access is denied: check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and is writable",
    sqlite3.SQLITE_NOMEM: "there is not enough memory: free some, then repeat the call",
    sqlite3.SQLITE_PROTOCOL: "too many programs opened it at the same time: try again",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted: try again",
    sqlite3.SQLITE_NOLFS: "the file system does not support files of that size: move it to another one",
}
DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_ERROR,  # all statements are constants: if one cannot run, the tables were changed
    sqlite3.SQLITE_CONSTRAINT,  # a position is taken although the log ends before it
    sqlite3.SQLITE_MISMATCH,
}
"""Result codes that mean that the file differs from what was written."""
ALONE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_TOOBIG}
"""Errors that one append may raise and a smaller one may not."""


class OthersWriteError(Exception):
    """Another process writes to the file, and the caller does not wait. Never leaves this package."""


def code(error: BaseException | None) -> int:
    """SQLite's primary result code; 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def fault(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """The Backscroll error for one of SQLite's or the system's."""
    if isinstance(error, OSError):
        return StoreUnavailableError(
            f"{path}: {error.strerror or error}: check the file, its folder and their permissions"
        )
    number, name = code(error), getattr(error, "sqlite_errorname", type(error).__name__)
    if number in _UNAVAILABLE:
        return StoreUnavailableError(f"{path}: {_UNAVAILABLE[number]} ({name}: {error})")
    if number in DAMAGE:
        return damaged(path, f"{name}: {error}")
    return StoreUnavailableError(f"{path}: {name}: {error}")


def damaged(path: str, what: str) -> CorruptionError:
    """The error for a file that differs from what was written."""
    return CorruptionError(
        f"{path} is damaged: {what}; `verify()` lists all damage, `repair()` saves what can still be read"
    )


def translated(path: str, error: BaseException) -> BaseException:
    """Translate an error into Backscroll's, with the path of the file for damage."""
    if isinstance(error, CorruptionError):
        return error if str(error).startswith(path) else CorruptionError(f"{path}: {error}")
    if isinstance(error, UnicodeDecodeError):  # raised by Python for a damaged name
        return damaged(path, f"a name in it is not valid text: {error.object!r:.200}")
    return fault(path, error) if isinstance(error, sqlite3.Error | OSError) else error


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Raise errors of SQLite and the system as Backscroll's."""
    try:
        yield
    except Exception as error:
        instead = translated(path, error)
        if instead is error:
            raise
        raise instead from error
