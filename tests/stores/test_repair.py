"""Repairing SQLite files: what was not hit reads as before, what was lost is named, and the damaged file is kept."""

import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from backscroll import ConfigurationError, CorruptionError, StoreUnavailableError
from backscroll.ports import LOST, Record
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.sqlite.jobs import Delete, Transactions
from tests.long_run import usually
from tests.present import present
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
    """Sessions, forks, keys, what was deleted, and as many names as make their list a tree; half of it in the log."""
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
    store.delete("gone")
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
    """Places where something else stands than was written: only what says that it is lost. All sessions are there."""
    assert sorted(store.sessions()) == sorted(logs)
    return {(session, at) for session, log in logs.items() for at in gone_of(store, session, log)}


def gone_of(store, session, log):
    """Places of one session that hold a note of their loss; all others are as they were written."""
    read = [stored.record for stored in store.read(session)]
    assert len(read) <= len(log)
    odd = [at for at, (is_there, was_there) in enumerate(zip(read, log, strict=False)) if is_there != was_there]
    for at in odd:
        assert (read[at].kind, read[at].format) == (LOST, 0)
        assert b"when its database was repaired" in read[at].body
    return [*odd, *range(len(read), len(log))]


def honest(store, logs, deleted=()):
    """Repairs it: each loss is named, with a pointer to what may find more. How many records are gone; None: all."""
    before = Path(store.path).read_bytes()
    try:
        done = store.repair()
    except CorruptionError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert ".recover" in refusal
        assert Path(store.path).read_bytes() == before
        return None
    said = " ".join(each.what for each in done)
    named = {(each.session, each.at) for each in done if each.at is not None}
    behind = "acknowledged commits" in said
    made = {each.session for each in done if "was lost, and is made" in each.what or "it was forked" in each.what}
    there = set(store.sessions())
    assert there <= {*logs, *(deleted if behind else ())}
    gone = {session: gone_of(store, session, log) for session, log in logs.items() if session in there}
    if logs.keys() - there:
        assert behind or "sessions, of which" in said or "sessions may be missing" in said
    forks = {"fork": ("one", 20), "fork of a fork": ("fork", 12)}
    for session, places in gone.items():
        for at in places:
            holder = session
            while holder in forks and at < forks[holder][1] and (holder, at) not in named:
                holder = forks[holder][0]
            assert behind or (holder, at) in named or holder in made or session in made
    missing = sum(map(len, gone.values())) + sum(len(logs[session]) for session in logs.keys() - there)
    if missing:
        assert done[-1].what.endswith(".recover > rows.sql")
        assert done[0].what.rpartition(" ")[2] in done[-1].what
    assert list(store.verify()) == []
    for session in sorted(there)[:1]:
        store.append(session, store.length(session), [record("new", 0)]).result()
    store.close()
    return missing


# -- what is hit --


@pytest.mark.parametrize("kind", usually([*KINDS, "other"], 2))
def test_an_altered_byte_costs_what_sqlite_refuses_and_says_so(closed, tmp_path, kind):
    of_trees = {at for each in KINDS.values() for at in closed.pages(each)}
    pages = closed.pages(KINDS[kind]) if kind in KINDS else sorted(set(closed.pages()) - of_trees)
    assert pages
    chance, most = random.Random(kind), sum(map(len, closed.logs.values()))
    found = []
    for _ in range(max(FAULTS // 10, 8)):
        at = chance.choice(pages)
        place = at + chance.choice((chance.randrange(PAGE), chance.randrange(12), chance.randrange(8, 60)))
        store = closed.lay(tmp_path / "a.db", "", closed.altered("", place, chance.randrange(1, 256)))
        try:
            found.append(honest(store, closed.logs))
        except Exception as error:
            error.add_note(f"byte {place} in a page of the kind {kind}")
            raise
    assert any(gone is not None and gone < most / 2 for gone in found)


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
            gone = honest(store, closed.logs)
            assert gone is None or gone <= 60 or whole[at] != KINDS["leaf"]


def test_every_byte_of_the_header_may_be_altered(closed, tmp_path):
    for place in range(0, 108, 1 if FAULTS else 9):
        honest(closed.lay(tmp_path / "a.db", "", closed.altered("", place, 0xFF)), closed.logs)


def test_a_damaged_log_costs_what_stands_behind_and_says_so(left, tmp_path):
    """SQLite takes that for never written: the first bad byte is the end of the log to it."""
    chance, log = random.Random(2), left.parts["-wal"]
    for number in range(max(FAULTS // 10, 9)):
        at = 32 + chance.randrange(len(log) // FRAME) * FRAME
        place = (chance.randrange(32), at + chance.randrange(24), at + 24 + chance.randrange(PAGE))[number % 3]
        store = left.lay(tmp_path / "a.db", "-wal", left.altered("-wal", place, chance.randrange(1, 256)))
        try:
            honest(store, left.logs, deleted=["gone"])
        except Exception as error:
            error.add_note(f"byte {place} of the log")
            raise


def test_repair_of_a_cut_log_names_what_the_cut_lost(left, tmp_path):
    """A log that was cut off costs only what was cut off, and the report says so."""
    for missing in (1, 100, FRAME - 1, FRAME, FRAME + 24, 2 * FRAME):
        store = left.lay(tmp_path / "a.db", "-wal", left.parts["-wal"][:-missing])
        assert 0 < honest(store, left.logs) <= 14


# -- what is changed --


NUMBER = 4 << 32  # where those of the records of "fork" begin


@pytest.mark.parametrize(
    ("statement", "gone", "told"),
    [
        ("update log set next = 0 where id = 0", set(), "counts commits and sessions was lost"),
        ("delete from log where id = 0", set(), "counts commits and sessions was lost"),
        ("update log set next = 7 where name = 'fork'", set(), "row in the list of sessions was lost"),
        ("delete from log where name = 'fork'", set(), "lost: the name of the session with the number 4"),
        ("delete from record where number = {24}", {("fork", 24)}, "nothing was left of this record"),
        ("update record set seq = 99 where number = {24}", {("fork", 24)}, "was damaged when"),
        ("update record set number = {99} where number = {24}", {("fork", 24)}, "nothing was left"),
        ("drop index record_key", set(), "a new file was written"),
        ("drop table lease", set(), "a new file was written"),
        ("pragma user_version = 1", set(), "a new file was written"),
        ("pragma user_version = 3", set(), "a new file was written"),
        ("pragma application_id = 3", set(), "a new file was written"),
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
    if "name" in told:  # and with it what it shared with its own fork
        del logs["fork"]
        assert any("1 of 65 sessions" in each.what for each in done)
        assert lost(store, logs) == {("fork of a fork", at) for at in range(12)}
        assert done[-1].what.endswith(".recover > rows.sql")
        return
    assert gone <= lost(store, logs) <= {*gone, ("fork", 98), ("fork", 99)} | {("fork", at) for at in range(28, 99)}
    assert list(store.verify()) == []
    store.close()


def test_lost_record_keeps_its_seq_if_that_is_known(tmp_path):
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


def test_what_was_erased_comes_back_only_where_that_is_said(tmp_path):
    """Damage to the log ends what SQLite reads before the erasure: then the lost commits are named."""
    path = tmp_path / "a.db"
    store, logs = SqliteStore(path), {}
    for session in ("one", "secret", "two"):
        grown(store, logs, session, 20)
    with store._database.connect() as connection:
        erasing = Transactions(connection, str)
        assert erasing.write([Delete("secret", cascade=False)])
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
        done = again.repair()
        said = any("a session that they deleted may exist again" in each.what for each in done)
        assert sorted(again.sessions()) == (["one", "secret", "two"] if said else ["one", "two"])
        assert (b"secret" in Path(again.path).read_bytes()) == said
        again.close()


def test_damaged_schema_1_is_upgraded_or_left_alone(tmp_path):
    """A damaged database of schema 1 is brought up to date whole, or stays as it is."""
    path = tmp_path / "a.db"
    held = (GOLDEN / "sqlite-1.db").read_bytes()
    place = held.index(b"drop table record")
    repaired = 0
    for at in (20, place, len(held) - 50):
        path.write_bytes(altered := held[:at] + b"\xff" + held[at + 1 :])
        Path(f"{path}-commits").write_bytes((GOLDEN / "sqlite-1.db-commits").read_bytes())
        store = SqliteStore(path)
        try:
            done = store.repair()
        except CorruptionError:
            assert path.read_bytes() == altered
            continue
        repaired += 1
        gone = [each for each in done if each.at is not None]
        there = store.sessions()
        assert len(gone) <= 1
        assert len(there) == 3 or any("lost: 1 of 3 sessions" in each.what for each in done)
        plain = {"plain", "'; drop table record; --"} & set(there)
        assert sum(differs(store, session, 90) for session in plain) <= len(gone)
        assert list(store.verify()) == []
        store.close()
    assert repaired


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
    with pytest.raises(CorruptionError, match=r"a\.db is damaged: SQLite can read nothing in it, .*\.recover"):
        store.repair()
    assert Path(store.path).read_bytes() == b"x" * 20_000
    Path(store.path).unlink()
    (told,) = store.repair()
    assert "the database is gone" in told.what
    assert store.sessions() == []
    store.close()


def test_what_is_not_ours_is_left_alone(closed, tmp_path):
    later, foreign = tmp_path / "later.db", tmp_path / "foreign.db"
    later.write_bytes(closed.parts[""])
    for path, statements, error in (
        (later, ("create table more (x)", "drop table lease", "pragma user_version = 3"), StoreUnavailableError),
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
        assert present(process.stdout).readline() == "open\n"
        with pytest.raises(StoreUnavailableError, match="another process has it open"):
            store.repair()
        process.communicate("\n", timeout=60)
    assert len(store.repair()) > 1
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a system without rights of this kind")
def test_nothing_that_a_repair_writes_can_be_read_by_others(left, tmp_path):
    """Neither the copies that it reads, which stay only where it is killed, nor the new file."""
    altered = left.altered("", left.pages(KINDS["leaf"])[3] + 3_000, 255)
    store, rights = left.lay(tmp_path / "a.db", "", altered), set()
    Path(store.path).chmod(0o600)

    def look(event, arguments):
        if event == "sqlite3.connect" and str(arguments[0]).endswith("-read"):
            rights.update(file.stat().st_mode & 0o077 for file in tmp_path.glob("a.db.repairing*"))

    sys.addaudithook(look)
    assert store.repair()
    assert rights == {0}
    store.close()
