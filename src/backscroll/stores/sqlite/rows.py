"""Rows and their checksums.

A damaged row fails its checksum, and a missing row leaves a gap in its log or a wrong count. Checksums start with the
session's name, so that no row passes for one of another session. A fork has rows for its own records only; shared rows
belong to the session that it was forked from.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from backscroll.errors import ConfigurationError, CorruptionError
from backscroll.ports import Record, Stored
from backscroll.stores.names import check_key

BATCH = 500  # rows
BATCH_BYTES = 4_000_000
_BITS = 32
"""A row's number has the session's number above these bits, and the position in its log below."""
MOST = 2**_BITS
"""Positions in a log."""
_INTEGERS = range(-(2**63), 2**63)
_LARGEST = 999_000_000  # bytes of a body: SQLite's limit, less room for the other columns

Row = tuple[int, str, int | None, str | None, int, int, bytes]
"""at, kind, seq, key, format, crc, body"""
_LOG = "select name, id, next, parent, shared, crc from log"
_RECORD = "select number, kind, seq, key, format, crc, body from record"


class StoreRow(NamedTuple):
    """The row of the whole file."""

    commits: int
    created: int
    """Sessions ever created: ids are never reused."""
    sessions: int


class SessionRow(NamedTuple):
    """A session's row."""

    name: str
    id: int
    end: int
    parent: int | None = None
    """The id of the session that it was forked from."""
    shared: int = 0
    """Number of records shared with the parent; its own start at this position."""


class Part(NamedTuple):
    """Positions of a log whose rows belong to one session."""

    holder: SessionRow
    start: int
    stop: int


def _sum(*values: object) -> int:
    return crc32("\n".join(map(str, values)).encode())


def sum_of(session: SessionRow) -> int:
    """The checksum of a session's row. Without a parent it equals that of versions before there were forks."""
    name, id_, end, parent, shared = session
    text = f"{name}\n{id_}\n{end}"
    return crc32((text if parent is None else f"{text}\n{parent}\n{shared}").encode())


def sum_of_store_row(meta: StoreRow) -> int:
    """The checksum of the row of the whole file."""
    commits, created, sessions = meta
    return crc32(f"{commits}\n{created}\n{sessions}".encode())


def number_of(session: int, at: int) -> int:
    """The number of the row for a position in a session's log."""
    return (session << _BITS) + at


def rows_of(session: str, first: int, records: Sequence[Record]) -> list[Row]:
    """Prepare rows for records. Raise `ConfigurationError` for what no row can hold."""
    rows = []
    for at, (kind, seq, body, number, key) in enumerate(records, first):
        if len(body) > _LARGEST:
            raise ConfigurationError(f"a record has {len(body)} bytes, but SQLite keeps at most {_LARGEST}: shorten it")
        if key is not None:
            check_key(key)
        if number not in _INTEGERS or (seq is not None and seq not in _INTEGERS):
            raise ConfigurationError(f"seq {seq} or format {number} does not fit in 64 bits")
        rows.append((at, kind, seq, key, number, crc32(body, _head(session, at, kind, seq, number, key)), body))
    return rows


def stored_of(session: str, row: Sequence[Any]) -> Stored:
    """The record of a row with texts as bytes. Raise `CorruptionError` if it fails its checksum."""
    number, kind, seq, key, format_, crc, body = row
    at = number % MOST
    try:
        kind, known = kind.decode(), None if key is None else key.decode()
        fits = crc32(body, _head(session, at, kind, seq, format_, known)) == crc
    except (AttributeError, TypeError, UnicodeDecodeError):  # damage changed the type of a value
        fits = False
    if not fits:
        raise CorruptionError(
            f"session {session!r}: the record at position {at} is not what was written there; `verify()` lists all "
            "damage"
        )
    return Stored(at, Record(kind=kind, seq=seq, body=body, format=format_, key=known))


def _head(session: str, at: int, kind: str, *others: object) -> int:
    """The checksum of everything but the body. Without a key it equals that of versions before there were keys."""
    seq, number, key = others
    text = f"{session}\n{at}\n{kind}\n{seq}\n{number}"
    return crc32((text if key is None else f"{text}\n{key}").encode())


# -- reading --


def find(connection: sqlite3.Connection, name: str) -> SessionRow | None:
    """The session of a name; `None` for an unknown one."""
    row = connection.execute(f"{_LOG} where name = ?", (name,)).fetchone()
    return None if row is None else session_row_of(row, f"session {name!r}")


def session_row_of(row: Sequence[Any], what: str) -> SessionRow:
    """The session of a row. Raise `CorruptionError` if it fails its checksum."""
    try:
        session = SessionRow(row[0].decode(), *row[1:5])
        if row[5] == sum_of(session):
            return session
    except (AttributeError, UnicodeDecodeError):  # damage changed the type or encoding of the name
        pass
    raise CorruptionError(f"{what}: its row in the list of sessions is not what was written")


def size(connection: sqlite3.Connection, session: SessionRow) -> int:
    """Return the bytes of the bodies of a session's own records."""
    own = number_of(session.id, session.shared), number_of(session.id, session.end)
    query = "select coalesce(sum(length(body)), 0) from record where number >= ? and number < ?"
    return int(connection.execute(query, own).fetchone()[0])


def parts(connection: sqlite3.Connection, session: SessionRow) -> Iterator[Part]:
    """The parts of a log, the newest first: its own, that of its parent, and so on."""
    stop = session.end
    while True:
        if session.shared < stop:
            yield Part(session, session.shared, stop)
        if session.parent is None:
            return
        stop, session = min(stop, session.shared), parent_of(connection, session)


def parent_of(connection: sqlite3.Connection, session: SessionRow) -> SessionRow:
    """The session that this one was forked from. Raise `CorruptionError` if it lacks the shared records."""
    row = connection.execute(f"{_LOG} where id = ?", (session.parent,)).fetchone()
    what = f"session {session.name!r}: the session that it was forked from"
    if row is None:
        raise CorruptionError(f"{what}, with the number {session.parent}, is missing")
    parent = session_row_of(row, what)
    if parent.end < session.shared or parent.id >= session.id:
        raise CorruptionError(f"{what}, {parent.name!r}, has fewer records than it shares")
    return parent


def load(connection: sqlite3.Connection, session: SessionRow, start: int, stop: int) -> list[Stored]:
    """Read records from `start` on, at least one if there is any; the caller asks again for the rest."""
    part = next(part for part in parts(connection, session) if part.start <= start)
    stop = min(stop, part.stop, start + BATCH)
    got: list[Stored] = []
    size = 0
    for row in between(connection, part.holder, start, stop):
        stored = stored_of(part.holder.name, row)
        if stored.position != start + len(got):
            break
        got.append(stored)
        size += len(stored.record.body)
        if size >= BATCH_BYTES:
            return got
    if start + len(got) < stop:
        raise CorruptionError(
            f"session {part.holder.name!r}: the record at position {start + len(got)} is missing; its log should have "
            f"{part.holder.end} records"
        )
    return got


def between(connection: sqlite3.Connection, holder: SessionRow, start: int, stop: int) -> Iterable[Sequence[Any]]:
    """Rows of one session, in order, for positions from `start` to before `stop`."""
    return connection.execute(
        f"{_RECORD} where number >= ? and number < ? order by number",
        (number_of(holder.id, start), number_of(holder.id, stop)),
    )


def at_of(row: Sequence[Any]) -> int:
    """The position of a row."""
    return int(row[0] % MOST)


def holder_of(row: Sequence[Any]) -> int:
    """The id of the session that a row belongs to."""
    return int(row[0] >> _BITS)


def holders(connection: sqlite3.Connection) -> Iterator[int]:
    """The ids of all sessions that have rows."""
    number = -(2**63)
    next_one = "select number from record where number >= ? order by number limit 1"
    while row := connection.execute(next_one, (number,)).fetchone():
        yield row[0] >> _BITS
        number = number_of((row[0] >> _BITS) + 1, 0)


def place(connection: sqlite3.Connection, session: SessionRow, seq: int | None, key: str | None) -> int | None:
    """Position of the first record with at least this `seq`, or of the record with this key."""
    if key is not None:
        return _keyed(connection, session, key)
    found = None
    for part in parts(connection, session):
        at, follows = _searched(connection, part, seq or 0)
        found = found if at is None else at
        if follows:
            break
    return found


def _keyed(connection: sqlite3.Connection, session: SessionRow, key: str) -> int | None:
    wanted = "select number from record where number >> 32 = ? and key = ?"
    for part in parts(connection, session):
        row = connection.execute(wanted, (part.holder.id, key)).fetchone()
        if row is not None and part.start <= row[0] % MOST < part.stop:
            return int(row[0] % MOST)
    return None


def _searched(connection: sqlite3.Connection, part: Part, seq: int) -> tuple[int | None, bool]:
    """The first position of a part with at least this `seq`, and whether a smaller one precedes it in the part.

    Bisects, because an index would cost a page with every append. The rows that decided are read again with their
    checksums, so that a damaged `seq` cannot mislead.
    """
    holder, low, high = part
    below, found, follows = low, None, False
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(
            "select number, seq >= ? from record where number >= ? and number < ? and seq is not null order by number "
            "limit 1",
            (seq, number_of(holder.id, middle), number_of(holder.id, high)),
        ).fetchone()
        if row is None:
            high = middle
        elif row[1]:
            high, found = middle, row[0] % MOST
        else:
            below, follows = row[0] % MOST, True
            low = below + 1
    last = part.stop if found is None else found + 1
    while below < last:
        below += len(load(connection, holder, below, last))
    return found, follows


def session_rows(connection: sqlite3.Connection) -> Iterator[SessionRow | str]:
    """Yield all sessions in the order of their names; for a damaged one, what is wrong."""
    before = b""
    for row in connection.execute(f"{_LOG} order by name"):
        if row[0] == b"":
            continue  # the row of the whole file
        try:
            session = session_row_of(row, "")
        except CorruptionError:
            yield f"the row of the session {row[0]!r:.300} is not what was written"
            continue
        if row[0] <= before:
            yield f"the session {session.name!r} is out of order, where no search finds it"
            continue
        yield session
        before = row[0]


def all_session_rows(connection: sqlite3.Connection) -> list[SessionRow]:
    """All sessions. Raise `CorruptionError` if one is damaged."""
    sessions = []
    for found in session_rows(connection):
        if isinstance(found, str):
            raise CorruptionError(found)
        sessions.append(found)
    return sessions


def numbers(connection: sqlite3.Connection) -> set[int]:
    """The ids of all sessions, including damaged rows."""
    return {id_ for (id_,) in connection.execute("select id from log where name <> ''")}


def store_row_of(connection: sqlite3.Connection) -> StoreRow:
    """The row of the whole file. Raise `CorruptionError` if it is damaged."""
    row = connection.execute("select next, parent, shared, id, crc from log where name = ''").fetchone()
    if row is None or row[3] != 0 or row[4] != sum_of_store_row(StoreRow(*row[:3])):
        raise CorruptionError("the row that counts commits and sessions is not what was written")
    return StoreRow(*row[:3])


# -- writing --


def write_store_row(connection: sqlite3.Connection, meta: StoreRow) -> None:
    """Replace the row of the whole file."""
    connection.execute(
        "update log set next = ?, parent = ?, shared = ?, crc = ? where name = ''", (*meta, sum_of_store_row(meta))
    )


def write_changes(
    connection: sqlite3.Connection,
    new: Iterable[tuple[int, Sequence[Row]]],
    moved: Iterable[SessionRow],
    meta: StoreRow,
) -> None:
    """Insert rows by the ids of their sessions, then replace the ends of logs and the number of commits.

    That is all that an append changes. No index of sessions is touched.
    """
    for session, rows in new:
        write_records(connection, session, rows)
    ends = [(session.end, sum_of(session), session.name) for session in moved]
    connection.executemany(
        "update log set next = ?, crc = ? where name = ?", [*ends, (meta.commits, sum_of_store_row(meta), "")]
    )


def write_session(connection: sqlite3.Connection, session: SessionRow) -> None:
    """Insert a session."""
    connection.execute(
        "insert into log (name, id, next, parent, shared, crc) values (?, ?, ?, ?, ?, ?)", (*session, sum_of(session))
    )


def write_records(connection: sqlite3.Connection, session: int, rows: Sequence[Row]) -> None:
    """Insert rows into a session's log."""
    first = session << _BITS
    connection.executemany(
        "insert into record (number, kind, seq, key, format, crc, body) values (?, ?, ?, ?, ?, ?, ?)",
        [(first | row[0], *row[1:]) for row in rows],
    )


def delete(connection: sqlite3.Connection, session: SessionRow) -> None:
    """Delete a session with its own records."""
    connection.execute(
        "delete from record where number >= ? and number < ?", (session.id << _BITS, (session.id + 1) << _BITS)
    )
    connection.execute("delete from log where name = ?", (session.name,))


def forks(connection: sqlite3.Connection, session: SessionRow) -> list[SessionRow]:
    """The forks of a session."""
    found = connection.execute(f"{_LOG} where parent = ? and name > ''", (session.id,)).fetchall()
    return [session_row_of(row, f"session {row[0]!r:.300}") for row in found]


# -- leases --


def lease_of(connection: sqlite3.Connection, name: str) -> tuple[str, int] | None:
    """The owner of a lease and its end in microseconds since 1970; `None` without a lease."""
    row = connection.execute("select name, owner, until, crc from lease where name = ?", (name,)).fetchone()
    if row is None:
        return None
    try:
        owner, until = row[1].decode(), row[2]
        if row[3] == _sum(name, owner, until):
            return owner, until
    except (AttributeError, UnicodeDecodeError):  # damage changed the type or encoding of the owner
        pass
    raise CorruptionError(f"session {name!r}: the row of its lease is not what was written")


def leased(connection: sqlite3.Connection) -> list[str]:
    """Names of the sessions with a lease, including damaged rows."""
    return [row[0].decode("utf-8", "replace") for row in connection.execute("select cast(name as blob) from lease")]


def write_lease(connection: sqlite3.Connection, name: str, owner: str, until: int) -> None:
    """Insert a lease."""
    row = name, owner, until, _sum(name, owner, until)
    connection.execute("insert into lease (name, owner, until, crc) values (?, ?, ?, ?)", row)


def free(connection: sqlite3.Connection, name: str) -> bool:
    """Delete a lease; whether there was one."""
    return connection.execute("delete from lease where name = ?", (name,)).rowcount > 0


def forget_leases(connection: sqlite3.Connection, now: int) -> bool:
    """Delete expired leases; whether there were any."""
    return connection.execute("delete from lease where until <= ?", (now,)).rowcount > 0
