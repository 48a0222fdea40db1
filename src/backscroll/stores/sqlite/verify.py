"""Looking through a database for what is not as it was written, and going on after a loss. Nothing is repaired."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from backscroll.errors import CorruptionError
from backscroll.stores.fork_lock import GATE
from backscroll.stores.problems import Problem
from backscroll.stores.sqlite import rows, schema
from backscroll.stores.sqlite.errors import told
from backscroll.stores.sqlite.file import Database

Look = Callable[[sqlite3.Connection], Iterator[Problem]]


def verify(database: Database, name: str | None) -> Iterator[Problem]:
    """Reads all sessions, or the one of that name with what it shares. Changes nothing, also not by closing.

    What is found is yielded while no connection is open: the caller may take any time, and fork.
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


def _together(sessions: Iterable[rows.Begun]) -> Iterator[list[rows.Begun]]:
    """Sessions that are looked at one after the other: small ones are not worth a connection each."""
    together: list[rows.Begun] = []
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
    except CorruptionError:  # told of by whoever looks further
        return schema.VERSION


def _brought_up(database: Database, name: str | None) -> Iterator[Problem]:
    """The same for a file of an earlier version: a copy of it is brought up, since nothing may change here."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - few files are of an earlier version

    with TemporaryDirectory() as folder:
        try:
            with told(database.path), GATE:
                copy = database.brought_up(folder)
        except CorruptionError as error:
            yield Problem(None, None, str(error))
            return
        for problem in verify(copy, name):
            yield problem._replace(what=problem.what.replace(copy.path, database.path))


@contextlib.contextmanager
def _looking(database: Database) -> Iterator[sqlite3.Connection]:
    with told(database.path), GATE, contextlib.closing(database.look()) as connection:
        yield connection


def _found(database: Database, looks: Iterable[tuple[str | None, Look]]) -> list[Problem]:
    """What looks find. Damage that ends one is a finding as well; a file that cannot be reached is none."""
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
        with told(database.path):
            connection.execute("begin")  # all of it as it is at one moment
            for problem in look(connection):
                found.append(problem)  # noqa: PERF402 - what was found before a failure counts
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
    known = {session.id for session in rows.begun(connection) if isinstance(session, rows.Begun)}
    for number in rows.holders(connection):
        if number not in known:
            yield Problem(None, None, f"there are records of a session with the number {number}, which is not listed")


def _sessions(database: Database) -> list[rows.Begun]:
    """Those that can be read; what is wrong with the others is told with the whole file."""
    found: list[rows.Begun] = []
    with contextlib.suppress(CorruptionError), _looking(database) as connection:
        if schema.version(connection, database.path):
            found.extend(session for session in rows.begun(connection) if isinstance(session, rows.Begun))
    return found


def _session(connection: sqlite3.Connection, session: rows.Begun) -> Iterator[Problem]:
    """What is a session's own."""
    now = rows.find(connection, session.name)
    if now is not None:
        yield from _rows(connection, session.name, rows.Part(now, now.shared, now.end))
        if now.parent is not None:
            rows.parent_of(connection, now)  # what it shares is looked at with that one


def _log(connection: sqlite3.Connection, session: rows.Begun) -> Iterator[Problem]:
    """All that a session reads."""
    now = rows.find(connection, session.name)
    if now is not None:
        for part in reversed(list(rows.parts(connection, now))):
            yield from _rows(connection, session.name, part)


def wrong(database: Database, connection: sqlite3.Connection) -> Iterator[Problem]:
    """All that is wrong with what a connection sees, where nobody else writes."""
    yield from _whole(database, connection, 0, deep=True)
    for session in rows.all_begun(connection):
        yield from _session(connection, session)


def _rows(connection: sqlite3.Connection, name: str, part: rows.Part) -> Iterator[Problem]:
    """Every place of a part of a log that is not as it should be, and what is wrong there."""
    holder, expected, stop = part
    whole = stop == holder.end  # and else it ends where others go on
    for row in rows.between(connection, holder, 0 if whole else expected, rows.MOST if whole else stop):
        at = rows.at_of(row)
        for missing in range(expected, min(at, stop)):
            yield Problem(name, missing, "the record is missing")
        expected = max(expected, at + 1)
        if whole and not holder.shared <= at < holder.end:
            beside = f"before place {holder.end}" if at >= holder.end else f"which begins at place {holder.shared}"
            yield Problem(name, at, f"there is a record outside of the log, which ends {beside}")
        try:
            rows.stored_of(holder.name, row)
        except CorruptionError:
            yield Problem(name, at, "the record is not what was written there")
    for missing in range(expected, stop):
        yield Problem(name, missing, "the record is missing")


def accept_loss(database: Database) -> int:
    """Lowers the number of acknowledged commits to what the database holds."""
    with told(database.path), GATE:
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
