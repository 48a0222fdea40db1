"""SQLite files that were cut short or altered: what is not as it was written is noticed, never handed out."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from backscroll import CorruptionError
from backscroll.stores.sqlite import SqliteStore
from tests.stores.damaging import LARGEST, everything, flips, noticed, write
from tests.stores.programs import record
from tests.stores.running import FAULTS, TORN

PARTS = ("", "-wal", "-commits")
ONE, TWO = 2 << 32, 3 << 32  # where the numbers of their records begin


class Files(NamedTuple):
    """What a process left that ended in the middle."""

    parts: dict[str, bytes]
    ends: dict[str, int]

    def lay(self, path: Path, part: str = "", content: bytes | None = None) -> SqliteStore:
        """A store over a copy, one part of which is another."""
        for suffix in (*PARTS, "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        for suffix, held in self.parts.items():
            Path(f"{path}{suffix}").write_bytes(content if suffix == part and content is not None else held)
        return SqliteStore(path)


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Three sessions, half of them in the log, and traces of one that was deleted."""
    path = tmp_path_factory.mktemp("left") / "a.db"
    store = SqliteStore(path)
    for session in ("gone", "one", "two"):
        for at in range(30):
            store.append(session, at, [record(session, at, LARGEST)]).result()
    store.delete("gone")
    store.close()
    for session, first, last in (("two", 30, 55), ("three", 0, 5), ("one", 30, 50)):
        write(f"sqlite:///{path}", session, first, last)
    parts = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in PARTS}
    assert all(parts.values())
    return Files(parts, {"one": 50, "two": 55, "three": 5})


def test_a_copy_of_what_was_left_is_whole(left, tmp_path):
    store = left.lay(tmp_path / "a.db")
    assert everything(store, left.ends)
    assert list(store.verify()) == []
    store.close()


def test_log_cut_at_its_end_names_one_lost_commit(left, tmp_path):
    """A log without its last bytes says that one commit is gone and keeps the others."""
    for missing in TORN:
        torn = left.parts["-wal"][:-missing]
        store = left.lay(tmp_path / "a.db", "-wal", torn)
        for _ in range(2):  # looking changes nothing
            with pytest.raises(
                CorruptionError, match=r"141 commits were acknowledged.* holds 140: the last 1 are gone"
            ):
                store.length("one")
            assert ["141 commits" in problem.what for problem in store.verify()] == [True]
        assert Path(f"{store.path}-wal").read_bytes() == torn
        assert store.accept_loss() == 1
        assert everything(store, {"one": 49, "two": 55, "three": 5})
        assert list(store.verify()) == []
        store.append("one", 49, [record("one", 49, LARGEST)]).result()
        assert everything(store, left.ends)
        store.close()


@pytest.fixture(scope="module")
def closed(left, tmp_path_factory):
    """The same without a log."""
    path = tmp_path_factory.mktemp("closed") / "a.db"
    store = left.lay(path)
    store.append("one", 50, [record("one", 50, LARGEST)]).result()
    store.close()
    parts = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-commits")}
    return Files(parts, left.ends | {"one": 51})


def test_database_cut_at_its_end_names_what_is_missing(closed, tmp_path):
    """A database without its last bytes says what is missing and keeps the other sessions."""
    told = 0
    for missing in TORN:
        store = closed.lay(tmp_path / "a.db", "", closed.parts[""][:-missing])
        if noticed(store, closed.ends):
            told += 1
            problems = list(store.verify())
            assert problems
            places = {(problem.session, problem.at) for problem in problems}
            for session, end in closed.ends.items():
                for at in range(missing % 10, end, 10):
                    if (session, at) not in places and (session, None) not in places:
                        (stored,) = store.read(session, at, at + 1)
                        assert stored.record == record(session, at, LARGEST)
        store.close()
    assert told > 0.8 * len(TORN)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("source", ["left", "closed"])
def test_no_altered_byte_is_handed_out(request, tmp_path, source, part):
    files = request.getfixturevalue(source)
    if part in files.parts:
        told = 0
        number = (FAULTS or 200) // (2 if part != "-commits" else 20)
        for content, place in flips(files.parts[part], number, f"{source}{part}"):
            store = files.lay(tmp_path / "a.db", part, content)
            try:
                told += noticed(store, files.ends)
            except AssertionError as error:
                error.add_note(f"byte {place} of {source}{part}")
                raise
            finally:
                store.close()
        print(f"{source}{part}: {told} of {number} noticed, the others harmless, none silent")
        assert told > 0


def test_any_byte_of_the_first_page_may_be_altered(closed, tmp_path):
    """It holds the header, by which SQLite decides what all the others mean."""
    told, content = 0, closed.parts[""]
    for place in [*range(100), *range(100, 4096, 8 if FAULTS else 32)]:
        altered = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        store = closed.lay(tmp_path / "a.db", "", altered)
        told += noticed(store, closed.ends)
        store.close()
    assert told > 50


def test_a_database_that_is_gone_is_not_taken_for_a_new_one(closed, tmp_path):
    for content in (None, b""):
        store = closed.lay(tmp_path / "a.db")
        Path(store.path).unlink() if content is None else Path(store.path).write_bytes(content)
        with pytest.raises(CorruptionError, match="142 commits were acknowledged, and the database holds 0"):
            store.sessions()
        assert [problem.what[-30:] for problem in store.verify()]
        assert store.accept_loss() == 142
        assert store.sessions() == []
        store.append("one", 0, [record("one", 0)]).result()
        store.close()


@pytest.mark.parametrize(
    ("statement", "place", "what"),
    [
        (f"delete from record where number = {ONE + 7}", ("one", 7), "missing"),
        (f"delete from record where number = {ONE + 50}", ("one", 50), "missing"),
        (f"update record set body = x'00' where number = {ONE + 7}", ("one", 7), "not what was written"),
        (f"update record set kind = 'other' where number = {ONE + 7}", ("one", 7), "not what was written"),
        (f"update record set seq = null where number = {ONE + 7}", ("one", 7), "not what was written"),
        (f"update record set key = 'key' where number = {ONE + 7}", ("one", 7), "not what was written"),
        (f"update record set number = {TWO + 55} where number = {ONE + 50}", ("one", 50), "missing"),
        (f"update record set number = {9 << 32} where number = {ONE}", ("one", 0), "missing"),
        ("update log set next = 50 where id = 2", None, "not what was written"),
        ("update log set name = 'One' where id = 2", None, "not what was written"),
        ("update log set parent = 1, shared = 3 where id = 2", None, "not what was written"),
        ("delete from log where id = 2", None, "lists 2 sessions, but counts 3"),
        ("update log set next = 1000 where id = 0", None, "not what was written"),
        ("delete from log where id = 0", None, "not what was written"),
        ("drop index record_key", None, "tables"),
        ("pragma user_version = 0", None, "number 0"),
    ],
)
def test_what_somebody_changed_is_named_with_its_place(closed, tmp_path, statement, place, what):
    store = closed.lay(tmp_path / "a.db")
    changed = [
        sys.executable,
        "-c",
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
    ]
    subprocess.run([*changed, store.path, statement], check=True, timeout=60)
    with pytest.raises(CorruptionError, match=f"{place[0]!r}.* position {place[1]} " if place else what) as raised:
        everything(store, closed.ends)
    assert str(raised.value).startswith(store.path)
    if place:
        assert place in [(problem.session, problem.at) for problem in store.verify()]
        assert [problem.at for problem in store.verify("one")] == [place[1]]
        assert [stored.record for stored in store.read("three")] == [record("three", at, LARGEST) for at in range(5)]
    assert any(what in problem.what for problem in store.verify())
    store.close()
