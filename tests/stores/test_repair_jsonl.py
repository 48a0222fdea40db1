"""Mending folders of JSON Lines: what is left is read as before, what is lost is named, and nothing else changes."""

import random

import pytest

from backscroll import DamagedError
from backscroll.ports import LOST, Record
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.jsonl.folder import file_name
from tests.stores.programs import record
from tests.stores.running import FAULTS


def line_of(path, number):
    return path.read_bytes().splitlines(keepends=True)[number]


@pytest.fixture
def folder(tmp_path):
    """A session, another one, and a fork of the first."""
    store = JsonlStore(tmp_path / "a", "normal")
    for at in range(12):
        for session in ("a", "b"):
            store.append(session, at, [record(session, at, 300)]).result()
    store.fork("a", "c", 8).result()
    store.append("c", 8, [record("c", 8, 300)]).result()
    store.close()
    return tmp_path / "a"


def change(path, old, new, count=1):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, count))


def as_before(store):
    assert store.sessions() == ["a", "b", "c"]
    logs = {session: [stored.record for stored in store.read(session)] for session in "abc"}
    assert logs["a"] == [record("a", at, 300) for at in range(12)]
    assert logs["b"] == [record("b", at, 300) for at in range(12)]
    assert logs["c"] == [*logs["a"][:8], record("c", 8, 300)]


def test_where_nothing_is_wrong_nothing_is_done(folder, tmp_path):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert JsonlStore(folder).repair() == []
    assert JsonlStore(tmp_path / "nowhere").repair() == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_lost_record_leaves_a_note_in_its_place_and_all_others_as_they_were(folder):
    path = folder / file_name("a")
    damaged = line_of(path, 5)
    change(path, damaged, b"X" + damaged[1:])
    store = JsonlStore(folder)
    with pytest.raises(DamagedError):
        list(store.read("a"))
    kept = f"{path}.damaged-1"
    told = [(found.session, found.at, found.what) for found in store.repair()]
    assert told == [
        ("a", None, f"the file was written anew; the damaged one is {kept}"),
        ("a", 4, "this record was not as it was written when its file was repaired, and is lost"),
    ]
    for each in (store, JsonlStore(folder)):
        assert list(each.verify()) == []
        got = [stored.record for stored in each.read("a")]
        assert got.pop(4) == Record(LOST, 4, b"this record was not as it was written when its file was repaired", 0)
        assert got == [record("a", at, 300) for at in range(12) if at != 4]
        assert [stored.record.kind for stored in each.read("c")].count(LOST) == 1
    store.append("a", 12, [record("a", 12, 300)]).result()
    assert (store.end("a"), list(store.verify()), store.repair()) == (13, [], [])
    store.erase("c")
    store.erase("a")
    assert sorted(each.name for each in folder.iterdir()) == sorted(
        [".begun", file_name("b"), f"{file_name('b')}-commits"]
    )
    store.close()


@pytest.mark.parametrize(
    ("altered", "seqs"),
    [
        ({3: b"X"}, {3: 3}),
        ({3: b"X", 4: b"X"}, {3: 3, 4: 4}),
        ({3: b"X", 6: b"X"}, {3: 3, 6: 6}),
        ({0: b"X", 1: b"X"}, {0: 0, 1: 1}),
        ({7: b'{"at":7,"kind":"note","format":1}'}, {7: None}),  # its neighbours leave no room for a seq
        ({8: b"X", 9: b"X"}, {8: None, 9: None}),  # one of them had none: which?
        ({8: b'{"at":8,"kind":"message","seq":7,"body":X', 9: b"X"}, {8: 7, 9: None}),
        ({8: b'{"at":8,"kind":"message","seq":99,"body":X', 9: b"X"}, {8: None, 9: None}),
    ],
)
def test_the_seq_of_what_is_lost_is_told_where_it_can_be(tmp_path, altered, seqs):
    store = JsonlStore(tmp_path / "a", "normal")
    for at in range(12):
        seq = at if at < 7 else None if at in (7, 9) else at - 1 - (at > 9)
        store.append("a", at, [Record("message", seq, b"%d" % at, 1)]).result()
    path = tmp_path / "a" / file_name("a")
    lines = path.read_bytes().splitlines()
    for place, line in altered.items():
        lines[place + 1] = line
    path.write_bytes(b"\n".join([*lines, b""]))
    store.repair()
    lost = {stored.at: stored.record.seq for stored in store.read("a") if stored.record.kind == LOST}
    assert lost == seqs
    assert [stored.record.seq for stored in store.read("a") if stored.record.seq is not None] == sorted(
        {stored.record.seq for stored in store.read("a")} - {None}
    )
    store.close()


@pytest.mark.parametrize("session", ["a", "b", "c"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"backscroll"', b'{"Backscroll"'),
        (b'"crc":"', b'"crc":"x'),
        (b'"begun":', b'"begun" '),
        (b'"id":"', b'"id":"x'),
    ],
)
def test_a_first_line_is_made_from_what_is_left_of_it(folder, session, old, new):
    path = folder / file_name(session)
    change(path, old, new)
    store = JsonlStore(folder)
    with pytest.raises(DamagedError, match="names its session"):
        store.sessions()
    assert "was made from what is left of it" in [found.what for found in store.repair()][1][-40:]
    assert list(store.verify()) == []
    if b"begun" in old:  # its number is gone, and with it its order
        assert sorted(store.sessions()) == ["a", "b", "c"]
    else:
        as_before(store)
    assert (store.end("a"), store.end("b"), store.end("c")) == (12, 12, 9)
    store.close()


def test_a_file_that_cannot_tell_whose_it_is_stays_as_it_is(folder):
    path = folder / file_name("b")
    change(path, b'"session":"b"', b'"session":"?"')
    store, before = JsonlStore(folder), path.read_bytes()
    (told,) = store.repair()
    assert "which session it was cannot be told" in told.what
    assert path.read_bytes() == before


def test_acknowledged_commits_that_are_gone_are_given_up(folder):
    path = folder / file_name("b")
    path.write_bytes(path.read_bytes()[:-20])
    (folder / file_name("a")).unlink()
    store = JsonlStore(folder)
    told = [(found.session, found.at, found.what) for found in store.repair()]
    assert ("b", 11, "the last 1 of 12 acknowledged commits are gone") in told
    assert any(what.endswith("the file is gone, and 12 commits with it") for _, _, what in told)
    assert [stored.record for stored in store.read("b")] == [record("b", at, 300) for at in range(11)]
    assert store.sessions() == ["b", "c"]
    with pytest.raises(DamagedError, match="shares its first 8 records"):
        list(store.read("c"))
    store.append("b", 11, [record("b", 11, 300)]).result()
    store.close()


def test_what_any_altered_bytes_leave_can_be_mended(folder, tmp_path):
    """Whatever is altered in one file: all that can be read before a repair is the same after it."""
    chance, path = random.Random(7), folder / file_name("a")
    content, mended = path.read_bytes(), 0
    for _ in range(FAULTS or 40):
        path.write_bytes(content)
        altered = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            altered[chance.randrange(len(content))] ^= chance.randrange(1, 256)
        path.write_bytes(bytes(altered))
        store = JsonlStore(folder)
        before = {at: found for at in range(12) if (found := readable(store, at))}
        mended += bool(store.repair())
        problems = [problem for problem in store.verify() if not problem.harmless]
        assert all(b'"session":"a"' not in altered for _ in problems), "only a name that is lost cannot be mended"
        after = {at: found for at in range(12) if (found := readable(store, at)) and found.kind != LOST}
        assert before.items() <= after.items()
        assert all(found == record("a", at, 300) for at, found in after.items())
        store.close()
        for kept in folder.glob("*.damaged-*"):
            kept.unlink()
        (folder / f"{file_name('a')}-commits").write_bytes((12).to_bytes(8, "big"))
    assert mended > 30


def readable(store, at):
    try:
        return next((stored.record for stored in store.read("a", at, at + 1)), None)
    except DamagedError:
        return None
