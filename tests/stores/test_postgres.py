"""What the PostgreSQL store does beside the contract: servers that go away, poolers, schemas, erasing, damage."""

import gc
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
import pytest

from backscroll import ConfigurationError, ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.addresses import open_store
from backscroll.stores.conformance import CHECKS, retried, together
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.postgres.address import scrubbed
from backscroll.stores.postgres.rows import BATCH
from backscroll.stores.postgres.schema import STEPS
from tests.stores.pooling import Pooler
from tests.stores.programs import appended, differs, record
from tests.stores.running import FAULTS, ROOT, at_once
from tests.stores.serving import PostgresServer

SECRET = "S3CRET"
NOWHERE = f"postgresql://user:{SECRET}@127.0.0.1:1/database"


@pytest.fixture
def sql(postgres_server):
    """Runs statements as the administrator does."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield lambda query, *values: connection.execute(query, values or None)


@pytest.fixture
def pooler(postgres_server):
    made = Pooler(postgres_server, 3)
    yield made
    made.close()


@pytest.fixture
def own_server():
    """A server that a test may kill. It acknowledges what is in its memory only, unless it is told better."""
    server = PostgresServer("synchronous_commit=off", "wal_writer_delay=10s")
    server.start()
    yield server
    server.remove()


def schema_of(store):
    return store.address.schema


# -- addresses --


def test_nothing_is_opened_before_the_first_use():
    store = PostgresStore(NOWHERE)
    assert store.capabilities >= {"durable", "shared", "delete", "fork"}
    assert repr(store) == "PostgresStore('postgresql://user@127.0.0.1:1/database?schema=backscroll')"
    store.close()


def test_address_has_one_store_in_a_process_in_any_spelling():
    """An address has one store in a process however it is written."""
    one = open_store("postgresql://me@host/db?schema=a&connections=3")
    assert open_store("postgres://me@host:/db?connections=3&schema=%61") is one
    assert open_store("postgresql://me@host/db?schema=b&connections=3") is not one
    assert open_store("postgresql://you@host/db?schema=a&connections=3") is not one
    assert isinstance(one, PostgresStore)
    assert (one.address.schema, one.address.connections) == ("a", 3)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql:", "the form postgresql://user"),
        ("postgresql://host/db?schema=a b", "must have 1 to 63 ASCII letters"),
        ("postgresql://host/db?schema=pg_mine", "must have 1 to 63 ASCII letters"),
        ('postgresql://host/db?schema=a"b', "must have 1 to 63 ASCII letters"),
        ("postgresql://host/db?schema=", "must have 1 to 63 ASCII letters"),
        ("postgresql://host/db?connections=0", "`connections` must be a number from 1"),
        ("postgresql://host/db?mode=ro", 'invalid URI query parameter: "mode"'),
        (f"postgresql://user:{SECRET}%zz@host/db", "cannot parse the address"),
        (f"postgresql://user:a@{SECRET}@host/db", "%40 and %2F"),
        (f"postgresql://user:{SECRET}/a@host/db", "%40 and %2F"),
        (f"postgresql://user:{SECRET}?/a@host/db", "%40 and %2F"),
        (f"postgresql://user:{SECRET}/db", "%40 and %2F"),
        (f"postgresql://host/db?passwort={SECRET}", 'invalid URI query parameter: "passwort"'),
        (f"postgresql://host/db?password={SECRET}%zz", "cannot parse the address"),
        (f"postgresq://user:{SECRET}@host/db", "unknown scheme"),
        (f"mysql://host/db?password={SECRET}", "unknown scheme"),
    ],
)
def test_impossible_address_is_refused_without_its_password(address, told):
    """An address that can never work is refused without its password."""
    with pytest.raises(ConfigurationError, match=told) as caught:
        open_store(address)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        NOWHERE,
        f"postgresql://127.0.0.1:1/database?user=me&password={SECRET}",
        f"postgresql://user:{SECRET}%40%2F%3A@127.0.0.1:1/database",
        f"postgresql://user:{SECRET}@nosuchhost.invalid/database",
        f"postgresql://user:{SECRET}@127.0.0.1:1,localhost:1/database",
        f"postgresql://user:{SECRET}@127.0.0.1:1/database?sslmode=wrong",
    ],
)
def test_unreachable_server_error_has_a_remedy_and_no_password(address):
    """A server that cannot be reached is reported with what to do and without the password."""
    store = PostgresStore(address)
    for action in (
        lambda: store.length("a"),
        lambda: appended(store, "a", 1),
        store.sessions,
        lambda: store.delete("a"),
    ):
        with pytest.raises(StoreUnavailableError, match=r"cannot be reached: .*check that the server runs") as caught:
            action()
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert SECRET not in repr(store) + repr(store.address) + str(vars(store))
    store.close()


def test_without_the_extra_it_is_named():
    program = "import sys; sys.modules['psycopg'] = None; from backscroll.stores.addresses import open_store; "
    line = [sys.executable, "-c", f"{program}open_store({NOWHERE!r})"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "ConfigurationError: a PostgreSQL store needs psycopg" in done.stderr
    assert "pip install 'backscroll[postgres]'" in done.stderr
    assert SECRET not in done.stderr


# -- servers that go away --


def test_after_a_restart_the_next_call_works(own_server):
    store = PostgresStore(own_server.address)
    appended(store, "a", 3)
    for end in (own_server.stop, own_server.kill):
        end()
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            store.length("a")
        own_server.start()
        assert store.length("a") == 3
        end()
        own_server.start()
        assert not differs(store, "a"), "it was not used while the server was away"
    appended(store, "a", 4, 3)
    store.close()


def test_acknowledged_appends_survive_a_killed_server(own_server):
    """Four threads append pairs and never stop; what they are told of failures is all that they know."""
    store, over, acknowledged, errors = PostgresStore(own_server.address), threading.Event(), {}, []

    def write(session):
        at = 0
        while not over.is_set():
            try:
                at = store.length(session)
                assert at >= acknowledged.get(session, 0)
                store.append(session, at, [record(session, at), record(session, at + 1)]).result()
                acknowledged[session] = at + 2
            except StoreUnavailableError:
                time.sleep(0.01)
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=write, args=(f"s{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(FAULTS // 10 or 3):
            time.sleep(0.3)
            own_server.kill()
            before = dict(acknowledged)
            own_server.start()
            reader = PostgresStore(own_server.address)
            for session, end in before.items():
                assert reader.length(session) >= end
            reader.close()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert len(acknowledged) == 4
    for session, end in acknowledged.items():
        assert store.length(session) - end in (0, 2), "a pair that was written, and the answer lost"
        assert not differs(store, session)
    assert list(store.verify()) == []
    store.close()


@pytest.mark.parametrize("keys", [False, True])
def test_append_with_a_lost_answer_is_stored_exactly_once(pooler, postgres, keys):
    """An append whose answer was lost is neither lost nor doubled."""
    store = PostgresStore(pooler.address + "?schema=" + postgres().rpartition("=")[2])
    store.length("a")
    for at in range(3):
        pooler.losing = True
        store.append("a", at, [record("a", at)._replace(key=f"key {at}" if keys else None)]).result()
        assert not pooler.losing
    assert store.length("a") == 3
    pooler.losing = True
    store.fork("a", "b", 2).result()
    assert store.length("b") == 2
    for action in (lambda: store.append("a", 1, [record("a", 1)]), lambda: store.fork("a", "b", 2)):
        pooler.losing = True
        with pytest.raises(ConflictError):
            action().result()
    store.close()


def test_a_connection_that_the_server_ended_is_replaced(postgres, sql):
    store = PostgresStore(postgres() + "&application_name=to_be_ended")
    appended(store, "a", 2)
    for _ in range(2):
        sql("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'to_be_ended'")
        assert store.length("a") == 2
    sql("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'to_be_ended'")
    appended(store, "a", 3, 2)
    assert not differs(store, "a")
    store.close()


# -- poolers --


@pytest.mark.long
def test_contract_holds_behind_a_pooler(pooler, postgres):
    """The contract holds behind a pooler and nothing is left in its connections."""
    schemas = []

    def reopen():
        return PostgresStore(f"{pooler.address}?schema={schemas[-1]}")

    def make():
        schemas.append(postgres(f"s{len(schemas)}").rpartition("=")[2])
        return reopen()

    long = ("check_large_bodies", "check_reading_while_it_is_written", "check_threads_on_one_session")
    quick = [check for check in CHECKS if FAULTS or check.__name__ not in long]
    assert {check(make, reopen) for check in quick} == {None}
    assert min(pooler.used.values()) > 100, "transactions went to all connections"
    assert pooler.prepared() == [0, 0, 0]


# -- connections and threads --


def connections(sql, name):
    return sql("select count(*) from pg_stat_activity where application_name = %s", name).fetchone()[0]


def test_appends_run_parallel_across_sessions_ordered_within(postgres, sql):
    """Appends to different sessions are under way at once and those of one in their order."""
    store = PostgresStore(postgres())
    for session in "abc":
        appended(store, session, 1)
    with psycopg.connect(postgres().partition("?schema")[0].partition("&schema")[0]) as blocking:
        blocking.execute(f"select from {schema_of(store)}.session where name = 'a' for update")
        held = [store.append("a", at, [record("a", at)]) for at in range(1, 30)]
        others = [store.append(session, at, [record(session, at)]) for session in "bc" for at in range(1, 30)]
        assert wait(others, 60).not_done == set()
        assert not any(each.done() for each in held)
    assert [each.exception(60) for each in held] == [None] * 29
    assert not any(differs(store, session) for session in "abc")
    store.close()


def test_process_opens_bounded_connections_and_closes_all(postgres, sql):
    """A process opens no more connections than it is reported and none is left when it closes."""
    store = PostgresStore(postgres() + "&connections=2&application_name=two_of_them")
    pending = [store.append(f"s{number % 20}", number // 20, [record("a", 0)]) for number in range(200)]
    most = 0
    while wait(pending, 0).not_done:
        most = max(most, connections(sql, "two_of_them"))
    assert 1 <= most <= 2
    store.close()
    until = time.monotonic() + 20
    while connections(sql, "two_of_them") and time.monotonic() < until:
        time.sleep(0.01)
    assert connections(sql, "two_of_them") == 0
    assert all(store.length(f"s{number}") == 10 for number in range(20))
    del store
    gc.collect()
    while connections(sql, "two_of_them") and time.monotonic() < until:
        time.sleep(0.01)
    assert connections(sql, "two_of_them") == 0, "also of one that nobody holds any more"


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("backscroll-postgres")]


def test_threads_exist_only_between_first_append_and_close(postgres):
    """There are no threads before the first append and after the close."""
    store, before = PostgresStore(postgres()), len(threads())
    assert store.length("a") == 0
    assert len(threads()) == before
    appended(store, "a", 3)
    assert len(threads()) == before + 1
    store.close()
    assert len(threads()) == before


def test_append_callback_may_close_the_store(postgres):
    store, closed = PostgresStore(postgres()), threading.Event()
    pending = store.append("a", 0, [record("a", 0)])
    pending.add_done_callback(lambda _: (store.close(), closed.set()))  # type: ignore[func-returns-value]  # both, one after the other
    assert closed.wait(20)
    assert store.length("a") == 1
    store.close()


def test_an_append_that_is_cancelled_in_time_is_not_made(postgres):
    store = PostgresStore(postgres())
    appended(store, "a", 1)
    with psycopg.connect(postgres().partition("?schema")[0].partition("&schema")[0]) as blocking:
        blocking.execute(f"select from {schema_of(store)}.session where name = 'a' for update")
        held = store.append("a", 1, [record("a", 1)])
        while not held.running():
            time.sleep(0.001)
        queued = store.append("a", 2, [record("a", 2)])
        assert (held.cancel(), queued.cancel()) == (False, True)
    held.result(60)
    assert store.length("a") == 2
    store.close()


def test_what_comes_after_a_fork_waits_for_it(postgres):
    store = PostgresStore(postgres())
    pending: list[Future[Any]] = [store.append("a", at, [record("a", at)]) for at in range(20)]
    pending += [store.fork("a", "b", 20), store.append("b", 20, [record("b", 20)])]
    assert [each.exception(60) for each in pending] == [None] * 22
    assert store.length("b") == 21
    store.close()


@pytest.mark.parametrize("setting", ["default_transaction_isolation", "default_transaction_read_only"])
def test_what_a_role_is_set_up_to_do_otherwise(postgres, sql, setting):
    """A stricter isolation changes nothing; one that only reads is told so."""
    store = PostgresStore(postgres())
    store.length("a")
    role = f"role_{schema_of(store)}"
    sql(f"create role {role} login")
    try:
        sql(f"grant usage on schema {schema_of(store)} to {role}")
        sql(f"grant all on all tables in schema {schema_of(store)} to {role}")
        sql(f"alter role {role} set {setting} = '{'repeatable read' if 'isolation' in setting else 'on'}'")
        theirs = PostgresStore(postgres().replace("//postgres@", f"//{role}@"))
        if "isolation" in setting:
            together([partial(retried, theirs, "a", (b"call", b"result"))] * 8)
            assert [stored.record.body for stored in theirs.read("a")] == [b"call", b"result"] * 8
        else:
            with pytest.raises(StoreUnavailableError, match=r"is read-only, .* use the primary"):
                appended(theirs, "a", 1)
            assert theirs.length("a") == 0
        theirs.close()
    finally:
        sql(f"drop owned by {role}")
        sql(f"drop role {role}")
        store.close()


def test_one_of_many_gets_a_lease_that_ends_at_the_same_moment(postgres, sql):
    store, held = PostgresStore(postgres()), []
    store.lease("a", "before", 600).result()

    def take(owner):
        while not held:
            with suppress(ConflictError):
                store.lease("a", owner, 600).result()
                held.append(owner)

    taking = [threading.Thread(target=take, args=(f"owner {number}",)) for number in range(6)]
    for thread in taking:
        thread.start()
    sql(f"delete from {schema_of(store)}.lease")
    for thread in taking:
        thread.join()
    assert len(held) == 1
    with pytest.raises(ConflictError, match=held[0]):
        store.lease("a", "other", 1).result()
    store.close()


# -- schemas --


def test_many_may_open_a_new_schema_at_once(postgres):
    for number in range(3):
        stores = [PostgresStore(postgres(str(number))) for _ in range(8)]
        begun = dict(zip((f"s{n}" for n in range(8)), stores, strict=True))
        assert at_once(lambda name, begun=begun: appended(begun[name], name, 2), list(begun)) == []  # type: ignore[misc]  # mypy infers no lambda with defaults
        assert sorted(stores[0].sessions()) == sorted(begun)
        for store in stores:
            store.close()


def test_a_later_schema_is_refused_and_left_alone(postgres, sql):
    store = PostgresStore(postgres())
    appended(store, "a", 1)
    store.close()
    sql(f"update {schema_of(store)}.meta set version = 99")
    for action in (lambda: store.length("a"), lambda: appended(store, "a", 2, 1), lambda: list(store.verify())):
        with pytest.raises(StoreUnavailableError, match=r"has schema 99, .* upgrade"):
            action()
    store.close()
    assert sql(
        f"select version, (select count(*) from {schema_of(store)}.record) from {schema_of(store)}.meta"
    ).fetchall() == [(99, 1)]


def test_read_only_store_makes_no_schema(postgres, sql):
    """A store that is only read says that there is none, and makes none."""
    store = open_store(postgres(), read_only=True)
    with pytest.raises(ConfigurationError, match="not a Backscroll store: the schema holds none of its tables"):
        store.sessions()
    assert sql("select count(*) from pg_namespace where nspname = %s", schema_of(store)).fetchone() == (0,)
    store.close()


def test_extent_counts_bytes_of_own_records(postgres):
    """A session has the bytes of its own records; those that a fork shares are counted with their origin."""
    store = PostgresStore(postgres())
    for at in range(3):
        store.append("a", at, [Record("message", at, b"x" * 1_000, 1)]).result()
    store.fork("a", "b", 2).result()
    assert [store.extent(name) for name in ("a", "b", "c")] == [(3_000, None), (0, None), (0, None)]
    store.close()


@pytest.mark.parametrize("table", ["meta (x text)", "session (x text)"])
def test_a_schema_of_another_program_is_left_alone(postgres, sql, table):
    store = PostgresStore(postgres())
    sql(f"create schema {schema_of(store)}")
    sql(f"create table {schema_of(store)}.{table}")
    with pytest.raises(ConfigurationError, match=r"tables of another program .*another one with \?schema="):
        store.length("a")
    tables = sql("select count(*) from pg_tables where schemaname = %s", schema_of(store)).fetchone()
    assert tables == (1,)
    store.close()


def test_role_needs_a_schema_that_was_made_for_it(postgres, sql):
    """A role that may not make the schema is reported and may use one that was made for it."""
    store = PostgresStore(postgres())
    role = f"role_{schema_of(store)}"
    sql(f"create role {role} login")
    try:
        theirs = PostgresStore(postgres().replace("//postgres@", f"//{role}@"))
        with pytest.raises(StoreUnavailableError, match="an administrator must grant it the schema"):
            theirs.length("a")
        sql(f"create schema {schema_of(store)} authorization {role}")
        appended(theirs, "a", 3)
        theirs.delete("a")
        assert theirs.sessions() == []
        theirs.close()
    finally:
        sql(f"drop owned by {role} cascade")
        sql(f"drop role {role}")


# -- reading and erasing --


def test_reading_holds_no_connection_while_the_reader_thinks(postgres):
    store = PostgresStore(postgres() + "&connections=1")
    store.append("a", 0, [Record("k", None, bytes(3_000_000), 1)] * 4).result()
    reading = store.read("a")
    next(reading)
    store.append("a", 4, [record("a", 4)]).result()
    assert len(list(reading)) == 3, "and what came meanwhile is not read"
    store.close()


def test_reader_of_an_erased_session_gets_an_error(postgres):
    store = PostgresStore(postgres())
    store.append("a", 0, [Record("k", None, b"", 1)] * (BATCH + 1)).result()
    for begins_again in (False, True):
        reading = store.read("a")
        next(reading)
        store.delete("a")
        if begins_again:
            store.append("a", 0, [Record("k", None, b"", 1)] * (BATCH + 1)).result()
        with pytest.raises(ConflictError, match="deleted while it was read"):
            list(reading)
        store.append("a", store.length("a"), [Record("k", None, b"", 1)] * (BATCH + 1)).result()
    store.close()


def test_rows_of_what_was_erased_are_gone_and_freed(postgres, sql):
    store = PostgresStore(postgres())
    appended(store, "a", 300)
    store.fork("a", "b", 100).result()
    appended(store, "kept", 5)
    store.delete("a", cascade=True)
    schema = schema_of(store)
    assert sql(f"select count(*) from {schema}.record").fetchone() == (5,)
    assert sql(f"select count(*) from {schema}.session").fetchone() == (1,)
    freed = "select vacuum_count from pg_stat_user_tables where schemaname = %s and relname = 'record'"
    until = time.monotonic() + 20  # the server counts with a delay
    while sql(freed, schema).fetchone() == (0,) and time.monotonic() < until:
        time.sleep(0.01)
    assert sql(freed, schema).fetchone() == (1,)
    store.close()


@pytest.mark.parametrize(
    "bad", [Record("k", 2**63, b"", 1), Record("k", 0, b"", 2**63), Record("k", -(2**63) - 1, b"", 1)]
)
def test_what_no_row_can_hold_is_refused_at_once(postgres, bad):
    store = PostgresStore(postgres())
    with pytest.raises(ConfigurationError, match="64 bits"):
        store.append("a", 0, [bad])
    assert store.length("a") == 0
    assert store.find("a", seq=2**70) is None
    store.close()


# -- damage --

ROWS = [
    ("update {s}.record set body = body || '\\x00' where at = 7", 7),
    ("update {s}.record set kind = 'other' where at = 7", 7),
    ("update {s}.record set kind = '\\xff' where at = 7", 7),
    ("update {s}.record set seq = 8 where at = 7", 7),
    ("update {s}.record set seq = null where at = 7", 7),
    ("update {s}.record set key = 'none' where at = 7", 7),
    ("update {s}.record set key = null where at = 8", 8),
    ("update {s}.record set format = 2 where at = 7", 7),
    ("update {s}.record set mark = 2 where at = 7", 7),
    ("update {s}.record set crc = 2 where at = 7", 7),
    ("update {s}.record set at = 70 where at = 7", 7),
    ("delete from {s}.record where at = 7", 7),
    ("delete from {s}.record where at >= 9", 9),
    ("delete from {s}.record where at < 7", 0),
    ("update {s}.record set at = -1 where at = 7; update {s}.record set at = 7 where at = 6", 6),
    ("update {s}.record set session = session + 1 where at = 7", 7),
]


def damaged(store, sql, statements):
    for statement in statements.replace("{s}", schema_of(store)).split("; "):
        sql(statement)


@pytest.mark.parametrize(("statement", "at"), ROWS, ids=lambda value: value if isinstance(value, str) else None)
def test_a_record_that_was_altered_is_named_and_never_handed_out(postgres, sql, statement, at):
    store = PostgresStore(postgres())
    records = [record("a", place)._replace(key=f"key {place}" if place == 8 else None) for place in range(12)]
    store.append("a", 0, records).result()
    damaged(store, sql, statement)
    with pytest.raises(CorruptionError, match=rf"schema=.*session 'a': the record at position {at} is") as caught:
        list(store.read("a"))
    assert "`verify()`" not in str(caught.value) or "backup" in str(caught.value)
    assert [stored.record for stored in store.read("a", 0, at)] == records[:at]
    assert at in [problem.at for problem in store.verify()]
    assert at in [problem.at for problem in store.verify("a")]
    assert list(store.verify("b")) == []
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "update {s}.session set next = 11 where name = 'a'",
        "update {s}.session set next = 13 where name = 'a'",
        "update {s}.session set crc = 13 where name = 'a'",
        "update {s}.session set name = 'A' where name = 'a'",
        "update {s}.session set shared = 3 where name = 'b'",
        "update {s}.session set origin = null where name = 'b'",
        "update {s}.session set past = 3 where name = 'a'",
        "update {s}.session set mark = 3 where name = 'b'",
        "update {s}.session set id = default where name = 'c'",
    ],
)
def test_a_session_that_was_altered_is_reported(postgres, sql, statement):
    store = PostgresStore(postgres())
    for session in "ac":
        appended(store, session, 12)
    store.fork("a", "b", 10).result()
    appended(store, "b", 12, 10)
    damaged(store, sql, statement)
    problems = list(store.verify())
    assert problems
    hurt = {problem.session for problem in problems if problem.session is not None}
    assert hurt
    for session in hurt:
        with pytest.raises(CorruptionError, match=r"session '\w'"):
            list(store.read(session))
    store.close()


def test_records_behind_the_end_are_noticed_by_the_next_append(postgres, sql):
    store = PostgresStore(postgres())
    appended(store, "a", 12)
    damaged(store, sql, "update {s}.record set at = 12 where at = 7")
    with pytest.raises(CorruptionError, match="records behind the end of its log"):
        appended(store, "a", 13, 12)
    assert {problem.at for problem in store.verify("a")} == {7, 12}
    store.close()


def test_tables_that_are_gone_are_no_empty_store(postgres, sql):
    store = PostgresStore(postgres())
    appended(store, "a", 1)
    sql(f"drop table {schema_of(store)}.record")
    with pytest.raises(CorruptionError, match="its tables differ from those that Backscroll created"):
        list(store.read("a"))
    store.close()


# -- for ever --


def test_rows_of_schema_1_are_read_for_ever(postgres, sql):
    store = PostgresStore(postgres())
    golden = (ROOT / "tests" / "golden" / "postgres-1.sql").read_text(encoding="utf-8")
    assert all(f"{statement.replace('{s}', 'SCHEMA')};\n" in golden for statement in STEPS[0]), "a step never changes"
    sql(golden.replace("SCHEMA", schema_of(store)))
    assert store.sessions() == ["plain", "'; drop table record; --", "\U0001f469/..", "fork"]
    assert list(store.verify()) == []
    assert not any(differs(store, session, 90) for session in store.sessions()[:2])
    (odd,) = store.read("\U0001f469/..")
    assert odd.record == Record("plan", None, bytes(range(256)), 7, "a key: é")
    assert [stored.record for stored in store.read("fork")] == [record("plain", at, 90) for at in range(5)]
    store.append("plain", 12, [record("plain", 12, 90)]).result()
    store.append("fork", 5, [record("fork", 5, 90)]).result()
    store.lease("fork", "somebody", 60).result()
    assert not differs(store, "plain", 90)
    store.delete("plain", cascade=True)
    assert (list(store.verify()), len(store.sessions())) == ([], 2)
    store.close()


@pytest.mark.parametrize("password", ["e", "server", "postgres", "a.c", "1"])
def test_password_is_masked_in_its_place_only(password):
    """Words of a message that a password is a part of stay; where an address holds it, it goes."""
    words = 'connection to server at "1.1.1.1" failed: password authentication failed for user "postgres"'
    assert scrubbed(words, (password,)) == words
    for before, after in ((":", "@host"), ("password=", "&x=1"), ("password=", ""), ("password='", "'")):
        assert scrubbed(f"{words} {before}{password}{after}", (password,)) == f"{words} {before}***{after}"


@pytest.mark.parametrize("password", ["e", "t", "S3CRET"])
def test_password_of_one_letter_leaves_errors_readable(password):
    """What cannot be reached says why, and not without every letter that the password has."""
    store = PostgresStore(f"postgresql://user:{password}@127.0.0.1:1/database")
    with pytest.raises(StoreUnavailableError, match="connection to server") as caught:
        store.length("a")
    assert "***" not in str(caught.value)
    store.close()
