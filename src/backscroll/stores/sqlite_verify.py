"""Looking through a database for what is not as it was written, and going on after a loss. Nothing is repaired."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

from backscroll.errors import DamagedError
from backscroll.stores import sqlite_rows as rows
from backscroll.stores import sqlite_schema as schema
from backscroll.stores.sqlite_faults import told
from backscroll.stores.sqlite_file import Database
from backscroll.stores.sqlite_gate import GATE


class Problem(NamedTuple):
    """Something in a file that is not as it was written."""

    session: str | None
    """None where it concerns the whole file."""
    at: int | None
    """The place in the session's log; None where it concerns more than one."""
    what: str


def verify(database: Database, name: str | None) -> Iterator[Problem]:
    """Reads all sessions, or the one of that name, and what they share. Changes nothing, also not by closing.

    What is found is yielded while no connection is open: the caller may take any time, and fork.
    """
    acknowledged = database.guard.read()
    if database.empty():
        if acknowledged:
            yield Problem(None, None, database.lost(acknowledged, 0))
        return
    yield from _found(database, None, lambda connection: _whole(database, connection, acknowledged, name is None))
    for session in _sessions(database):
        if name is None or session.name == name:
            yield from _found(database, session.name, lambda connection, of=session: _session(connection, of))


@contextlib.contextmanager
def _looking(database: Database) -> Iterator[sqlite3.Connection]:
    with told(database.path), GATE, contextlib.closing(database.look()) as connection:
        yield connection


def _found(database: Database, session: str | None, look: Callable[..., Iterator[Problem]]) -> list[Problem]:
    """What a look finds. Damage that ends it is a finding as well; a file that cannot be reached is none."""
    found: list[Problem] = []
    try:
        with _looking(database) as connection:
            for problem in look(connection):
                found.append(problem)  # noqa: PERF402 - what was found before a failure counts
    except DamagedError as error:
        found.append(Problem(session, None, str(error)))
    return found


def _whole(database: Database, connection: sqlite3.Connection, acknowledged: int, deep: bool) -> Iterator[Problem]:
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


def _sessions(database: Database) -> list[rows.Begun]:
    """Those that can be read; what is wrong with the others is told with the whole file."""
    found: list[rows.Begun] = []
    with contextlib.suppress(DamagedError), _looking(database) as connection:
        if schema.version(connection, database.path):
            found.extend(session for session in rows.begun(connection) if isinstance(session, rows.Begun))
    return found


def _session(connection: sqlite3.Connection, session: rows.Begun) -> Iterator[Problem]:
    connection.execute("begin")  # all of it as it is at one moment
    now = rows.find(connection, session.name)
    if now is not None:
        for at, what in rows.wrong(connection, now):
            yield Problem(session.name, at, what)


def accept_loss(database: Database) -> int:
    """Lowers the number of acknowledged commits to what the database holds."""
    with told(database.path), GATE:
        acknowledged, commits = database.guard.read(), 0
        if not database.empty():
            with contextlib.closing(database.raw()) as connection:
                if schema.version(connection, database.path):
                    commits = rows.meta_of(connection).commits
        if commits >= acknowledged:
            return 0
        database.guard.lower_to(commits)
        return acknowledged - commits
