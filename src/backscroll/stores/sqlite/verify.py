"""Find damage in a database, and accept losses. Nothing is repaired."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from backscroll.errors import CorruptionError
from backscroll.stores.fork_lock import GATE
from backscroll.stores.problems import Problem
from backscroll.stores.sqlite import rows, schema
from backscroll.stores.sqlite.errors import translated_errors
from backscroll.stores.sqlite.file import Database

Look = Callable[[sqlite3.Connection], Iterator[Problem]]


def verify(database: Database, name: str | None) -> Iterator[Problem]:
    """Read all sessions, or the one of that name with what it shares, and yield what differs from what was written.

    Changes nothing, also not by closing connections. No connection is open while a problem is yielded: the caller may
    take any time, and fork.
    """
    acknowledged = database.guard.read()
    if database.empty():
        if acknowledged:
            yield Problem(None, None, database.lost(acknowledged, 0))
        return
    if _version(database) in range(1, schema.VERSION):
        yield from _brought_up(database, name)
        return
    yield from _found(database, [(None, lambda connection: _whole(database, connection, acknowledged, name is None))])
    for together in _together([each for each in _sessions(database) if name in (None, each.name)]):
        look = _session if name is None else _log
        yield from _found(database, [(session.name, partial(look, session=session)) for session in together])


def _together(sessions: Iterable[rows.SessionRow]) -> Iterator[list[rows.SessionRow]]:
    """Group sessions to check with one connection: small ones are not worth one each."""
    together: list[rows.SessionRow] = []
    for session in sessions:
        together.append(session)
        if sum(each.end - each.shared + 1 for each in together) > rows.BATCH:
            yield together
            together = []
    yield together


def _version(database: Database) -> int:
    try:
        with _looking(database) as connection:
            return schema.version(connection, database.path)
    except CorruptionError:  # the checks report it
        return schema.VERSION


def _brought_up(database: Database, name: str | None) -> Iterator[Problem]:
    """The same for a file of an earlier version: a copy is migrated, because the file must not change."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - few files are of an earlier version

    with TemporaryDirectory() as folder:
        try:
            with translated_errors(database.path), GATE:
                copy = database.brought_up(folder)
        except CorruptionError as error:
            yield Problem(None, None, str(error))
            return
        for problem in verify(copy, name):
            yield problem._replace(what=problem.what.replace(copy.path, database.path))


@contextlib.contextmanager
def _looking(database: Database) -> Iterator[sqlite3.Connection]:
    with translated_errors(database.path), GATE, contextlib.closing(database.look()) as connection:
        yield connection


def _found(database: Database, looks: Iterable[tuple[str | None, Look]]) -> list[Problem]:
    """Run checks and return their findings. Damage that ends a check is a finding too; an unreachable file raises."""
    found: list[Problem] = []
    try:
        with _looking(database) as connection:
            for session, look in looks:
                found += _seen(database, connection, session, look)
    except CorruptionError as error:
        found.append(Problem(None, None, str(error)))
    return found


def _seen(database: Database, connection: sqlite3.Connection, session: str | None, look: Look) -> list[Problem]:
    found: list[Problem] = []
    try:
        with translated_errors(database.path):
            connection.execute("begin")  # one snapshot for all reads
            for problem in look(connection):
                found.append(problem)  # noqa: PERF402 - findings before a failure count
    except CorruptionError as error:
        found.append(Problem(session, None, str(error)))
    finally:
        connection.rollback()
    return found


def _whole(database: Database, connection: sqlite3.Connection, acknowledged: int, deep: bool) -> Iterator[Problem]:
    number = schema.version(connection, database.path)
    if number == 0 and acknowledged:
        yield Problem(None, None, database.lost(acknowledged, 0))
    if number == 0:
        return
    for what in database.problems(connection, acknowledged):
        yield Problem(None, None, what)
    if deep:
        yield from _deep(connection)


def _deep(connection: sqlite3.Connection) -> Iterator[Problem]:
    for (what,) in connection.execute("pragma integrity_check"):
        if what != b"ok":
            yield Problem(None, None, what.decode("utf-8", "replace"))
    for name in rows.leased(connection):
        try:
            rows.lease_of(connection, name)
        except CorruptionError as error:
            yield Problem(name, None, str(error))
    known = {session.id for session in rows.begun(connection) if isinstance(session, rows.SessionRow)}
    for number in rows.holders(connection):
        if number not in known:
            yield Problem(None, None, f"there are records of the session number {number}, which is not listed")


def _sessions(database: Database) -> list[rows.SessionRow]:
    """The readable sessions; the check of the whole file reports the others."""
    found: list[rows.SessionRow] = []
    with contextlib.suppress(CorruptionError), _looking(database) as connection:
        if schema.version(connection, database.path):
            found.extend(session for session in rows.begun(connection) if isinstance(session, rows.SessionRow))
    return found


def _session(connection: sqlite3.Connection, session: rows.SessionRow) -> Iterator[Problem]:
    """Check a session's own records."""
    now = rows.find(connection, session.name)
    if now is not None:
        yield from _rows(connection, session.name, rows.Part(now, now.shared, now.end))
        if now.parent is not None:
            rows.parent_of(connection, now)  # shared records are checked with their own session


def _log(connection: sqlite3.Connection, session: rows.SessionRow) -> Iterator[Problem]:
    """Check all records of a log."""
    now = rows.find(connection, session.name)
    if now is not None:
        for part in reversed(list(rows.parts(connection, now))):
            yield from _rows(connection, session.name, part)


def wrong(database: Database, connection: sqlite3.Connection) -> Iterator[Problem]:
    """Yield all damage that a connection sees, while no other process writes."""
    yield from _whole(database, connection, 0, deep=True)
    for session in rows.all_begun(connection):
        yield from _session(connection, session)


def _rows(connection: sqlite3.Connection, name: str, part: rows.Part) -> Iterator[Problem]:
    """Yield each damaged position of a part of a log."""
    holder, expected, stop = part
    whole = stop == holder.end  # else another session's part follows
    for row in rows.between(connection, holder, 0 if whole else expected, rows.MOST if whole else stop):
        at = rows.at_of(row)
        for missing in range(expected, min(at, stop)):
            yield Problem(name, missing, "the record is missing")
        expected = max(expected, at + 1)
        if whole and not holder.shared <= at < holder.end:
            bound = f"before position {holder.end}" if at >= holder.end else f"which begins at position {holder.shared}"
            yield Problem(name, at, f"there is a record outside of the log, which ends {bound}")
        try:
            rows.stored_of(holder.name, row)
        except CorruptionError:
            yield Problem(name, at, "the record is not what was written there")
    for missing in range(expected, stop):
        yield Problem(name, missing, "the record is missing")


def accept_loss(database: Database) -> int:
    """Lower the counter of acknowledged commits to what the database has, and return the difference."""
    with translated_errors(database.path), GATE:
        acknowledged, commits = database.guard.read(), 0
        if not database.empty():
            with contextlib.closing(database.raw()) as connection:
                if schema.version(connection, database.path):
                    schema.bring_up(connection, database.path, database.timeout)
                    commits = rows.meta_of(connection).commits
        if commits >= acknowledged:
            return 0
        database.guard.lower_to(commits)
        return acknowledged - commits
