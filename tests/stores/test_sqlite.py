"""What the SQLite store does beside the contract: files, locks, erasing, durability, threads, its schema for ever."""

import contextlib
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from backscroll import ConfigurationError, ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.sqlite.rows import BATCH
from backscroll.stores.sqlite.schema import VERSION
from tests.stores.programs import appended, differs, record
from tests.stores.running import ROOT, at_once, blocked, other

GOLDEN = ROOT / "tests" / "golden"


def altered(path, statement, *values):
    """Another program changes something behind the store's back."""
    with contextlib.closing(other(path)) as connection:
        connection.execute(statement, values)


def held(store, session, at):
    """An append that has begun, and waits for who blocks the file."""
    pending = store.append(session, at, [record(session, at)])
    while not pending.running():
        time.sleep(0.001)
    return pending


# -- files --


def test_file_is_made_at_first_use_for_its_owner_only(tmp_path):
    """Nothing is touched before the first use and then no one else may read it."""
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "a.db")
        repr(store), store.capabilities
        assert list(tmp_path.iterdir()) == []
        appended(store, "a", 1)
    finally:
        os.umask(before)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["a.db", "a.db-wal", "a.db-shm", "a.db-commits"], "0o600")
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "a.db-commits"]


def test_a_relative_path_is_of_the_folder_that_it_was_given_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("a?b#c%20.db")
    monkeypatch.chdir("/")
    appended(store, "a", 1)
    store.close()
    assert (tmp_path / "a?b#c%20.db").exists()
    assert SqliteStore(tmp_path / "a?b#c%20.db").length("a") == 1


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b", b"bytes"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ConfigurationError, match="must be the path of a file"):
        SqliteStore(path)


@pytest.mark.parametrize("name", ["missing/a.db", ".", "file/a.db"])
def test_a_place_that_cannot_be_opened_is_named_with_what_to_do(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    store = SqliteStore(tmp_path / name)
    for action in (lambda: store.length("a"), lambda: store.append("a", 0, [record("a", 0)]).result()):
        with pytest.raises(StoreUnavailableError, match=rf"{re.escape(store.path)}.*folder"):
            action()
    store.close()


def test_what_cannot_be_opened_now_can_be_later(tmp_path):
    store = SqliteStore(tmp_path / "later" / "a.db")
    with pytest.raises(StoreUnavailableError):
        store.append("a", 0, [record("a", 0)]).result()
    (tmp_path / "later").mkdir()
    appended(store, "a", 3)
    assert store.length("a") == 3
    store.close()


def test_the_file_of_another_program_is_left_alone(tmp_path):
    altered(tmp_path / "a.db", "create table meta (x)")
    before = (tmp_path / "a.db").read_bytes()
    store = SqliteStore(tmp_path / "a.db")
    with pytest.raises(ConfigurationError, match="another program"):
        store.append("a", 0, [record("a", 0)]).result()
    (tmp_path / "b.db").write_bytes(b"no database, but a letter to somebody\n" * 99)
    with pytest.raises(CorruptionError, match=r"b\.db"):
        SqliteStore(tmp_path / "b.db").length("a")
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_file_that_is_replaced_while_it_is_open_is_noticed(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 3)
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"a.db{suffix}").unlink()
    with pytest.raises(StoreUnavailableError, match="deleted or replaced"):
        store.append("a", 3, [record("a", 3)]).result()
    with pytest.raises(CorruptionError, match="1 commits were acknowledged, and the database holds 0"):
        store.append("a", 3, [record("a", 3)]).result()
    assert store.accept_loss() == 1
    appended(store, "a", 3)
    store.close()


def test_lower_commit_number_is_a_crash_and_no_loss(tmp_path):
    """A lower number of commits is a crash between two writes and no loss."""
    store = SqliteStore(tmp_path / "a.db")
    for at in range(5):
        store.append("a", at, [record("a", at)]).result()
    store.close()
    guard = tmp_path / "a.db-commits"
    assert guard.read_bytes() == b"".join(number.to_bytes(8, "big") for number in range(6))
    for content in ((4).to_bytes(8, "big"), b"", b"\0\0", None):
        guard.unlink(missing_ok=True) if content is None else guard.write_bytes(content)
        assert (store.length("a"), list(store.verify()), store.accept_loss()) == (5, [], 0)
        store.close()
    guard.write_bytes((6).to_bytes(8, "big"))
    with pytest.raises(
        CorruptionError, match="6 commits were acknowledged, and the database holds 5: the last 1 are gone"
    ):
        store.length("a")


def test_a_late_process_does_not_lower_the_number_of_commits(tmp_path):
    guard = CommitCounter(str(tmp_path / "a.db"))
    for number in (1, 2, 40, 39, 25):
        guard.raise_to(number)
    assert guard.read() == 40
    guard.lower_to(38)
    assert guard.read() == 38
    guard.close()


# -- locks --


def test_long_lock_is_unavailable_and_then_available_again(tmp_path):
    """What is locked for too long is unavailable and available again."""
    store = SqliteStore(tmp_path / "a.db", timeout=0.2)
    appended(store, "a", 2)
    with blocked(store.path):
        with pytest.raises(StoreUnavailableError, match=r"locked .*`timeout`"):
            store.append("a", 2, [record("a", 2)]).result()
        assert store.length("a") == 2, "reading waits for nobody"
    store.append("a", 2, [record("a", 2)]).result()
    assert not differs(store, "a")
    store.close()


def test_many_may_open_a_new_file_at_once(tmp_path):
    for number in range(8):
        stores = [SqliteStore(tmp_path / f"{number}.db") for _ in range(8)]
        begun = dict(zip((f"s{n}" for n in range(8)), stores, strict=True))
        assert at_once(lambda name, begun=begun: appended(begun[name], name, 2), list(begun)) == []  # type: ignore[misc]  # mypy infers no lambda with defaults
        assert sorted(stores[0].sessions()) == sorted(begun)
        for store in stores:
            store.close()


def test_an_append_that_is_cancelled_in_time_is_not_made(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 1)
    with blocked(store.path):
        begun = held(store, "a", 1)
        queued = store.append("a", 2, [record("a", 2)])
        assert (begun.cancel(), queued.cancel()) == (False, True)
    begun.result()
    store.close()
    assert store.length("a") == 2
    store.close()


def test_appends_that_wait_together_are_committed_together(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "first", 1)
    with blocked(store.path):
        held(store, "held", 0)
        pending = [store.append(f"s{number % 64}", number // 64, [record("a", 0)]) for number in range(640)]
    for each in pending:
        each.result()
    with contextlib.closing(other(store.path)) as looking:
        assert looking.execute("select next from log where name = ''").fetchone() == (3,)
    store.close()


def test_tip_is_one_statement_until_another_process_writes(tmp_path):
    ours, theirs = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "a.db")
    appended(ours, "a", 2)
    queue: Any = ours._queue
    asked = []
    queue._worker._file.connection.set_trace_callback(asked.append)

    def statements(session, end):
        asked.clear()
        assert ours.length(session) == end
        return len(asked)

    assert [statements("a", 2), statements("a", 2)] == [1, 1]
    appended(theirs, "a", 3, 2)
    appended(theirs, "b", 1)
    assert [statements("a", 5) > 1, statements("a", 5), statements("b", 1) > 1, statements("b", 1)] == [
        True,
        1,
        True,
        1,
    ]
    theirs.delete("a")
    assert [statements("a", 0) > 1, statements("b", 1) > 1, statements("b", 1)] == [True, True, 1]
    appended(theirs, "a", 1)
    assert statements("a", 1) > 1
    appended(ours, "a", 1, 1)
    assert [statements("a", 2), ours.tip("a"), ours.length("never begun")] == [1, theirs.tip("a"), 0]
    assert not ours._database.readers._idle, "no other connection was opened"
    ours.close()
    assert ours.length("a") == 2
    ours.close()
    theirs.close()


@pytest.mark.parametrize(("durability", "number"), [("full", 2), ("normal", 1)])
def test_durability_sets_the_sqlite_pragma(tmp_path, durability, number):
    store = SqliteStore(tmp_path / "a.db", durability)
    with store._database.connect() as connection:
        told = [
            connection.execute(f"pragma {name}").fetchone()[0]
            for name in ("synchronous", "secure_delete", "journal_mode")
        ]
    connection.close()
    assert told == [number, 1, b"wal"]
    with pytest.raises(ConfigurationError, match="full, normal"):
        SqliteStore(tmp_path / "a.db", "off")


# -- erasing --


@pytest.mark.parametrize("seed", range(3))
def test_what_was_erased_is_in_no_file(tmp_path, seed):
    """Among others that come and go, so that SQLite moves rows from page to page and leaves copies behind."""
    chance, store = random.Random(seed), SqliteStore(tmp_path / "a.db", "normal")
    secret, ends = [f"SECRET-NAME-{number}" for number in range(4)], {}
    for number in range(2_000):
        session = chance.choice([*secret, "kept", "other"])
        size, at = chance.choice((20, 100, 400, 1_500, 6_000)), ends.get(session, 0)
        body = chance.randbytes(size) if session not in secret else b"SECRET-%d-BODY" % number * (size // 16)
        store.append(session, at, [Record("SECRET-KIND" if session in secret else "k", at, body, 1)]).result()
        ends[session] = at + 1
        if chance.random() < 0.01:
            store.delete("other")
            ends["other"] = 0

    def files():
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert files().count(b"SECRET-") > 1_000
    kept = list(store.read("kept"))
    for session in secret:
        store.delete(session)
    assert files().count(b"SECRET") == 0
    assert re.search(rb"-\d+-BODY", files()) is None
    assert list(store.read("kept")) == kept
    assert list(store.verify()) == []
    store.close()
    assert files().count(b"SECRET") == 0


def test_erasing_a_fork_leaves_no_byte_and_keeps_shared_ones(tmp_path):
    """Erasing a fork leaves no byte of it and none of what it shared is lost."""
    store = SqliteStore(tmp_path / "a.db", "normal")
    store.append("kept", 0, [Record("k", at, b"KEPT-%d" % at * 50, 1) for at in range(60)]).result()
    for number in range(3):
        store.fork("kept", f"SECRET-{number}", 40).result()
        for at in range(40, 60):
            store.append(f"SECRET-{number}", at, [Record("k", at, b"SECRET" * 99, 1, f"SECRET-KEY-{at}")]).result()
        store.lease(f"SECRET-{number}", "SECRET-OWNER", 600).result()
    store.fork("SECRET-0", "SECRET-3", 50).result()
    with pytest.raises(ConflictError, match=r"'SECRET-3'.*cascade"):
        store.delete("SECRET-0")
    for number in range(3):
        store.delete(f"SECRET-{number}", cascade=True)
    assert b"SECRET" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert store.sessions() == ["kept"]
    assert [stored.record.body for stored in store.read("kept")] == [b"KEPT-%d" % at * 50 for at in range(60)]
    assert list(store.verify()) == []
    store.close()


def test_erase_reports_a_reader_and_finishes_later(tmp_path):
    """Erasing says when a reader keeps the log and finishes later."""
    store = SqliteStore(tmp_path / "a.db", timeout=0.1)
    appended(store, "a", 20)
    reader = other(store.path)
    reader.execute("begin")
    reader.execute("select * from record").fetchone()
    with pytest.raises(StoreUnavailableError, match="is deleted, but"):
        store.delete("a")
    assert store.sessions() == []
    reader.execute("rollback")
    reader.close()
    store.delete("a")
    assert (tmp_path / "a.db-wal").stat().st_size == 0
    store.close()


def test_reader_of_an_erased_session_gets_an_error(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
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


def test_reading_holds_nothing_while_the_reader_thinks(tmp_path):
    store = SqliteStore(tmp_path / "a.db", timeout=0.1)
    store.append("a", 0, [Record("k", None, bytes(3_000_000), 1)] * 4).result()
    reading = store.read("a")
    next(reading)
    store.append("a", 4, [record("a", 4)]).result()
    store.delete("b")  # needs the log to itself
    assert len(list(reading)) == 3, "and what came meanwhile is not read"
    store.close()


# -- forks --


def test_a_fork_copies_nothing(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 50)
    for number in range(20):
        store.fork("a", f"fork {number}", 50).result()
    counting = other(store.path)
    assert counting.execute("select count(*) from record").fetchone() == (50,)
    counting.close()
    assert all(list(store.read(f"fork {number}")) == list(store.read("a")) for number in range(20))
    store.close()


def test_jobs_of_one_commit_see_each_other(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 1)
    with blocked(store.path):
        held(store, "held", 0)
        good: list[Future[Any]] = [
            store.append("a", 1, [Record("k", None, b"", 1, "key")]),
            store.fork("a", "b", 2),
            store.append("b", 2, [Record("k", None, b"", 1, "other key")]),
            store.fork("b", "c", 3),
            store.append("c", 3, [Record("k", None, b"", 1, "third key")]),
        ]
        bad: list[Future[Any]] = [
            store.append("c", 4, [Record("k", None, b"", 1, key)]) for key in ("key", "other key", "third key")
        ]
        bad += [store.fork("a", "c", 1), store.append("b", 2, [record("b", 2)])]
    assert [type(each.exception()).__name__ for each in (*good, *bad)] == ["NoneType"] * 5 + ["ConflictError"] * 5
    assert (store.length("a"), store.length("b"), store.length("c")) == (2, 3, 4)
    assert list(store.verify()) == []
    store.close()


def test_damage_in_shared_records_is_reported_to_every_reader(tmp_path):
    """Damage in what is shared is reported by everyone who reads it."""
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 30)
    store.fork("a", "fork", 20).result()
    store.append("fork", 20, [record("fork", 20)]).result()
    store.close()
    altered(store.path, "update record set seq = 1 where number = ?", (1 << 32) + 7)
    for session in ("a", "fork"):
        with pytest.raises(CorruptionError, match="session 'a': the record at position 7 "):
            list(store.read(session))
        with pytest.raises(CorruptionError, match="session 'a': the record at position 7 "):
            store.find(session, seq=7)
        assert [(problem.session, problem.at) for problem in store.verify(session)] == [(session, 7)]
        assert store.find(session, seq=15) == 15
    assert [(problem.session, problem.at) for problem in store.verify()] == [("a", 7)]
    store.close()


def test_a_fork_whose_parent_is_gone_says_so(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 30)
    store.fork("a", "fork", 20).result()
    store.append("fork", 20, [record("fork", 20)]).result()
    altered(store.path, "delete from log where name = 'a'")
    with pytest.raises(CorruptionError, match="session 'fork': the session that it was forked from"):
        list(store.read("fork"))
    assert [stored.position for stored in store.read("fork", 20)] == [20]
    assert ("fork", None) in [(problem.session, problem.at) for problem in store.verify()]
    store.close()


# -- leases --


def test_lease_covers_the_whole_file_and_names_its_holder(tmp_path):
    """A lease is one for all who use the file and says who has it."""
    one, two = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "a.db")
    one.lease("a", "first worker", 600).result()
    with pytest.raises(ConflictError, match=r"session 'a' is kept by 'first worker' for another (600\.0|599\.\d) s"):
        two.lease("a", "second worker", 600).result()
    two.append("a", 0, [record("a", 0)]).result()  # the place is the fence
    one.close()
    with pytest.raises(ConflictError, match="first worker"):
        two.lease("a", "second worker", 600).result()
    one.lease("a", "first worker", 0).result()
    two.lease("a", "second worker", 600).result()
    one.close()
    two.close()


def test_damaged_lease_is_reported_and_repaired(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    store.lease("a", "worker", 600).result()
    altered(store.path, "update lease set owner = 'burglar'")
    with pytest.raises(CorruptionError, match="the row of its lease is not what was written"):
        store.lease("a", "worker", 600).result()
    assert [problem.session for problem in store.verify()] == ["a"]
    assert store.repair()
    store.lease("a", "other", 600).result()
    store.close()


@pytest.mark.parametrize(
    "bad", [Record("k", 2**63, b"", 1), Record("k", 0, b"", 2**63), Record("k", -(2**63) - 1, b"", 1)]
)
def test_what_no_row_can_hold_is_refused_at_once(tmp_path, bad):
    store = SqliteStore(tmp_path / "a.db")
    with pytest.raises(ConfigurationError, match="64 bits"):
        store.append("a", 0, [bad])
    assert store.length("a") == 0
    store.close()


# -- for ever --


GOLDEN_NAMES = ["plain", "'; drop table record; --", "\U0001f469/.."]


def golden(tmp_path, number):
    for suffix in ("", "-commits"):
        (tmp_path / f"a.db{suffix}").write_bytes((GOLDEN / f"sqlite-{number}.db{suffix}").read_bytes())
    return SqliteStore(tmp_path / "a.db")


@pytest.mark.parametrize("verified_first", [True, False])
def test_a_database_of_schema_1_opens_for_ever(tmp_path, verified_first):
    store = golden(tmp_path, 1)
    if verified_first:
        assert list(store.verify()) == list(store.verify("plain")) == []
        assert (tmp_path / "a.db").read_bytes() == (GOLDEN / "sqlite-1.db").read_bytes()
    assert store.sessions() == GOLDEN_NAMES
    assert list(store.verify()) == []
    assert not any(differs(store, session, 90) for session in store.sessions()[:2])
    (odd,) = store.read(GOLDEN_NAMES[2])
    assert odd.record == Record("plan", None, bytes(range(256)), 7)
    assert [store.find("plain", seq=seq) for seq in (0, 7, 12)] == [0, 7, None]
    store.append("plain", 12, [record("plain", 12, 90)]).result()
    store.fork("plain", "fork", 13).result()
    assert not differs(store, "plain", 90)
    assert list(store.read("fork")) == list(store.read("plain"))
    store.close()


def test_a_database_of_schema_2_opens_for_ever(tmp_path):
    store = golden(tmp_path, 2)
    assert list(store.verify()) == []
    assert store.sessions() == [*GOLDEN_NAMES, "fork", "fork of a fork"]
    assert not any(differs(store, session, 90) for session in store.sessions()[:2])
    key = "id:\U0001f469\n'"
    (odd,) = store.read(GOLDEN_NAMES[2])
    assert odd.record == Record("plan", None, bytes(range(256)), 7, key)
    assert store.find(GOLDEN_NAMES[2], key=key) == 0
    plain = [record("plain", at, 90) for at in range(12)]
    fork = [*plain[:8], *(record("fork", at, 90)._replace(key=f"key {at}") for at in range(8, 12))]
    assert [stored.record for stored in store.read("fork")] == fork
    assert [stored.record for stored in store.read("fork of a fork")] == [*fork[:10], record("fork of a fork", 10, 90)]
    assert [store.find("fork of a fork", key=f"key {at}") for at in (8, 9, 10)] == [8, 9, None]
    with pytest.raises(ConflictError, match="'fork', 'fork of a fork'"):
        store.delete("plain")
    store.close()


def test_a_later_schema_is_refused_and_left_alone(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 1)
    store.close()
    altered(store.path, f"pragma user_version = {VERSION + 1}")
    before = (tmp_path / "a.db").read_bytes()
    for action in (lambda: store.length("a"), lambda: appended(store, "b", 1), lambda: list(store.verify())):
        with pytest.raises(StoreUnavailableError, match=rf"has schema {VERSION + 1}, .* up to {VERSION}: upgrade"):
            action()
    store.close()
    assert (tmp_path / "a.db").read_bytes() == before


CRASHES = (
    "pass",
    "c.execute('pragma journal_mode = wal')",
    "c.execute('pragma journal_mode = wal'); c.execute('begin immediate'); c.execute('create table meta (x)')",
    "c.execute('pragma cache_size = 1'); c.execute('begin'); c.execute('create table x (y)'); "
    "c.execute('insert into x values (zeroblob(500000))')",  # written in part, with a journal to roll it back
)


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("crash", CRASHES)
def test_crash_while_creating_the_file_leaves_a_usable_one(tmp_path, crash, looked_at):
    """A crash while the file is made leaves one that can be used."""
    path = tmp_path / "a.db"
    program = f"import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); {crash}; os._exit(0)"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
    assert Path(f"{path}-journal").exists() == ("zeroblob" in crash)
    store = SqliteStore(path)
    if looked_at:
        assert (list(store.verify()), store.accept_loss()) == ([], 0)
    appended(store, "a", 3)
    assert not differs(store, "a")
    assert list(store.verify()) == []
    store.close()
