"""The tables, as numbered migrations, and the version of a schema.

A released migration never changes: a schema of any age gets those it lacks, and `tests/golden` has the rows of each
version. Names, kinds and keys are bytes, so that neither the encoding nor the collation of the database decides what is
equal; `convert_from(name, 'UTF8')` shows one.
"""

from zlib import crc32

from backscroll.errors import ConfigurationError, StoreUnavailableError
from backscroll.stores.postgres.address import Address
from backscroll.stores.postgres.driver import Connection, errors
from backscroll.stores.postgres.errors import damaged

_LOCK = 0x4261636B  # "Back": with the schema's checksum, an advisory lock that no other program uses
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "create table {s}.meta (version integer not null)",
        "insert into {s}.meta values (0)",
        "create table {s}.session (id bigint generated always as identity primary key, name bytea not null, "
        "next bigint not null, crc bigint not null, origin bigint references {s}.session, shared bigint not null, "
        "past bigint not null, mark bigint not null) "
        "with (fillfactor = 70)",  # room for the next version of a row on its page
        "create unique index session_name on {s}.session (name)",
        "create index session_origin on {s}.session (origin) where origin is not null",
        "create table {s}.record (session bigint not null, at bigint not null, mark bigint not null, "
        "kind bytea not null, seq bigint, key bytea, format bigint not null, crc bigint not null, "
        "body bytea not null)",
        "create unique index record_at on {s}.record (session, at)",
        "create unique index record_key on {s}.record (session, key) where key is not null",
        "create index record_seq on {s}.record (session, seq) where seq is not null",
        "create table {s}.indexed (session bigint primary key references {s}.session on delete cascade, "
        "upto bigint not null)",
        "create table {s}.passage (id bigint generated always as identity primary key, "
        "session bigint not null references {s}.session on delete cascade, seq bigint not null, "
        "part integer not null, start integer not null, shown bytea not null, words tsvector not null)",
        "create index passage_session on {s}.passage (session)",
        "create index passage_words on {s}.passage using gin (words)",
        "create table {s}.lease (name bytea primary key, owner bytea not null, until timestamptz not null)",
    ),
)
VERSION = len(STEPS)
TABLES = ("session", "record", "indexed", "passage", "lease")


def of(schema: str, statement: str) -> bytes:
    """A statement for the tables of a schema, whose name was checked to need no quotes."""
    return statement.replace("{s}", f'"{schema}"').encode()


def check(connection: Connection, address: Address, read_only: bool = False) -> None:
    """Migrate the schema if needed.

    Raises:
        ConfigurationError: the tables belong to another program, or `read_only` and there are none.
        StoreUnavailableError: a later version of Backscroll created them.
    """
    number = _version(connection, address)
    if read_only and number == 0:
        raise ConfigurationError(f"{address.shown}: not a Backscroll store: the schema holds none of its tables")
    if number < VERSION:
        _bring_up(connection, address)


def _version(connection: Connection, address: Address) -> int:
    """The version of a schema; 0 without tables."""
    try:
        rows = connection.execute(of(address.schema, "select version from {s}.meta")).fetchall()
    except errors.UndefinedTable:
        return 0
    except errors.UndefinedColumn:
        raise _of_others(address, "meta") from None
    number = rows[0][0] if len(rows) == 1 else None
    if not isinstance(number, int) or number < 1:
        raise damaged(address, f"the number of its schema is {rows!r:.80}")
    if number > VERSION:
        raise StoreUnavailableError(
            f"{address.shown} has schema {number}, and this version of Backscroll supports schemas up to {VERSION}: "
            "upgrade Backscroll"
        )
    return number


def _bring_up(connection: Connection, address: Address) -> None:
    """Run the missing migrations. Other processes may do so at the same time."""
    with connection.transaction():
        number = crc32(address.schema.encode()) - 2**31
        connection.execute("select pg_advisory_xact_lock(%s::integer, %s::integer)", (_LOCK, number))
        if _absent(connection, "pg_namespace where nspname = %s", address.schema):
            connection.execute(of(address.schema, "create schema {s}"))
        done = 0
        if not _absent(connection, "pg_tables where schemaname = %s and tablename = 'meta'", address.schema):
            done = _version(connection, address)  # again: another process may have come first
        try:
            for statement in (statement for step in STEPS[done:] for statement in step):
                connection.execute(of(address.schema, statement))
        except (errors.DuplicateTable, errors.DuplicateObject) as error:
            raise _of_others(address, str(error.diag.message_primary)) from None
        connection.execute(of(address.schema, "update {s}.meta set version = %s"), (VERSION,))


def _absent(connection: Connection, what: str, schema: str) -> bool:
    query = f"select count(*) from pg_catalog.{what}"  # noqa: S608  constants of this file
    return connection.execute(query.encode(), (schema,)).fetchone() == (0,)


def _of_others(address: Address, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{address.shown} has tables of another program in this schema ({what}): choose another one with ?schema="
    )
