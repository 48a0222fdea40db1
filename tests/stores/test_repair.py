"""Repairing SQLite files: what was not hit reads as before, what was lost is named, and the damaged file is kept."""

import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from backscroll import ConfigurationError, DamagedError, StoreUnavailable
from backscroll.ports import LOST, Record
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.sqlite.jobs import Erase, Transactions
from tests.stores.programs import differs
from tests.stores.running import FAULTS, ROOT

GOLDEN = ROOT / "tests" / "golden"
PAGE, FRAME = 4096, 4096 + 24
KINDS = {"leaf": 13, "inner": 5, "index": 10, "inner index": 2}
"""Pages of a tree, by their first byte. Others hold the rest of a long record, or nothing."""


def record(session, at):
    chance = random.Random(f"{session} {at}")
    body = chance.randbytes(chance.choice((10, 100, 300, 1_200, 1_200, 9_000)))
    return Record("message", at, body, 1, f"{session} {at}" if at % 3 == 0 else None)


class Files(NamedTuple):
    """A database as it was left, and what is in it."""

    parts: dict[str, bytes]
    logs: dict[str, list[Record]]

    def lay(self, path: Path, part: str, content: bytes) -> SqliteStore:
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        for suffix, held in (self.parts | {part: content}).items():
            Path(f"{path}{suffix}").write_bytes(held)
        return SqliteStore(path)

    def altered(self, part: str, place: int, bits: int) -> bytes:
        held = self.parts[part]
        return held[:place] + bytes([held[place] ^ bits]) + held[place + 1 :]

    def pages(self, kind: int | None = None) -> list[int]:
        """Where pages begin, all or those of a kind."""
        held = self.parts[""]
        return [at for at in range(0, len(held), PAGE) if kind is None or held[at + (100 if at == 0 else 0)] == kind]


def grown(store, logs, session, end):
    log = logs.setdefault(session, [])
    while len(log) < end:
        new = [record(session, at) for at in range(len(log), min(len(log) + 7, end))]
        store.append(session, len(log), new).result()
        log += new


def parts_of(path):
    return {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal", "-commits")}


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Sessions, forks, keys, what was erased, and as many names as make their list a tree; half of it in the log."""
    path = tmp_path_factory.mktemp("left") / "a.db"
    store, logs = SqliteStore(path, "normal"), {}
    for session, end in (("one", 30), ("gone", 20), ("two", 25)):
        grown(store, logs, session, end)
    for session, new, at in (("one", "fork", 20), ("fork", "fork of a fork", 12)):
        store.fork(session, new, at).result()
        logs[new] = logs[session][:at]
    grown(store, logs, "fork", 28)
    for number in range(60):
        grown(store, logs, f"{number} {'small ' * 30}", 1)
    store.erase("gone")
    del logs["gone"]
    store.close()
    grown(store, logs, "one", 40)
    grown(store, logs, "three", 9)
    parts = parts_of(path)
    store.close()
    return Files(parts, logs)


@pytest.fixture(scope="module")
def closed(left, tmp_path_factory):
    """The same without a log."""
    store = left.lay(tmp_path_factory.mktemp("closed") / "a.db", "", left.parts[""])
    logs = {session: list(log) for session, log in left.logs.items()}
    grown(store, logs, "one", 41)
    store.close()
    return Files({suffix: Path(f"{store.path}{suffix}").read_bytes() for suffix in ("", "-commits")}, logs)


def lost(store, logs):
    """Places where something else stands than was written: only what says that it is lost."""
    assert sorted(store.sessions()) == sorted(logs)
    found = set()
    for session, log in logs.items():
        read = [stored.record for stored in store.read(session)]
        assert len(read) == len(log)
        for at, (is_there, was_there) in enumerate(zip(read, log, strict=True)):
            if is_there != was_there:
                assert (is_there.kind, is_there.format) == (LOST, 0)
                assert b"when its database was repaired" in is_there.body
                found.add((session, at))
    return found


def mended(store, logs, most):
    """Repairs it, and shows that it did what it says; how many records are gone."""
    done = store.repair()
    gone = lost(store, logs)
    shared = {("fork", at) for at in range(20)} | {("fork of a fork", at) for at in range(12)}
    assert {(each.session, each.at) for each in done if each.at is not None} == gone - shared
    assert len(gone - shared) <= most
    assert list(store.verify()) == []
    store.append("one", store.end("one"), [record("new", 0)]).result()
    store.close()
    return len(gone - shared), done


# -- what is hit --


@pytest.mark.parametrize("kind", [*KINDS, "other"])
def test_an_altered_byte_costs_the_record_in_which_it_stands_at_most(closed, tmp_path, kind):
    of_trees = {at for each in KINDS.values() for at in closed.pages(each)}
    pages = closed.pages(KINDS[kind]) if kind in KINDS else sorted(set(closed.pages()) - of_trees)
    assert pages
    chance, repaired = random.Random(kind), 0
    for _ in range(max(FAULTS // 10, 8)):
        at = chance.choice(pages)
        place = at + chance.choice((chance.randrange(PAGE), chance.randrange(12), chance.randrange(8, 60)))
        store = closed.lay(tmp_path / "a.db", "", closed.altered("", place, chance.randrange(1, 256)))
        try:
            _, done = mended(store, closed.logs, most=1 if kind in ("leaf", "other") else 0)
        except Exception as error:
            error.add_note(f"byte {place} in a page of the kind {kind}")
            raise
        repaired += bool(done)
    assert repaired


def test_a_page_that_is_gone_costs_what_stood_on_it(closed, tmp_path):
    chance = random.Random(1)
    pages = [
        at
        for kind in KINDS.values()
        for at in chance.sample(closed.pages(kind), min(1 + FAULTS // 50, len(closed.pages(kind))))
    ]
    for at in [0, *pages]:
        for content in (bytes(PAGE), chance.randbytes(PAGE)):
            whole = closed.parts[""]
            store = closed.lay(tmp_path / "a.db", "", whole[:at] + content + whole[at + PAGE :])
            gone, done = mended(store, closed.logs, most=60)
            assert done
            assert gone == 0 or whole[at] == KINDS["leaf"]


def test_every_byte_of_the_header_may_be_altered(closed, tmp_path):
    for place in range(0, 108, 1 if FAULTS else 9):
        store = closed.lay(tmp_path / "a.db", "", closed.altered("", place, 0xFF))
        gone, _ = mended(store, closed.logs, most=0)
        assert gone == 0


def test_a_damaged_log_gives_back_what_was_acknowledged_behind_the_damage(left, tmp_path):
    """Which SQLite takes for never written: the first bad byte is the end of the log to it."""
    chance, log, behind = random.Random(2), left.parts["-wal"], 0
    for number in range(max(FAULTS // 10, 9)):
        at = 32 + chance.randrange(len(log) // FRAME) * FRAME
        place = (chance.randrange(32), at + chance.randrange(24), at + 24 + chance.randrange(PAGE))[number % 3]
        store = left.lay(tmp_path / "a.db", "-wal", left.altered("-wal", place, chance.randrange(1, 256)))
        acknowledged = any("acknowledged" in problem.what for problem in store.verify())
        try:
            gone, _ = mended(store, left.logs, most=1)
        except Exception as error:
            error.add_note(f"byte {place} of the log")
            raise
        behind += acknowledged and gone == 0
    assert behind > 0


def test_a_log_that_was_cut_off_costs_what_was_cut_off_and_says_so(left, tmp_path):
    for missing in (1, 100, FRAME - 1, FRAME, FRAME + 24, 2 * FRAME):
        store = left.lay(tmp_path / "a.db", "-wal", left.parts["-wal"][:-missing])
        done = store.repair()
        named = {(each.session, each.at) for each in done}
        gone = 0
        for session, log in left.logs.items():
            read = [stored.record for stored in store.read(session)]
            gone += len(log) - len(read)
            for at, (is_there, was_there) in enumerate(zip(read, log, strict=False)):
                assert is_there == was_there or (is_there.kind == LOST and (session, at) in named)
        said = any("the last of the acknowledged commits is not whole" in each.what for each in done)
        assert gone <= (2 if said else 0)
        assert said == (missing > PAGE)
        assert list(store.verify()) == []
        store.close()


# -- what is changed --


NUMBER = 4 << 32  # where those of the records of "fork" begin


@pytest.mark.parametrize(
    ("statement", "gone", "told"),
    [
        ("update log set next = 0 where id = 0", set(), "counts commits and sessions was lost"),
        ("delete from log where id = 0", set(), "counts commits and sessions was lost"),
        ("update log set next = 7 where name = 'fork'", set(), "row in the list of sessions was lost"),
        ("delete from log where name = 'fork'", set(), "had lost its name"),
        ("delete from record where number = {24}", {("fork", 24)}, "nothing was left of this record"),
        ("update record set seq = 99 where number = {24}", {("fork", 24)}, "not as it was written"),
        ("update record set number = {99} where number = {24}", {("fork", 24)}, "nothing was left"),
        ("drop index record_key", set(), "written anew"),
        ("drop table lease", set(), "written anew"),
        ("pragma user_version = 1", set(), "written anew"),
        ("pragma user_version = 3", set(), "written anew"),
        ("pragma application_id = 3", set(), "written anew"),
    ],
)
def test_what_somebody_changed_is_put_right(closed, tmp_path, statement, gone, told):
    store = closed.lay(tmp_path / "a.db", "", closed.parts[""])
    for at in (24, 99):
        statement = statement.replace(f"{{{at}}}", str(NUMBER + at))
    with sqlite3.connect(store.path) as connection:
        connection.execute(statement)
    connection.close()
    done = store.repair()
    assert any(told in each.what for each in done)
    logs = dict(closed.logs)
    if "name" in told:  # the statement took it from the index as well
        logs["recovered-4"] = logs.pop("fork")
        read = [stored.record for stored in store.read("recovered-4")]
        assert read[20:] == logs["recovered-4"][20:]
        assert {each.kind for each in read[:20]} == {LOST}, "nothing tells any more what it was a fork of"
        return
    assert gone <= lost(store, logs) <= {*gone, ("fork", 98), ("fork", 99)} | {("fork", at) for at in range(28, 99)}
    assert list(store.verify()) == []
    store.close()


def test_a_lost_record_keeps_its_seq_where_that_can_be_told(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    seqs = [0, 1, None, 2, 3, None, 4, None, 5]
    store.append("a", 0, [Record("k", seq, b"%d" % at, 1) for at, seq in enumerate(seqs)]).result()
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("delete from record where number in (?, ?, ?, ?)", [(1 << 32) + at for at in (1, 3, 5, 7)])
    connection.close()
    store.repair()
    assert [stored.record.seq for stored in store.read("a")] == [0, 1, None, 2, 3, None, 4, None, 5]
    assert [store.find("a", seq=seq) for seq in range(6)] == [0, 1, 3, 4, 6, 8]
    store.close()


def test_what_was_erased_does_not_come_back_from_older_pages(tmp_path):
    """A crash before the files were cleared left it there; damage makes a repair look everywhere."""
    path = tmp_path / "a.db"
    store, logs = SqliteStore(path), {}
    for session in ("one", "secret", "two"):
        grown(store, logs, session, 20)
    with store._database.connect() as connection:
        erasing = Transactions(connection, str)
        assert erasing.write([Erase("secret", cascade=False)])
        store._database.guard.raise_to(erasing.meta.commits)
        parts = parts_of(path)
    connection.close()
    store.close()
    del logs["secret"]
    left = Files(parts, logs)
    assert parts["-wal"].count(b"secret 0") > 0
    lists = [at for at in range(56, len(parts["-wal"]), FRAME) if parts["-wal"][at] == KINDS["index"]]
    for place in lists[-4:]:
        again = left.lay(tmp_path / "b.db", "-wal", left.altered("-wal", place + PAGE - 20, 255))
        assert again.repair()
        assert sorted(again.sessions()) == ["one", "two"]
        assert b"secret" not in Path(again.path).read_bytes()
        again.close()


def test_a_damaged_database_of_schema_1_is_repaired_and_brought_up(tmp_path):
    path = tmp_path / "a.db"
    held = (GOLDEN / "sqlite-1.db").read_bytes()
    place = held.index(b"drop table record")
    for at in (20, place, len(held) - 50):
        path.write_bytes(held[:at] + b"\xff" + held[at + 1 :])
        Path(f"{path}-commits").write_bytes((GOLDEN / "sqlite-1.db-commits").read_bytes())
        store = SqliteStore(path)
        gone = [each for each in store.repair() if each.at is not None]
        assert len(gone) <= 1
        assert len(store.sessions()) == 3
        assert sum(differs(store, session, 90) for session in ("plain", "'; drop table record; --")) <= len(gone)
        assert list(store.verify()) == []
        store.close()


# -- the files --


def test_the_damaged_file_is_kept_with_what_belongs_to_it(left, tmp_path):
    altered = left.altered("", left.pages(KINDS["leaf"])[3] + 3_000, 255)
    store = left.lay(tmp_path / "a.db", "", altered)
    Path(store.path).chmod(0o640)
    for number in (1, 2):
        (first, *_) = store.repair()
        assert first.what.endswith(f"{store.path}.damaged-{number}")
        assert Path(f"{store.path}.damaged-{number}").read_bytes() == altered
        assert Path(store.path).stat().st_mode & 0o777 == 0o640
        store.close()
        Path(store.path).write_bytes(altered)
    assert Path(f"{store.path}.damaged-1-wal").read_bytes() == left.parts["-wal"]
    assert Path(f"{store.path}.damaged-1-commits").read_bytes() == left.parts["-commits"]
    assert not list(tmp_path.glob("*repairing*"))


def test_what_is_whole_is_left_as_it_is(closed, tmp_path):
    store = closed.lay(tmp_path / "a.db", "", closed.parts[""])
    assert store.repair() == []
    assert not list(tmp_path.glob("*damaged*"))
    assert Path(store.path).read_bytes() == closed.parts[""]
    assert SqliteStore(tmp_path / "new.db").repair() == []
    assert not (tmp_path / "new.db").exists()


def test_where_nothing_can_be_read_nothing_is_done(closed, tmp_path):
    store = closed.lay(tmp_path / "a.db", "", b"x" * 20_000)
    with pytest.raises(DamagedError, match=r"a\.db is damaged: nothing in it can be read"):
        store.repair()
    assert Path(store.path).read_bytes() == b"x" * 20_000
    Path(store.path).unlink()
    (told,) = store.repair()
    assert "there is no database any more" in told.what
    assert store.sessions() == []
    store.close()


def test_what_is_not_ours_is_left_alone(closed, tmp_path):
    later, foreign = tmp_path / "later.db", tmp_path / "foreign.db"
    later.write_bytes(closed.parts[""])
    for path, statements, error in (
        (later, ("create table more (x)", "drop table lease", "pragma user_version = 3"), StoreUnavailable),
        (foreign, ("create table log (x)", "insert into log values (1)"), ConfigurationError),
    ):
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        before = path.read_bytes()
        with pytest.raises(error):
            SqliteStore(path).repair()
        assert path.read_bytes() == before


HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("select count(*) from log").fetchone()
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there an open file cannot be replaced at all")
def test_a_file_that_another_process_has_open_is_not_repaired(closed, tmp_path):
    store = closed.lay(tmp_path / "a.db", "", closed.altered("", closed.pages(KINDS["leaf"])[3] + 3_000, 255))
    line = [sys.executable, "-c", HOLDING, store.path]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        with pytest.raises(StoreUnavailable, match="another process has it open"):
            store.repair()
        process.communicate("\n", timeout=60)
    assert len(store.repair()) > 1
    store.close()
