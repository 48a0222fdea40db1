"""The tables, as numbered steps that only go forward, and whether a file has them. Nothing else may live here.

A step that was ever released stays as it is: a file of any age is brought up by the steps that it lacks, and
`tests/golden` holds a database of each number.
"""

import sqlite3
import time

from backscroll.errors import ConfigurationError, StoreUnavailableError
from backscroll.stores.sqlite.errors import code, damaged

APPLICATION = 0x4261636B  # "Back", in the header of the file
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "create table meta (commits integer not null, begun integer not null, sessions integer not null, "
        "crc integer not null)",
        "insert into meta values (0, 0, 0, 4041445961)",  # the checksum of three zeros
        "create table session (name text primary key not null, id integer not null, next integer not null, "
        "crc integer not null) without rowid",
        "create table record (session integer not null, at integer not null, kind text not null, seq integer, "
        "format integer not null, crc integer not null, body blob not null)",
        "create unique index record_at on record (session, at)",
        "create index record_seq on record (session, seq) where seq is not null",
    ),
    (
        # What changes with every append stands on one page, and a record is found by its number alone. The row without
        # a name is that of the whole file: `next` counts its commits, `parent` the sessions that ever began, `shared`
        # those that there are. Checksums stay as they were, so that bringing a file up cannot hide what is wrong in it.
        "create table log (name text primary key not null, id integer not null, next integer not null, "
        "parent integer, shared integer not null, crc integer not null) without rowid",
        "insert into log select '', 0, commits, begun, sessions, crc from meta",
        "insert into log select name, id, next, null, 0, crc from session",
        "create unique index log_id on log (id, parent, shared)",
        "alter table record rename to placed",
        "create table record (number integer primary key not null, kind text not null, seq integer, key text, "
        "format integer not null, crc integer not null, body blob not null)",
        "insert into record select session << 32 | at, kind, seq, null, format, crc, body from placed "
        "order by session, at",
        "create unique index record_key on record (number >> 32, key) where key is not null",
        "create table lease (name text primary key not null, owner text not null, until integer not null, "
        "crc integer not null) without rowid",
        "drop table placed",
        "drop table session",
        "drop table meta",
    ),
)
VERSION = len(STEPS)


def version(connection: sqlite3.Connection, path: str) -> int:
    """How many steps a file has; 0 for an empty one. Raises for what is not ours, or from a later Backscroll."""
    application, number, tables = connection.execute(_HEADER).fetchone()
    if (application, number, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION:
        raise ConfigurationError(
            f"{path}: not a Backscroll store: it is a database of another program; name another file"
        )
    if number > VERSION:
        raise StoreUnavailableError(
            f"{path} has schema {number}, and this version of Backscroll knows schemas up to {VERSION}: upgrade it"
        )
    if number < 1:
        raise damaged(path, f"its schema has the number {number}")
    return int(number)


def bring_up(connection: sqlite3.Connection, path: str, timeout: float) -> None:
    """Gives a file the steps that it lacks, whoever else is doing so at the same moment."""
    write_ahead(connection, timeout)
    if version(connection, path) == VERSION:
        return
    connection.execute("begin immediate")
    try:
        for step in STEPS[version(connection, path) :]:  # asked again: somebody may have come first
            for statement in step:
                connection.execute(statement)
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        connection.rollback()
        raise


def altered(connection: sqlite3.Connection) -> bool:
    """Whether the tables are not those that the steps made."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in (statement for step in STEPS for statement in step):
            fresh.execute(statement)
        wanted, found = (set(each.execute(_TABLES)) for each in (fresh, connection))
    finally:
        fresh.close()
    return not wanted <= {tuple(map(_text, row)) for row in found}


_HEADER = (  # in one statement, and so of one moment: somebody may be making the tables
    "select application_id, user_version, (select count(*) from sqlite_schema) "
    "from pragma_application_id, pragma_user_version"
)
_TABLES = "select type, name, tbl_name, sql from sqlite_schema"


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Turns the write-ahead log on. SQLite does not wait here when two do so at once, so it is tried again."""
    until = time.monotonic() + timeout
    while True:
        try:
            connection.execute("pragma journal_mode = wal").fetchone()
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
