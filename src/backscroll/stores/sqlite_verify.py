"""Looking through a database for what is not as it was written, and going on after a loss. Nothing is repaired."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.errors import DamagedError, StoreError
from backscroll.stores import sqlite_rows as rows
from backscroll.stores import sqlite_schema as schema
from backscroll.stores.sqlite_faults import fault, told
from backscroll.stores.sqlite_file import Database


class Problem(NamedTuple):
    """Something in a file that is not as it was written."""

    session: str | None
    """None where it concerns the whole file."""
    at: int | None
    """The place in the session's log; None where it concerns more than one."""
    what: str


def verify(database: Database, name: str | None) -> Iterator[Problem]:
    """Reads all sessions, or the one of that name, and what they share. Changes nothing, also not by closing."""
    with told(database.path):
        acknowledged = database.guard.read()
        if database.empty():
            if acknowledged:
                yield Problem(None, None, database.lost(acknowledged, 0))
            return
        connection = database.raw(untouched=True)
    with contextlib.closing(connection):
        yield from _whole(database, connection, acknowledged, deep=name is None)
        for session in _sessions(connection):
            if name is None or session.name == name:
                yield from _session(database, connection, session)


def _whole(database: Database, connection: sqlite3.Connection, acknowledged: int, deep: bool) -> Iterator[Problem]:
    try:
        number = schema.version(connection, database.path)
        if number == 0 and acknowledged:
            yield Problem(None, None, database.lost(acknowledged, 0))
        if number == 0:
            return
        for what in database.problems(connection, acknowledged):
            yield Problem(None, None, what)
        for (what,) in connection.execute("pragma integrity_check") if deep else ():
            if what != b"ok":
                yield Problem(None, None, what.decode("utf-8", "replace"))
    except sqlite3.Error as error:
        yield Problem(None, None, str(_damage(database, error)))
    except DamagedError as error:
        yield Problem(None, None, str(error))


def _sessions(connection: sqlite3.Connection) -> list[rows.Begun]:
    """Those that can be read; what is wrong with the others is told with the whole file."""
    found: list[rows.Begun] = []
    with contextlib.suppress(sqlite3.Error, DamagedError):
        found.extend(session for session in rows.begun(connection) if isinstance(session, rows.Begun))
    return found


def _session(database: Database, connection: sqlite3.Connection, session: rows.Begun) -> Iterator[Problem]:
    try:
        connection.execute("begin")  # all of it as it is at one moment
        now = rows.find(connection, session.name)
        if now is not None:
            for at, what in rows.wrong(connection, now):
                yield Problem(session.name, at, what)
    except sqlite3.Error as error:
        yield Problem(session.name, None, str(_damage(database, error)))
    except DamagedError as error:
        yield Problem(session.name, None, str(error))
    finally:
        connection.rollback()


def _damage(database: Database, error: sqlite3.Error) -> StoreError:
    """What cannot be read is a finding; what cannot be reached is none, and is raised."""
    found = fault(database.path, error)
    if not isinstance(found, DamagedError):
        raise found from error
    return found


def accept_loss(database: Database) -> int:
    """Lowers the number of acknowledged commits to what the database holds."""
    with told(database.path):
        acknowledged, commits = database.guard.read(), 0
        if not database.empty():
            with contextlib.closing(database.raw()) as connection:
                if schema.version(connection, database.path):
                    commits = rows.meta_of(connection).commits
        if commits >= acknowledged:
            return 0
        database.guard.lower_to(commits)
        return acknowledged - commits
