"""SQLite files that were cut short or altered, where these differ from other stores: see `test_damage.py`."""

import subprocess
import sys

import pytest

from backscroll import CorruptionError
from tests.stores.damaging import LARGEST, everything, noticed
from tests.stores.programs import record
from tests.stores.running import FAULTS, TORN

ONE, TWO = 2 << 32, 3 << 32  # where the numbers of their records begin


def test_database_cut_at_its_end_names_what_is_missing(sqlite_closed, tmp_path):
    """A database without its last bytes says what is missing and keeps the other sessions."""
    told = 0
    for missing in TORN:
        store = sqlite_closed.lay(tmp_path / "a", "a.db", sqlite_closed.parts["a.db"][:-missing])
        if noticed(store, sqlite_closed.ends):
            told += 1
            problems = list(store.verify())
            assert problems
            places = {(problem.session, problem.at) for problem in problems}
            for session, end in sqlite_closed.ends.items():
                for at in range(missing % 10, end, 10):
                    if (session, at) not in places and (session, None) not in places:
                        (stored,) = store.read(session, at, at + 1)
                        assert stored.record == record(session, at, LARGEST)
        store.close()
    assert told > 0.8 * len(TORN)


def test_any_byte_of_the_first_page_may_be_altered(sqlite_closed, tmp_path):
    """It holds the header, by which SQLite decides what all the others mean."""
    told, content = 0, sqlite_closed.parts["a.db"]
    for place in [*range(100), *range(100, 4096, 8 if FAULTS else 32)]:
        altered = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        store = sqlite_closed.lay(tmp_path / "a", "a.db", altered)
        told += noticed(store, sqlite_closed.ends)
        store.close()
    assert told > 50


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
def test_what_somebody_changed_is_named_with_its_place(sqlite_closed, tmp_path, statement, place, what):
    store = sqlite_closed.lay(tmp_path / "a")
    changed = [
        sys.executable,
        "-c",
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
    ]
    subprocess.run([*changed, store.path, statement], check=True, timeout=60)
    with pytest.raises(CorruptionError, match=f"{place[0]!r}.* position {place[1]} " if place else what) as raised:
        everything(store, sqlite_closed.ends)
    assert str(raised.value).startswith(store.path)
    if place:
        assert place in [(problem.session, problem.at) for problem in store.verify()]
        assert [problem.at for problem in store.verify("one")] == [place[1]]
        assert [stored.record for stored in store.read("three")] == [record("three", at, LARGEST) for at in range(5)]
    assert any(what in problem.what for problem in store.verify())
    store.close()
