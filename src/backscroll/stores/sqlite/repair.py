"""Replace a damaged database by one with everything that SQLite can still read. The damaged one is kept."""

import contextlib
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator

from backscroll.errors import ConfigurationError, CorruptionError, StoreUnavailableError
from backscroll.stores.fork_lock import GATE, alone
from backscroll.stores.problems import RepairAction
from backscroll.stores.sqlite import schema
from backscroll.stores.sqlite.copying import Copying
from backscroll.stores.sqlite.errors import DAMAGE, code, damaged, translated_errors
from backscroll.stores.sqlite.file import Database
from backscroll.stores.sqlite.verify import accept_loss, verify, wrong

if sys.platform != "win32":
    import fcntl

_LOCKS = 0x4000_0000
"""Offset of SQLite's lock bytes in a file. A process that locks all of them is the only user."""
_LOCKED = 512  # bytes
_PART = 1 << 20  # bytes per read
_WRITABLE = (b"\1\1", b"\2\2")
"""Header bytes of a file that SQLite may read and write. Any others make it refuse the file without a reason."""


def repair(database: Database) -> list[RepairAction]:
    """Repair what `verify` finds, and return the actions and losses. Does nothing if there are no findings."""
    try:
        whole = next(verify(database, None), None) is None
    except (
        ConfigurationError,
        StoreUnavailableError,
    ):  # another program or a later version, unless the header is damaged
        whole = False
        if not _is_ours(database):
            raise
    if database.empty():
        lost = accept_loss(database)
        return [RepairAction(None, None, f"the database is gone, with {lost} commits")] if lost else []
    with translated_errors(database.path), alone(), _kept(database.path) as file:
        if whole and os.pread(file, 2, 18) in _WRITABLE:
            return []
        done = _salvaged(database, f"{database.path}.repairing", file)
        database.forget()
    return done


def _is_ours(database: Database) -> bool:
    with translated_errors(database.path), GATE, contextlib.closing(database.look()) as connection:
        return not schema.altered(connection)


@contextlib.contextmanager
def _kept(path: str) -> Iterator[int]:
    """Open the file and lock it against all other users."""
    file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        if sys.platform != "win32":
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKED, _LOCKS)
            except (BlockingIOError, PermissionError):
                raise StoreUnavailableError(
                    f"{path}: another process has it open: end that process, then repair again"
                ) from None
        yield file
    finally:
        os.close(file)


def _salvaged(database: Database, new: str, file: int) -> list[RepairAction]:
    """Write a new file, and replace the damaged one."""
    try:
        done = _made(database, new, file)
        kept = _swapped(database.path, new)
    finally:
        for suffix in ("", "-wal", "-shm", "-read", "-read-wal", "-read-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{new}{suffix}")
    done.insert(
        0, RepairAction(None, None, f"a new file was written from what could be read; the damaged one is {kept}")
    )
    if any("lost" in each.what for each in done):
        done.append(RepairAction(None, None, _pointer(kept)))
    return done


def _pointer(path: str) -> str:
    """The advice to try SQLite's own recovery."""
    return f'SQLite\'s own recovery may find more of what was lost: sqlite3 "{path}" .recover > rows.sql'


def _made(database: Database, new: str, file: int) -> list[RepairAction]:
    """Write and sync the new file."""
    owner = os.fstat(file)
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if sys.platform != "win32":
            os.fchmod(descriptor, stat.S_IMODE(owner.st_mode))
            if (os.geteuid(), os.getegid()) != (owner.st_uid, owner.st_gid):
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        target = Database(new, "off", database.timeout)
        with contextlib.closing(target.raw()) as connection:
            schema.bring_up(connection, new, database.timeout)
            connection.execute("pragma journal_mode = off")
            connection.execute("begin")
            with _readable(database, f"{new}-read", file) as source:
                copying = Copying(source, connection)
                if not copying.run(database.guard.read()):
                    raise _unreadable(database.path)
            connection.execute("commit")
            for problem in wrong(target, connection):
                raise damaged(database.path, f"what is left of it is not a valid database ({problem.what})")
            connection.execute("pragma journal_mode = wal")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return copying.done


def _log(path: str) -> bytes:
    try:
        with open(f"{path}-wal", "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


@contextlib.contextmanager
def _readable(database: Database, path: str, file: int) -> Iterator[sqlite3.Connection]:
    """Connect to a copy of the damaged file: closing the file itself would release its lock."""
    with open(path, "xb", opener=_private) as copy:
        os.lseek(file, 0, os.SEEK_SET)
        while part := os.read(file, _PART):
            copy.write(part)
    with open(f"{path}-wal", "xb", opener=_private) as copy:
        copy.write(_log(database.path))
    try:
        with contextlib.closing(Database(path, "off", database.timeout).raw()) as connection:
            if not connection.execute("select 1 from sqlite_schema where name = 'log'").fetchone():
                schema.bring_up(connection, path, database.timeout)
            yield connection
    except sqlite3.DatabaseError as error:
        if code(error) not in DAMAGE:
            raise
        raise _unreadable(database.path) from error


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, like the store itself."""
    return os.open(path, flags, 0o600)


def _unreadable(path: str) -> CorruptionError:
    return CorruptionError(
        f"{path} is damaged: SQLite can read nothing in it, and it was left unchanged: restore it from a backup. "
        f"{_pointer(path)}"
    )


def _swapped(path: str, new: str) -> str:
    """Replace the damaged file by the new one. Return the path under which the damaged one is kept."""
    import shutil  # noqa: PLC0415  loads compressors, and few files are damaged

    number = 1
    while os.path.exists(f"{path}.damaged-{number}"):
        number += 1
    kept = f"{path}.damaged-{number}"
    for suffix in ("-commits", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(f"{path}{suffix}", f"{kept}{suffix}")
    try:
        os.link(path, kept)
    except OSError:  # a file system without links
        shutil.copy2(path, kept)
    for suffix in ("-wal", "-shm"):  # of the damaged file: SQLite would use it for the new one
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
    os.replace(new, path)
    if sys.platform != "win32":
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return kept
