"""The tables, as numbered migrations, and the version of a file.

A released migration never changes: a file of any age gets those it lacks, and `tests/golden` has a database of each
version.
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
        # All that an append changes is on one page, and a record is found by its number alone. The row without a name
        # is for the whole file: `next` counts its commits, `parent` the sessions ever created, `shared` the existing
        # ones. Checksums stay, so that a migration cannot hide damage.
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
    """The version of a file; 0 for an empty one.

    Raises:
        ConfigurationError: the file belongs to another program.
        StoreUnavailableError: a later version of Backscroll wrote it.
    """
    application, number, tables = connection.execute(_HEADER).fetchone()
    if (application, number, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION:
        raise ConfigurationError(
            f"{path}: not a Backscroll store but a database of another program: choose another file"
        )
    if number > VERSION:
        raise StoreUnavailableError(
            f"{path} has schema {number}, and this Backscroll supports schemas up to {VERSION}: upgrade Backscroll"
        )
    if number < 1:
        raise damaged(path, f"its schema has the invalid number {number}")
    return int(number)


def bring_up(connection: sqlite3.Connection, path: str, timeout: float) -> None:
    """Run the missing migrations. Other processes may do so at the same time."""
    write_ahead(connection, timeout)
    if version(connection, path) == VERSION:
        return
    connection.execute("begin immediate")
    try:
        for step in STEPS[version(connection, path) :]:  # again: another process may have come first
            for statement in step:
                connection.execute(statement)
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        connection.rollback()
        raise


def altered(connection: sqlite3.Connection) -> bool:
    """Whether the tables differ from those of the migrations."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in (statement for step in STEPS for statement in step):
            fresh.execute(statement)
        wanted, found = (set(each.execute(_TABLES)) for each in (fresh, connection))
    finally:
        fresh.close()
    return not wanted <= {tuple(map(_text, row)) for row in found}


_HEADER = (  # one statement, because another process may be creating the tables
    "select application_id, user_version, (select count(*) from sqlite_schema) "
    "from pragma_application_id, pragma_user_version"
)
_TABLES = "select type, name, tbl_name, sql from sqlite_schema"


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Turn on the write-ahead log. Retries, because SQLite does not wait here for another process."""
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
