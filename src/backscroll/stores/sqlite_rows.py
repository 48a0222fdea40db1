"""Rows and their checksums: what is written, and what is checked when it comes back. No connection is opened here.

A row that was altered fails its checksum, a row that is missing leaves a gap in its log or a wrong count. Checksums
begin with the session's name, so that no row can pass for one of another session.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from backscroll.errors import ConfigurationError, DamagedError
from backscroll.ports import Record, Stored

BATCH = 500  # rows
BATCH_BYTES = 4_000_000
_INTEGERS = range(-(2**63), 2**63)
_LARGEST = 999_000_000  # bytes of a row that SQLite takes, with room for the other columns

Row = tuple[int, str, int | None, str | None, int, int, bytes]
"""at, kind, seq, key, format, crc, body"""


class Meta(NamedTuple):
    """What is known of the whole file."""

    commits: int
    begun: int
    """Sessions that ever began: ids are never used twice."""
    sessions: int


class Begun(NamedTuple):
    """A session in the file."""

    name: str
    id: int
    end: int


def _sum(*values: object) -> int:
    return crc32("\n".join(map(str, values)).encode())


def rows_of(session: str, first: int, records: Sequence[Record]) -> list[Row]:
    """What is inserted for records. Raises `ConfigurationError` for what no row can hold."""
    rows = []
    for at, (kind, seq, body, number, key) in enumerate(records, first):
        if len(body) > _LARGEST:
            raise ConfigurationError(f"a record of {len(body)} bytes is too large: SQLite keeps at most {_LARGEST}")
        if any(value not in _INTEGERS for value in (number, 0 if seq is None else seq)):
            raise ConfigurationError(f"seq {seq} or format {number} has more than 64 bits")
        rows.append((at, kind, seq, key, number, crc32(body, _head(session, at, kind, seq, number, key)), body))
    return rows


def stored_of(session: str, row: Sequence[Any]) -> Stored:
    """A record from its row; texts come as bytes. Raises `DamagedError` for a row that is not as it was written."""
    at, kind, seq, key, number, crc, body = row
    try:
        told, known = kind.decode(), None if key is None else key.decode()
        fits = crc32(body, _head(session, at, told, seq, number, known)) == crc
    except (AttributeError, TypeError, UnicodeDecodeError):  # a value that turned into one of another type
        fits = False
    if not fits:
        raise DamagedError(f"session {session!r}: the record at place {at} is not what was written there")
    return Stored(at, Record(told, seq, body, number, known))


def _head(*values: object) -> int:
    """Of everything but the body. A record without a key has the sum that it had before there were keys."""
    return _sum(*(values[:-1] if values[-1] is None else values))


# -- reading --


def load(connection: sqlite3.Connection, session: Begun, start: int, stop: int) -> list[Stored]:
    """Some records from `start` on, at least one where there is one to load; the caller asks again for the rest."""
    got: list[Stored] = []
    size = 0
    for row in _rows(connection, session.id, start, min(stop, start + BATCH)):
        stored = stored_of(session.name, row)
        if stored.at != start + len(got):
            break
        got.append(stored)
        size += len(stored.record.body)
        if size >= BATCH_BYTES:
            return got
    if start + len(got) < min(stop, start + BATCH):
        raise DamagedError(
            f"session {session.name!r}: the record at place {start + len(got)} is missing; its log ends before place "
            f"{session.end}"
        )
    return got


def _rows(connection: sqlite3.Connection, session: int, start: int, stop: int) -> Iterable[Sequence[Any]]:
    return connection.execute(
        "select at, kind, seq, key, format, crc, body from record where session = ? and at >= ? and at < ? order by at",
        (session, start, stop),
    )


def place(connection: sqlite3.Connection, session: Begun, seq: int | None, key: str | None) -> int | None:
    """Where the first record with at least this `seq` stands, or the one with this key."""
    by_seq = "select at from record where session = ? and seq >= ? order by seq limit 1"
    by_key = "select at from record where session = ? and key = ?"
    row = connection.execute(by_seq if key is None else by_key, (session.id, seq if key is None else key)).fetchone()
    return None if row is None or row[0] >= session.end else int(row[0])


def wrong(connection: sqlite3.Connection, session: Begun) -> Iterator[tuple[int, str]]:
    """Every place of a session's log that is not as it should be, and what is wrong there."""
    expected = 0
    for row in _rows(connection, session.id, 0, _INTEGERS.stop - 1):
        at = row[0]
        for missing in range(expected, min(at, session.end)):
            yield missing, "the record is missing"
        expected = at + 1
        if at >= session.end:
            yield at, f"there is a record behind the end of the log, which is before place {session.end}"
        try:
            stored_of(session.name, row)
        except DamagedError:
            yield at, "the record is not what was written there"
    for missing in range(expected, session.end):
        yield missing, "the record is missing"


def find(connection: sqlite3.Connection, name: str) -> Begun | None:
    """The session of a name; None where it has not begun."""
    row = connection.execute("select id, next, crc from session where name = ?", (name,)).fetchone()
    if row is None:
        return None
    if row[2] != _sum(name, row[0], row[1]):
        raise DamagedError(f"session {name!r}: the row that tells where its log ends is not what was written")
    return Begun(name, row[0], row[1])


def begun(connection: sqlite3.Connection) -> Iterator[Begun | str]:
    """All sessions in the order of their names; for a damaged one what is wrong, and so for their number."""
    before, number, meta = b"", 0, meta_of(connection)
    for name, id_, end, crc in connection.execute("select name, id, next, crc from session order by name"):
        number += 1
        if crc != _sum(_text(name), id_, end):
            yield f"the row of the session {name!r:.300} is not what was written"
        elif name <= before:
            yield f"the session {_text(name)!r} stands at a wrong place, where it cannot be found"
        else:
            yield Begun(_text(name), id_, end)
            before = name
    if number != meta.sessions:
        yield f"there are {number} sessions, and there should be {meta.sessions}"


def all_begun(connection: sqlite3.Connection) -> list[Begun]:
    """All sessions. Raises `DamagedError` where one of them is not as it was written."""
    sessions = []
    for found in begun(connection):
        if isinstance(found, str):
            raise DamagedError(found)
        sessions.append(found)
    return sessions


def _text(name: object) -> str:
    """Never fails: what is no UTF-8 cannot have the right checksum."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else repr(name)


def meta_of(connection: sqlite3.Connection) -> Meta:
    """The facts of the whole file."""
    rows = connection.execute("select commits, begun, sessions, crc from meta").fetchall()
    if len(rows) != 1 or rows[0][3] != _sum(*rows[0][:3]):
        raise DamagedError("the row that counts commits and sessions is not what was written")
    return Meta(*rows[0][:3])


# -- writing --


def write_meta(connection: sqlite3.Connection, meta: Meta) -> None:
    """Replaces the facts of the whole file."""
    connection.execute("update meta set commits = ?, begun = ?, sessions = ?, crc = ?", (*meta, _sum(*meta)))


def write_session(connection: sqlite3.Connection, session: Begun) -> None:
    """Begins a session, or moves its end."""
    connection.execute(
        "insert into session (name, id, next, crc) values (?, ?, ?, ?) "
        "on conflict (name) do update set next = excluded.next, crc = excluded.crc",
        (*session, _sum(*session)),
    )


def write_records(connection: sqlite3.Connection, session: int, rows: Iterable[Row]) -> None:
    """Puts rows into a session's log."""
    connection.executemany(
        "insert into record (session, at, kind, seq, key, format, crc, body) values (?, ?, ?, ?, ?, ?, ?, ?)",
        ((session, *row) for row in rows),
    )


def delete(connection: sqlite3.Connection, session: Begun) -> None:
    """Deletes a session with its records."""
    connection.execute("delete from record where session = ?", (session.id,))
    connection.execute("delete from session where name = ?", (session.name,))
