"""What the SQLite store does beside the contract: files, locks, erasing, durability, threads, its schema for ever."""

import gc
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backscroll import ConfigurationError, ConflictError, DamagedError, StoreUnavailable
from backscroll.ports import Record
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.sqlite_rows import BATCH
from backscroll.stores.sqlite_schema import VERSION
from tests.stores.programs import differs, record
from tests.stores.running import ROOT

GOLDEN = ROOT / "tests" / "golden" / "sqlite-1.db"


def appended(store, session, number):
    store.append(session, 0, [record(session, at) for at in range(number)]).result()


def other(path):
    """Another program's connection."""
    return sqlite3.connect(path, isolation_level=None, timeout=0.1)


# -- files --


def test_nothing_is_touched_before_the_first_use_and_then_nobody_else_may_read_it(tmp_path):
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
    assert SqliteStore(tmp_path / "a?b#c%20.db").end("a") == 1


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b", b"bytes"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ConfigurationError, match="names no file"):
        SqliteStore(path)


@pytest.mark.parametrize("name", ["missing/a.db", ".", "file/a.db"])
def test_a_place_that_cannot_be_opened_is_named_with_what_to_do(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    store = SqliteStore(tmp_path / name)
    for action in (lambda: store.end("a"), lambda: store.append("a", 0, [record("a", 0)]).result()):
        with pytest.raises(StoreUnavailable, match=rf"{re.escape(store.path)}: .*folder"):
            action()
    store.close()


def test_what_cannot_be_opened_now_can_be_later(tmp_path):
    store = SqliteStore(tmp_path / "later" / "a.db")
    with pytest.raises(StoreUnavailable):
        store.append("a", 0, [record("a", 0)]).result()
    (tmp_path / "later").mkdir()
    appended(store, "a", 3)
    assert store.end("a") == 3
    store.close()


def test_the_file_of_another_program_is_left_alone(tmp_path):
    with other(tmp_path / "a.db") as connection:
        connection.execute("create table meta (x)")
    connection.close()
    before = (tmp_path / "a.db").read_bytes()
    store = SqliteStore(tmp_path / "a.db")
    with pytest.raises(ConfigurationError, match="another program"):
        store.append("a", 0, [record("a", 0)]).result()
    (tmp_path / "b.db").write_bytes(b"no database, but a letter to somebody\n" * 99)
    with pytest.raises(DamagedError, match=r"b\.db"):
        SqliteStore(tmp_path / "b.db").end("a")
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_file_that_is_replaced_while_it_is_open_is_noticed(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 3)
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"a.db{suffix}").unlink()
    with pytest.raises(StoreUnavailable, match="deleted or replaced"):
        store.append("a", 3, [record("a", 3)]).result()
    with pytest.raises(DamagedError, match="1 commits were acknowledged, and the database holds 0"):
        store.append("a", 3, [record("a", 3)]).result()
    assert store.accept_loss() == 1
    appended(store, "a", 3)
    store.close()


def test_a_lower_number_of_commits_is_a_crash_between_two_writes_and_no_loss(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    for at in range(5):
        store.append("a", at, [record("a", at)]).result()
    store.close()
    guard = tmp_path / "a.db-commits"
    assert guard.read_bytes() == b"".join(number.to_bytes(8, "big") for number in range(6))
    for content in ((4).to_bytes(8, "big"), b"", b"\0\0", None):
        guard.unlink(missing_ok=True) if content is None else guard.write_bytes(content)
        assert (store.end("a"), list(store.verify()), store.accept_loss()) == (5, [], 0)
        store.close()
    guard.write_bytes((6).to_bytes(8, "big"))
    with pytest.raises(
        DamagedError, match="6 commits were acknowledged, and the database holds 5: the last 1 are gone"
    ):
        store.end("a")


# -- locks --


def test_what_is_locked_for_too_long_is_unavailable_and_available_again(tmp_path):
    store = SqliteStore(tmp_path / "a.db", timeout=0.2)
    appended(store, "a", 2)
    blocking = other(store.path)
    blocking.execute("begin immediate")
    with pytest.raises(StoreUnavailable, match=r"locked .*`timeout`"):
        store.append("a", 2, [record("a", 2)]).result()
    assert store.end("a") == 2, "reading waits for nobody"
    blocking.execute("rollback")
    blocking.close()
    store.append("a", 2, [record("a", 2)]).result()
    assert not differs(store, "a")
    store.close()


def test_many_may_open_a_new_file_at_once(tmp_path):
    for number in range(8):
        stores = [SqliteStore(tmp_path / f"{number}.db") for _ in range(8)]
        gate, errors = threading.Barrier(8), []

        def begin(store, name, gate=gate, errors=errors):
            gate.wait()
            try:
                appended(store, name, 2)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=begin, args=(store, f"s{n}")) for n, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sorted(stores[0].sessions()) == [f"s{n}" for n in range(8)]
        for store in stores:
            store.close()


def test_an_append_that_is_cancelled_in_time_is_not_made(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 1)
    blocking = other(store.path)
    blocking.execute("begin immediate")
    held = store.append("a", 1, [record("a", 1)])
    while not held.running():
        time.sleep(0.001)
    queued = store.append("a", 2, [record("a", 2)])
    assert (held.cancel(), queued.cancel()) == (False, True)
    blocking.execute("rollback")
    blocking.close()
    held.result()
    store.close()
    assert store.end("a") == 2
    store.close()


def test_appends_that_wait_together_are_committed_together(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "first", 1)
    blocking = other(store.path)
    blocking.execute("begin immediate")
    held = store.append("held", 0, [record("held", 0)])
    while not held.running():
        time.sleep(0.001)
    pending = [store.append(f"s{number % 64}", number // 64, [record("a", 0)]) for number in range(640)]
    blocking.execute("rollback")
    for each in pending:
        each.result()
    assert blocking.execute("select next from log where name = ''").fetchone() == (3,)
    blocking.close()
    store.close()


@pytest.mark.parametrize(("durability", "number"), [("full", 2), ("normal", 1)])
def test_durability_is_what_sqlite_is_told(tmp_path, durability, number):
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
            store.erase("other")
            ends["other"] = 0

    def files():
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert files().count(b"SECRET-") > 1_000
    kept = list(store.read("kept"))
    for session in secret:
        store.erase(session)
    assert files().count(b"SECRET") == 0
    assert re.search(rb"-\d+-BODY", files()) is None
    assert list(store.read("kept")) == kept
    assert list(store.verify()) == []
    store.close()
    assert files().count(b"SECRET") == 0


def test_erasing_says_when_a_reader_keeps_the_log_and_finishes_later(tmp_path):
    store = SqliteStore(tmp_path / "a.db", timeout=0.1)
    appended(store, "a", 20)
    reader = other(store.path)
    reader.execute("begin")
    reader.execute("select * from record").fetchone()
    with pytest.raises(StoreUnavailable, match="is erased, but"):
        store.erase("a")
    assert store.sessions() == []
    reader.execute("rollback")
    reader.close()
    store.erase("a")
    assert (tmp_path / "a.db-wal").stat().st_size == 0
    store.close()


def test_a_reader_of_what_is_erased_is_told(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    store.append("a", 0, [Record("k", None, b"", 1)] * (BATCH + 1)).result()
    for begins_again in (False, True):
        reading = store.read("a")
        next(reading)
        store.erase("a")
        if begins_again:
            store.append("a", 0, [Record("k", None, b"", 1)] * (BATCH + 1)).result()
        with pytest.raises(ConflictError, match="erased while it was read"):
            list(reading)
        store.append("a", store.end("a"), [Record("k", None, b"", 1)] * (BATCH + 1)).result()
    store.close()


def test_reading_holds_nothing_while_the_reader_thinks(tmp_path):
    store = SqliteStore(tmp_path / "a.db", timeout=0.1)
    store.append("a", 0, [Record("k", None, bytes(3_000_000), 1)] * 4).result()
    reading = store.read("a")
    next(reading)
    store.append("a", 4, [record("a", 4)]).result()
    store.erase("b")  # needs the log to itself
    assert len(list(reading)) == 3, "and what came meanwhile is not read"
    store.close()


# -- threads --


def writers(path):
    return [thread for thread in threading.enumerate() if thread.name == f"writes {path.resolve()}"]


def test_a_process_has_one_thread_for_a_store_and_none_when_it_is_closed_or_dropped(tmp_path):
    path = tmp_path / "a.db"
    store = SqliteStore(path)
    assert store.end("a") == 0
    assert writers(path) == []
    for at in range(3):
        store.append("a", at, [record("a", at)]).result()
    assert len(writers(path)) == 1
    store.close()
    assert writers(path) == []
    for at in range(3, 60):
        store.append("a", at, [record("a", at)])
    del store
    gc.collect()
    until = time.monotonic() + 20
    while writers(path) and time.monotonic() < until:
        time.sleep(0.01)
    assert writers(path) == []
    again = SqliteStore(path)
    assert again.end("a") == 60, "what was queued is written all the same"
    again.close()


def test_whoever_waits_for_an_append_may_close_the_store(tmp_path):
    store, closed = SqliteStore(tmp_path / "a.db"), threading.Event()
    pending = store.append("a", 0, [record("a", 0)])
    pending.add_done_callback(lambda _: (store.close(), closed.set()))
    assert closed.wait(20)
    assert store.end("a") == 1
    store.close()


@pytest.mark.parametrize(
    "bad", [Record("k", 2**63, b"", 1), Record("k", 0, b"", 2**63), Record("k", -(2**63) - 1, b"", 1)]
)
def test_what_no_row_can_hold_is_refused_at_once(tmp_path, bad):
    store = SqliteStore(tmp_path / "a.db")
    with pytest.raises(ConfigurationError, match="64 bits"):
        store.append("a", 0, [bad])
    assert store.end("a") == 0
    store.close()


# -- for ever --


def test_a_database_of_schema_1_opens_for_ever(tmp_path):
    for suffix in ("", "-commits"):
        (tmp_path / f"a.db{suffix}").write_bytes(Path(f"{GOLDEN}{suffix}").read_bytes())
    store = SqliteStore(tmp_path / "a.db")
    assert store.sessions() == ["plain", "'; drop table record; --", "\U0001f469/.."]
    assert list(store.verify()) == []
    assert not any(differs(store, session, 90) for session in store.sessions()[:2])
    (odd,) = store.read("\U0001f469/..")
    assert odd.record == Record("plan", None, bytes(range(256)), 7)
    store.append("plain", 12, [record("plain", 12, 90)]).result()
    assert not differs(store, "plain", 90)
    store.close()


def test_a_later_schema_is_refused_and_left_alone(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    appended(store, "a", 1)
    store.close()
    with other(store.path) as connection:
        connection.execute(f"pragma user_version = {VERSION + 1}")
    connection.close()
    before = (tmp_path / "a.db").read_bytes()
    for action in (lambda: store.end("a"), lambda: appended(store, "b", 1), lambda: list(store.verify())):
        with pytest.raises(StoreUnavailable, match=rf"has schema {VERSION + 1}, .* up to {VERSION}: upgrade"):
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
def test_a_crash_while_the_file_is_made_leaves_one_that_can_be_used(tmp_path, crash, looked_at):
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
