"""Statements, rows and their checksums.

A damaged row fails its checksum, and a missing row leaves a gap in its log. Checksums start with the session's name, so
that no row passes for one of another session. A fork has rows from its first own position on; those below belong to the
session that it was forked from.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from backscroll.errors import ConfigurationError, CorruptionError
from backscroll.ports import Record, Stored, Tip
from backscroll.stores.postgres.driver import Connection
from backscroll.stores.postgres.schema import TABLES, of

BATCH = 500  # rows
BATCH_BYTES = 4_000_000
_INTEGERS = range(-(2**63), 2**63)
LAST = _INTEGERS.stop - 1
"""No log has a position behind it."""
_LARGEST = 500_000_000  # bytes of an append: PostgreSQL takes messages of 1 GB, and holds each one several times

_PART = (  # the session itself and those that it shares records of, with the places of each: low to before high
    "part as (select 0 as depth, id, name, next, crc, origin, shared, past, mark, shared as low, next as high "
    "from {s}.session where name = %(name)b union all "
    "select part.depth + 1, up.id, up.name, up.next, up.crc, up.origin, up.shared, up.past, up.mark, "
    "least(up.shared, part.low), part.low from part join {s}.session up on up.id = part.origin)"
)
_PARTS = (
    "with recursive {part} select id, name, next, crc, origin, shared, past, mark, low, high from part order by depth"
).replace("{part}", _PART)
_LOAD = (  # sizes first: bodies are read only for the rows that are sent
    "select at, mark, kind, seq, key, format, crc, body from (select *, "
    "sum(octet_length(body)) over (order by at) - octet_length(body) as before from {s}.record "
    "where session = %(id)s and at >= %(start)s and at < %(stop)s order by at limit %(most)s) as row "
    "where before < %(bytes)s order by at"
)
_BY_SEQ = (
    "with recursive {part} select hit.at from part cross join lateral (select at from {s}.record "
    "where session = part.id and seq >= %(seq)s::bigint order by seq limit 1) as hit "
    "where hit.at >= part.low and hit.at < part.high order by hit.at limit 1"
).replace("{part}", _PART)
_BY_KEY = (
    "with recursive {part} select record.at from part join {s}.record on record.session = part.id "
    "and record.key = %(key)b where record.at >= part.low and record.at < part.high"
).replace("{part}", _PART)
_DURABLE = (  # for this transaction: a server may acknowledge before data is on disk
    "select set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)"
)
_APPEND = (  # one statement and so one transaction
    "with recursive durable as ({durable}), {past} moved as ({move} returning id, session.mark) "
    "insert into {s}.record (session, at, mark, kind, seq, key, format, crc, body) "
    "select moved.id, %(first)s + new.number - 1, %(mark)s, new.kind, new.seq, new.key, new.format, new.crc, new.body "
    "from durable, moved, unnest(%(kinds)b::bytea[], %(seqs)s::bigint[], %(keys)b::bytea[], %(formats)s::bigint[], "
    "%(crcs)s::bigint[], %(bodies)b::bytea[]) with ordinality as new(kind, seq, key, format, crc, body, number) "
    "returning (select mark from moved)"
).replace("{durable}", _DURABLE)
_BEGIN = (
    "insert into {s}.session (name, next, crc, shared, past, mark) "
    "values (%(name)b, %(next)s, %(sum)s, 0, %(past)s, %(mark)s) on conflict (name) do nothing"
)
_MOVE = (
    "update {s}.session set next = %(next)s, crc = %(sum)s where name = %(name)b and next = %(first)s "
    "and mark = coalesce(%(incarnation)s::bigint, mark)"
)
_UNUSED = (
    " and not exists (select from part join {s}.record on record.session = part.id "
    "and record.key = any(%(used)b::bytea[]) where part.depth > 0 and record.at < part.high)"
)


Row: TypeAlias = tuple[Any, ...]


class Part(NamedTuple):
    """Rows of one session that are the positions `low` to before `high` of a log."""

    id: int
    name: str
    low: int
    high: int


class New(NamedTuple):
    """What an append inserts."""

    session: str
    first: int
    mark: int
    """Identifies these rows if the answer to their append was lost."""
    keys: tuple[str, ...]
    incarnation: str | None
    values: dict[str, Any]


def _sum(*values: object) -> int:
    return crc32("\n".join(map(str, values)).encode("utf-8", "surrogatepass"))


def _text(data: bytes) -> str:
    """Decode text without failing: invalid UTF-8 cannot have the right checksum."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return repr(data)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# -- writing --


def new_rows(session: str, first: int, mark: int, records: Sequence[Record], incarnation: str | None) -> New:
    """Prepare rows for records. Raise `ConfigurationError` for what no row can hold."""
    if (size := sum(len(record.body) for record in records)) > _LARGEST:
        raise ConfigurationError(f"the records have {size} bytes together; append at most {_LARGEST} at once")
    for _, seq, _, number, _ in records:
        if any(value not in _INTEGERS for value in (number, 0 if seq is None else seq)):
            raise ConfigurationError(f"seq {seq} or format {number} does not fit in 64 bits")
    end, keys = first + len(records), [record.key for record in records]
    values = {
        "name": _bytes(session), "first": first, "next": end, "sum": _sum(session, end), "mark": mark,
        "past": _sum(session, "", 0, mark), "incarnation": _mark_of(incarnation),
        "kinds": [_bytes(record.kind) for record in records],
        "seqs": [record.seq for record in records],
        "keys": [None if key is None else _bytes(key) for key in keys],
        "formats": [record.format for record in records],
        "crcs": [_crc(session, at, mark, record) for at, record in enumerate(records, first)],
        "bodies": [record.body for record in records],
        "used": [_bytes(key) for key in keys if key is not None],
    }  # fmt: skip  # a table
    return New(
        session=session,
        first=first,
        mark=mark,
        keys=tuple(key for key in keys if key is not None),
        incarnation=incarnation,
        values=values,
    )


def _mark_of(incarnation: str | None) -> int | None:
    """The mark of an incarnation; one that no row has for an invalid incarnation."""
    if incarnation is None:
        return None
    return int(incarnation) if incarnation.isdecimal() and int(incarnation) in _INTEGERS else -1


def _crc(session: str, at: int, mark: int, record: Record) -> int:
    head = (session, at, mark, record.kind, record.seq, record.format, record.key is not None, record.key)
    return crc32(record.body, _sum(*head))


def append(connection: Connection, schema: str, new: New) -> str | None:
    """Insert rows and move the log's end, if they start there and their keys are new to what the session shares.

    Returns the session's incarnation; `None` if nothing was inserted.
    """
    if new.first == 0 and new.incarnation is not None:
        return None
    move = _BEGIN if new.first == 0 else _MOVE + _UNUSED if new.keys else _MOVE
    past = f"{_PART}," if new.keys else ""
    statement = of(schema, _APPEND.replace("{past}", past).replace("{move}", move))
    row = connection.execute(statement, new.values).fetchone()
    return None if row is None else str(row[0])


def is_there(connection: Connection, schema: str, new: New) -> str | None:
    """The session's incarnation, if exactly these rows were inserted."""
    query = (
        "select session.mark from {s}.record join {s}.session on session.id = record.session "
        "where name = %b and at = %s and record.mark = %s"
    )
    row = connection.execute(of(schema, query), (_bytes(new.session), new.first, new.mark)).fetchone()
    return None if row is None else str(row[0])


def durable(connection: Connection) -> None:
    """Have the transaction acknowledged only when it is on the disk of the server."""
    connection.execute(_DURABLE)


def fork(connection: Connection, schema: str, source: Part, new: str, *, at: int, mark: int) -> bool:
    """Start a session with the first positions of another; `False` if it exists already with another `mark`."""
    values = (_bytes(new), at, _sum(new, at), source.id, at, _sum(new, source.name, at, mark), mark)
    query = "insert into {s}.session (name, next, crc, origin, shared, past, mark) values (%b, %s, %s, %s, %s, %s, %s) "
    if connection.execute(of(schema, query + "on conflict (name) do nothing"), values).rowcount > 0:
        return True
    query = "select from {s}.session where name = %b and mark = %s"
    return connection.execute(of(schema, query), (_bytes(new), mark)).fetchone() is not None


def lock(connection: Connection, schema: str, name: str) -> bool:
    """Keep a session from being deleted until the transaction ends; `False` if it does not exist."""
    query = of(schema, "select from {s}.session where name = %b for key share")
    return connection.execute(query, (_bytes(name),)).fetchone() is not None


def hold(connection: Connection, schema: str, name: str) -> None:
    """Keep others from appending to a session until the transaction ends."""
    durable(connection)
    connection.execute(of(schema, "select from {s}.session where name = %b for no key update"), (_bytes(name),))


def locked_session(connection: Connection, schema: str, name: str) -> list[tuple[int, str]]:
    """The session of a name with its id, or nothing. Locks it until the transaction ends."""
    query = of(schema, "select id, name from {s}.session where name = %b for update")
    return _named(connection, query, _bytes(name))


def forks(connection: Connection, schema: str, ids: Sequence[int]) -> list[tuple[int, str]]:
    """The forks of these sessions, in the order of creation. Locks them likewise."""
    query = of(schema, "select id, name from {s}.session where origin = any(%s::bigint[]) order by id for update")
    return _named(connection, query, list(ids))


def _named(connection: Connection, query: bytes, value: object) -> list[tuple[int, str]]:
    rows = connection.execute(query, (value,), binary=True).fetchall()
    return [(id_, _text(name)) for id_, name in rows]


def delete(connection: Connection, schema: str, ids: Sequence[int]) -> None:
    """Delete sessions with their records and search index."""
    connection.execute(of(schema, "delete from {s}.record where session = any(%s::bigint[])"), (list(ids),))
    connection.execute(of(schema, "delete from {s}.session where id = any(%s::bigint[])"), (list(ids),))


def lease(connection: Connection, schema: str, name: str, owner: str, seconds: float) -> tuple[str, float] | None:
    """Take or end a lease, by the server's clock. If another owner holds it, return that owner and the seconds left."""
    take = (
        "with durable as ({durable}) insert into {s}.lease (name, owner, until) "
        "select %b, %b, clock_timestamp() + %s * interval '1 second' from durable on conflict (name) do update "
        "set owner = excluded.owner, until = excluded.until "
        "where lease.owner = excluded.owner or lease.until <= clock_timestamp() returning 1"
    ).replace("{durable}", _DURABLE)
    look = "select owner, extract(epoch from until - clock_timestamp())::float8 from {s}.lease where name = %b"
    while not connection.execute(of(schema, take), (_bytes(name), _bytes(owner), seconds)).fetchone():
        found = connection.execute(of(schema, look), (_bytes(name),), binary=True).fetchone()
        if found is not None and found[1] > 0:  # else it ended, or was deleted, between the two statements
            return _text(found[0]), found[1]
    return None


def free(connection: Connection, schema: str, names: Sequence[str]) -> None:
    """Delete leases, also of sessions that do not exist."""
    given = ([_bytes(name) for name in names],)
    connection.execute(of(schema, "delete from {s}.lease where name = any(%s::bytea[])"), given)


def vacuum(connection: Connection, schema: str) -> None:
    """Free deleted rows. Not inside a transaction."""
    connection.execute(of(schema, f"vacuum {', '.join(f'{{s}}.{table}' for table in TABLES)}"))


# -- reading --


def names(connection: Connection, schema: str) -> list[str]:
    """Names of all sessions, in the order of creation."""
    query = of(schema, "select name, next, crc from {s}.session order by id")
    rows = connection.execute(query, binary=True).fetchall()
    return [_checked(_text(name), end, crc) for name, end, crc in rows]


def tip(connection: Connection, schema: str, name: str) -> Tip:
    """Number of records, and the session's incarnation."""
    query = of(schema, "select next, crc, mark from {s}.session where name = %b")
    row = connection.execute(query, (_bytes(name),), binary=True).fetchone()
    if row is None:
        return Tip(0, None)
    _checked(name, *row[:2])
    return Tip(row[0], str(row[2]))


def session_names(connection: Connection, schema: str) -> list[str]:
    """Names of all sessions, including damaged rows."""
    query = of(schema, "select name from {s}.session order by id")
    rows = connection.execute(query, binary=True).fetchall()
    return [_text(name) for (name,) in rows]


def strays(connection: Connection, schema: str) -> list[tuple[int, int]]:
    """Numbers of records without a session, each with the id of the missing session."""
    query = (
        "select count(*), session from {s}.record where not exists "
        "(select from {s}.session where id = record.session) group by session order by session"
    )
    rows = connection.execute(of(schema, query), binary=True).fetchall()
    return [(number, id_) for number, id_ in rows]


def _checked(name: str, end: int, crc: int) -> str:
    if crc != _sum(name, end):
        raise CorruptionError(f"the row of the session {name!r:.300} is damaged")
    return name


def parts(connection: Connection, schema: str, name: str) -> list[Part]:
    """The parts of a log, the oldest first; empty for an unknown session."""
    rows = connection.execute(of(schema, _PARTS), {"name": _bytes(name)}, binary=True).fetchall()
    found: list[Part] = []
    for number, (id_, data, next_, crc, origin, shared, past, mark, low, high) in enumerate(rows):
        above = rows[number + 1] if number + 1 < len(rows) else None
        own = _checked(_text(data), next_, crc)
        if past != _sum(own, _text(above[1]) if above else "", shared, mark) or (above is None) != (origin is None):
            raise CorruptionError(f"what the session {own!r:.300} shares with another one is damaged")
        found.append(Part(id_, own, low, high))
    return found[::-1]


def size(connection: Connection, schema: str, name: str) -> int:
    """Return the bytes of the bodies of a session's own records."""
    query = of(
        schema,
        "select coalesce(sum(octet_length(record.body)), 0)::bigint from {s}.session "
        "join {s}.record on record.session = session.id where session.name = %s",
    )
    row = connection.execute(query, (_bytes(name),), binary=True).fetchone()
    return 0 if row is None else int(row[0])


def load(connection: Connection, schema: str, part: Part, start: int, stop: int) -> list[Stored]:
    """Read records of a part from `start` on, at least one; the caller asks again for the rest.

    Raises `CorruptionError` at the first record that is missing or damaged.
    """
    got: list[Stored] = []
    for at, row in enumerate(batch(connection, schema, part, start, stop), start):
        if row[0] != at:
            break
        got.append(stored_of(part.name, row))
    if not got:
        raise CorruptionError(
            f"session {part.name!r}: the record at position {start} is missing; the log should have {part.high} records"
        )
    return got


def batch(connection: Connection, schema: str, part: Part, start: int, stop: int) -> list[Row]:
    """Read rows of a part from `start` on without checks, at least one if there is any."""
    values = {"id": part.id, "start": start, "stop": stop, "most": BATCH, "bytes": BATCH_BYTES}
    return connection.execute(of(schema, _LOAD), values, binary=True).fetchall()


def stored_of(session: str, row: Row) -> Stored:
    """The record of a row. Raise `CorruptionError` if it fails its checksum."""
    at, mark, kind, seq, key, number, crc, body = row
    record = Record(kind=_text(kind), seq=seq, body=body, format=number, key=None if key is None else _text(key))
    if _crc(session, at, mark, record) != crc:
        raise CorruptionError(
            f"session {session!r}: the record at position {at} is not what was written there; `verify()` lists all "
            "damage; restore the database from a backup"
        )
    return Stored(at, record)


def place(connection: Connection, schema: str, name: str, seq: int | None, key: str | None) -> int | None:
    """Position of the first record with at least this `seq`, or of the record with this key."""
    if seq is not None and seq >= _INTEGERS.stop:
        return None
    values = {
        "name": _bytes(name),
        "seq": max(seq or 0, _INTEGERS.start),
        "key": None if key is None else _bytes(key),
    }
    query = _BY_SEQ if key is None else _BY_KEY
    row = connection.execute(of(schema, query), values, binary=True).fetchone()
    return None if row is None else int(row[0])
