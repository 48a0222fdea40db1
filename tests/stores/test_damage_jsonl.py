"""Folders of JSON Lines that were cut short or altered, where these differ from other stores: see `test_damage.py`."""

import shutil

import pytest

from backscroll import CorruptionError
from backscroll.ports import Record
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.jsonl.folder import file_name
from tests.stores.damaging import LARGEST, Files, everything, jsonl_in, noticed
from tests.stores.programs import record
from tests.stores.running import FAULTS

ONE, TWO, THREE = (file_name(session) for session in ("one", "two", "three"))


def lines_of(content):
    return content.splitlines(keepends=True)


def test_file_cut_at_its_end_leaves_other_sessions(jsonl_left, tmp_path):
    store = jsonl_left.lay(tmp_path / "a", ONE, jsonl_left.parts[ONE][:-1])
    assert [(problem.session, problem.at) for problem in store.verify()] == [("one", 15)]
    assert [stored.record for stored in store.read("two")] == [record("two", at, LARGEST) for at in range(9)]


def test_every_byte_of_the_last_lines_may_be_altered(jsonl_left, tmp_path):
    """What ends the file could be taken for what a crash jsonl_left."""
    files = Files(jsonl_in, {name: jsonl_left.parts[name] for name in (THREE, f"{THREE}-commits")}, {"three": 5})
    content, told = jsonl_left.parts[THREE], 0
    start = content.rindex(b"\n", 0, -1) - 200
    for place in range(start, len(content), 5):
        for bit in (0x01, 0x20, content[place] ^ 0x0A):  # the last one makes it the end of a line
            altered = content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
            store = files.lay(tmp_path / "a", THREE, altered)
            told += noticed(store, files.ends)
            store.close()
    assert told >= (len(content) - start) // 5 * 2


def test_damage_costs_one_position_and_names_line_and_byte(jsonl_left, tmp_path):
    held = lines_of(jsonl_left.parts[ONE])
    held[8] = held[8].replace(b'"kind":"message"', b'"kind":"massage"')
    store = jsonl_left.lay(tmp_path / "a", ONE, b"".join(held))
    where = f"line 9, byte {sum(map(len, held[:8]))}"
    with pytest.raises(CorruptionError, match=rf"{ONE}: {where}: session 'one': the record at position 7 ") as raised:
        everything(store, jsonl_left.ends)
    assert str(raised.value).startswith(store.path)
    assert [(each.session, each.at, each.what) for each in store.verify()] == [
        ("one", 7, f"{where}: the record is not what was written there")
    ]
    assert store.length("one") == 16
    for start, stop in ((0, 7), (8, 16)):
        kept = [stored.record for stored in store.read("one", start, stop)]
        assert kept == [record("one", at, LARGEST) for at in range(start, stop)]
    assert (store.find("one", seq=7 - 1), store.find("one", seq=9)) == (6, 9)
    with pytest.raises(CorruptionError, match="position 7 "):
        store.find("one", seq=7)  # it may be the one that was asked for
    store.append("one", 16, [record("one", 16, LARGEST)]).result()
    assert store.length("one") == 17


@pytest.mark.parametrize(
    ("change", "places"),
    [
        (lambda held: held[:8] + held[9:], [7]),
        (lambda held: held[:8] + held[12:], [7, 8, 9, 10]),
        (lambda held: [*held[:8], b"no line of ours\n", *held[9:]], [7]),
        (lambda held: [*held[:8], held[8][:-1], *held[9:]], [7, 8]),
        (lambda held: [*held[:8], held[8][:40] + b"\n" + held[8][40:], *held[9:]], [7]),
        (lambda held: [*held[:8], held[9], held[8], *held[10:]], [8]),
        (lambda held: [held[0], *held[2:]], [0]),
        (lambda held: [*held[:9], held[4], *held[9:]], []),
        (lambda held: [*held[:9], held[8], *held[9:]], []),
        (lambda held: [*held[:9], b"\n", b" \n", *held[9:]], []),
        (lambda held: [*held[:9], b"something else\n", *held[9:]], []),
        (lambda held: [b"something else\n", *held[1:]], []),
    ],
)
def test_what_somebody_changed_is_noticed_or_harmless(jsonl_left, tmp_path, change, places):
    store = jsonl_left.lay(tmp_path / "a", ONE, b"".join(change(lines_of(jsonl_left.parts[ONE]))))
    found = list(store.verify("one"))
    assert [problem.at for problem in found if problem.at is not None] == places
    for place in range(16):
        if place in places:
            with pytest.raises(CorruptionError, match=f"position {place} "):
                list(store.read("one", place, place + 1))
        else:
            assert [stored.record for stored in store.read("one", place, place + 1)] == [record("one", place, LARGEST)]


def test_a_line_of_another_session_is_not_taken_for_one_of_this(jsonl_left, tmp_path):
    held, others = lines_of(jsonl_left.parts[ONE]), lines_of(jsonl_left.parts[TWO])
    store = jsonl_left.lay(tmp_path / "a", ONE, b"".join([*held[:8], others[8], *held[9:]]))
    with pytest.raises(CorruptionError, match="position 7 "):
        list(store.read("one"))


def test_altered_header_is_reported_and_records_stay_readable(jsonl_left, tmp_path):
    held = lines_of(jsonl_left.parts[ONE])
    store = jsonl_left.lay(tmp_path / "a", ONE, b"".join([held[0].replace(b"one", b"eno"), *held[1:]]))
    with pytest.raises(CorruptionError, match=rf"{ONE}: line 1, byte 0: .* restore"):
        store.sessions()
    assert [each.what.partition(": restore")[0] for each in store.verify()] == [
        f"{store.path}/{ONE}: line 1, byte 0: the line that names its session is damaged"
    ]
    assert [stored.record for stored in store.read("one")] == [record("one", at, LARGEST) for at in range(16)]
    assert "line 1, byte 0" in next(store.verify("one")).what


def test_copied_or_renamed_file_is_no_session(jsonl_left, tmp_path):
    store = jsonl_left.lay(tmp_path / "a")
    shutil.copyfile(tmp_path / "a" / ONE, tmp_path / "a" / file_name("copy"))
    with pytest.raises(CorruptionError, match=r"a copy of the file of the session 'one': move it elsewhere"):
        store.sessions()
    with pytest.raises(CorruptionError, match="belongs to the session 'one', not to 'copy'"):
        store.length("copy")
    (tmp_path / "a" / file_name("copy")).rename(tmp_path / "a" / "notes about one.jsonl")
    assert everything(store, jsonl_left.ends), "files of other names are nobody's business"


def test_lower_commit_number_is_a_crash_and_no_loss(jsonl_left, tmp_path):
    """A lower number of commits comes from a crash between two writes and is no loss."""
    for content in ((15).to_bytes(8, "big"), b"", b"\0\0", None):
        store = jsonl_left.lay(tmp_path / "a", f"{ONE}-commits", content)
        assert everything(store, jsonl_left.ends)
        assert (list(store.verify()), store.accept_loss()) == ([], 0)


# -- what a crash leaves --


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """Appends of three records each, in JSON."""
    folder = tmp_path_factory.mktemp("batches") / "a"
    store = JsonlStore(folder)
    for first in range(0, 9, 3):
        store.append("a", first, [body(at) for at in range(first, first + 3)]).result()
    store.close()
    return (folder / file_name("a")).read_bytes()


def body(at):
    return Record("message", at, b'{"text":"line %d"}' % at, 1)


def test_torn_append_is_truncated_at_any_byte(batches, tmp_path):
    """Without the file that counts commits, as after a power cut: nothing tells but the lines themselves."""
    path, name = tmp_path / "a" / file_name("a"), file_name("a")
    ends = [
        0,
        *(at + len(line) for at, line in zip(offsets(batches), lines_of(batches), strict=True) if b'"commit"' in line),
    ]
    step, header = 1 if FAULTS else 7, len(lines_of(batches)[0])
    for length in sorted(
        {header, *range(0, len(batches) + 1, step), *(end + by for end in ends for by in (-2, -1, 0, 1))}
    ):
        if not 0 <= length <= len(batches):
            continue
        files = Files(jsonl_in, {name: batches}, {})
        store = files.lay(tmp_path / "a", name, batches[:length])
        whole = sum(end <= length for end in ends[1:])
        assert store.sessions() == (["a"] if whole else [])
        assert [stored.record for stored in store.read("a")] == [body(at) for at in range(whole * 3)]
        torn = length > ends[whole] and length != header  # a header alone is no part of an append
        told = [problem.harmless for problem in store.verify()]
        assert (any(told), all(told)) == (torn and whole > 0, True)
        before = path.read_bytes()
        store.append("a", whole * 3, [body(whole * 3), body(whole * 3 + 1)]).result()
        assert path.read_bytes().startswith(before), "what is torn stays to be seen"
        assert [stored.record for stored in store.read("a")] == [body(at) for at in range(whole * 3 + 2)]
        assert bool(list(store.verify())) == torn, length
        again = JsonlStore(tmp_path / "a")
        assert (again.length("a"), again.sessions()) == (whole * 3 + 2, ["a"])
        store.close()


def offsets(content):
    at = 0
    for line in lines_of(content):
        yield at
        at += len(line)


def test_several_torn_appends_behind_each_other_are_no_damage(batches, tmp_path):
    held = lines_of(batches)
    torn = [*held[:4], held[4], held[5][:30], b"\n", held[4], b"\n", b"\0" * 300, b"\n", *held[4:]]
    store = Files(jsonl_in, {}, {}).lay(tmp_path / "a")
    (tmp_path / "a" / file_name("a")).write_bytes(b"".join(torn))
    assert [stored.record for stored in store.read("a")] == [body(at) for at in range(9)]
    told = list(store.verify())
    assert all(problem.harmless for problem in told)
    assert [problem.what.partition(",")[0] for problem in told] == ["line 5", "line 9"]


@pytest.mark.parametrize("gone", [(4,), (5,), (4, 5), (5, 6), (4, 5, 6)])
def test_power_cut_takes_only_unacknowledged_appends(batches, tmp_path, gone):
    """The disk writes in an order of its own: the end of an append may be there, and what stands before it not."""
    held = lines_of(batches)[:7]
    torn = b"".join(b"\0" * len(line) if number in gone else line for number, line in enumerate(held))
    name = file_name("a")
    for acknowledged, whole in ((1, True), (2, False)):
        files = Files(jsonl_in, {name: torn, f"{name}-commits": acknowledged.to_bytes(8, "big")}, {})
        store = files.lay(tmp_path / "a")
        if not whole:  # somebody was told: it is damage
            assert [problem.at for problem in store.verify()]
            continue
        assert [stored.record for stored in store.read("a")] == [body(at) for at in range(3)]
        assert all(problem.harmless for problem in store.verify())
        for first in (3, 6):
            store.append("a", first, [body(at) for at in range(first, first + 3)]).result()
        for each in (store, JsonlStore(tmp_path / "a")):
            assert [stored.record for stored in each.read("a")] == [body(at) for at in range(9)]
            assert (each.find("a", seq=5), len(list(each.verify()))) == (5, 1)
        store.close()
