"""What the JSON Lines store does beside the contract: files that anybody can read, locks, erasing, for ever."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ConfigurationError, ConflictError, ContextManager, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.jsonl import JsonlStore, lines
from backscroll.stores.jsonl.file import BATCH, BATCH_BYTES, LogFile, locked
from backscroll.stores.jsonl.folder import file_name
from backscroll.stores.jsonl.index import Index
from tests.present import present
from tests.stores.programs import appended, differs, record
from tests.stores.running import ROOT, address_of, at_once

GOLDEN = ROOT / "tests" / "golden" / "jsonl-1"


def file_of(store, session):
    return Path(store.path) / file_name(session)


# -- lines --


def test_a_session_is_a_file_that_any_tool_can_read(tmp_path):
    context = ContextManager(session="support/42", store=address_of("jsonl", tmp_path, "sessions"), tokenizer=len)
    context.append(
        {"role": "user", "content": "My printer is on fire. 日本"}, {"role": "assistant", "content": "Unplug it."}
    )
    context.close()
    (path,) = (tmp_path / "sessions").glob("support-42.*.jsonl")
    header, *events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert (header["backscroll"], header["session"]) == (1, "support/42")
    assert [event["at"] for event in events] == [0, 1]
    assert [event["kind"] for event in events] == ["message", "message"]
    assert [event["body"]["message"]["content"] for event in events] == ["My printer is on fire. 日本", "Unplug it."]
    assert ["commit" in event for event in events] == [False, True]


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("support-42", "support-42"), ("../../etc/passwd", "etc-passwd"), ("..", "session"), ("日本", "session"),
        ("a/b\\c:d", "a-b-c-d"), ("x" * 255, "x" * 40), ("-rf", "rf"),
    ],
)  # fmt: skip
def test_file_name_is_readable_and_safe_for_any_session(tmp_path, name, readable):
    found = file_name(name)
    assert re.fullmatch(re.escape(readable) + r"\.[0-9a-f]{20}\.jsonl", found)
    assert found.lower() not in {file_name(other).lower() for other in (name.upper() + "x", f"{name} ", "a", "A")} - {
        found
    }
    store = JsonlStore(tmp_path / "a")
    appended(store, name, 2)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted([found, f"{found}-commits"])
    assert store.sessions() == [name]
    store.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=8,
)
BODIES = (
    st.binary()
    | st.text(st.characters(blacklist_categories=())).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | JSON.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    | JSON.map(lambda value: json.dumps(value, indent=1).encode())
    | st.sampled_from(
        [b"NaN", b"[1, Infinity]", b'{"a":1,"a":2}', b" 1 ", b"1\r", b"\xef\xbb\xbf1", b"[" * 9_000, b'"\x7f"']
    )
    | st.sampled_from([b"9" * 5_000, '"\ud83d\ude00"'.encode("utf-8", "surrogatepass"), b'","body":1', b'{"crc":"0"}'])
)
KEYS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


@given(
    st.builds(Record, st.text(st.characters(exclude_categories=["Cs"])), st.none() | INTEGERS, BODIES, INTEGERS, KEYS)
)
def test_record_is_one_json_line_and_returns_byte_for_byte(found):
    (line,) = lines.record_lines("日本", 7, [lines.form_of(found)], 3)
    assert line.count(b"\n") == 1
    line = line.removesuffix(b"\n")
    told = json.loads(line.decode("utf-8"), parse_constant=pytest.fail)
    assert (told["at"], told["kind"], told["commit"]) == (7, found.kind, 3)
    assert lines.is_good(line, lines.seed_of("日本"))
    head = present(lines.head_of(line))
    assert (head.at, head.commit, lines.record_of(line, head)) == (7, 3, found)


def test_body_is_nested_json_if_possible_else_text():
    forms = {
        b'{"a": [1, 2]}': b"body", '{"a":"é日"}'.encode(): b"body", rb'"\ud800"': b"body", b"": b"text",
        b"plain": b"text",
        b'{\n"a":1}': b"text", b'{"a":NaN}': b"text", '"\ud800"'.encode("utf-8", "surrogatepass"): b"text",
        b"\xff": b"base64", '"\ud83d\ude00"'.encode("utf-8", "surrogatepass"): b"base64",
    }  # fmt: skip
    assert {body: lines.form_of(Record("k", None, body, 1)).name for body in forms} == forms


@pytest.mark.parametrize(
    "bad",
    [
        Record("k", 2**63, b"", 1),
        Record("k", 0, b"", 2**63),
        Record("\ud800", 0, b"", 1),
        Record("k", 0, b"", 1, "\udfff"),
    ],
)
def test_what_no_line_can_hold_is_refused_at_once(tmp_path, bad):
    store = JsonlStore(tmp_path / "a")
    with pytest.raises(ConfigurationError, match=r"64 bits|Unicode|UTF-8"):
        store.append("a", 0, [bad])
    assert list(tmp_path.iterdir()) == []


# -- files --


def test_first_write_creates_private_files_and_none_before(tmp_path):
    """Nothing is touched before the first write, and only the owner may read what it creates."""
    before = os.umask(0)
    try:
        store = JsonlStore(tmp_path / "a")
        assert (store.sessions(), store.length("a"), list(store.read("a")), list(store.verify())) == ([], 0, [], [])
        store.append("a", 0, []).result()
        store.delete("a")
        with pytest.raises(ConflictError):
            store.append("a", 5, [record("a", 5)]).result()
        assert list(tmp_path.iterdir()) == []
        appended(store, "a", 1)
    finally:
        os.umask(before)
    assert oct((tmp_path / "a").stat().st_mode & 0o777) == "0o700"
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "a").iterdir()} == {"0o600"}
    store.close()


@pytest.mark.parametrize("path", ["", "a\0b", b"bytes"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ConfigurationError, match="is not a folder"):
        JsonlStore(path)


def test_durability_is_full_or_normal(tmp_path):
    with pytest.raises(ConfigurationError, match="full, normal"):
        JsonlStore(tmp_path, "off")


@pytest.mark.parametrize(
    ("name", "what"), [("missing/a", "folder above"), ("file", "choose another path"), ("file/a", "another")]
)
def test_a_place_that_cannot_be_used_is_named_with_what_to_do(tmp_path, name, what):
    (tmp_path / "file").write_bytes(b"")
    store = JsonlStore(tmp_path / name)
    with pytest.raises(StoreUnavailableError, match=rf"{re.escape(store.path)}.*{what}"):
        appended(store, "a", 1)
    store.close()


def test_a_large_append_is_read_in_parts(tmp_path):
    store = JsonlStore(tmp_path / "a", "normal")
    store.append("a", 0, [Record("k", None, b"x" * (BATCH_BYTES // 4), 1)] * 11).result()
    store.append("b", 0, [Record("k", at, b"%d" % at, 1) for at in range(BATCH * 3)]).result()
    assert [len(stored.record.body) for stored in store.read("a")] == [BATCH_BYTES // 4] * 11
    assert [stored.record.body for stored in store.read("b", 400, 1_200)] == [b"%d" % at for at in range(400, 1_200)]
    store.close()


def test_index_of_a_file_takes_few_bytes_per_record(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 9)
    assert store.length("a") == 9
    content = file_of(store, "a").read_bytes()
    file_of(store, "a").write_bytes(content.replace(b'"at":3,', b'"at":9,'))  # what was read is not read again
    appended(store, "a", 3, first=9)
    assert store.length("a") == 12
    with pytest.raises(CorruptionError, match="position 3 "):
        list(store.read("a"))
    index, number = Index("a"), 50_000
    forms = [lines.form_of(Record("message", at, b"{}", 1)) for at in range(number)]
    start = 0
    for line in lines.record_lines("a", 0, forms, 1):
        index.feed(start, line[:-1])
        start += len(line)
    assert index.end == number
    held = [value for value in vars(index).values() if hasattr(value, "itemsize")]
    assert sum(each.buffer_info()[1] * each.itemsize for each in held) == 24 * number
    assert max(len(value) for value in vars(index).values() if isinstance(value, list | dict)) == 0
    store.close()


# -- locks --


def test_long_lock_is_unavailable_then_available_again(tmp_path):
    store = JsonlStore(tmp_path / "a", timeout=0.1)
    appended(store, "a", 2)
    with file_of(store, "a").open("rb+") as other, locked(other.fileno(), "", 1):
        with pytest.raises(StoreUnavailableError, match=r"locked .*`timeout`"):
            appended(store, "a", 1, first=2)
        assert store.length("a") == 2, "reading waits for nobody"
        appended(store, "b", 1)
    appended(store, "a", 1, first=2)
    assert not differs(store, "a")
    store.close()


def test_many_writers_begin_sessions_of_a_new_folder_at_once(tmp_path):
    for number in range(8):
        stores = [JsonlStore(tmp_path / f"{number}") for _ in range(8)]
        begun = dict(zip((f"s{n}" for n in range(8)), stores, strict=True))

        def begin(name, begun=begun):
            appended(begun[name], name, 2)
            appended(begun[name], "shared", 2)

        errors = at_once(begin, list(begun))
        assert [type(error) for error in errors] == [ConflictError] * 7
        assert sorted(stores[0].sessions()) == [*begun, "shared"]
        assert list(stores[0].verify()) == []
        for store in stores:
            store.close()


class BegunMeanwhile(CommitCounter):
    """The counter of a session that another process begins just before it is read."""

    def read(self):
        folder = Path(self.path).parent
        if not list(folder.glob("*.jsonl")):
            other = JsonlStore(folder)
            appended(other, "s", 2)
            other.close()
        return super().read()


def test_session_that_begins_between_two_looks_is_whole(tmp_path):
    log = LogFile(str(tmp_path / file_name("s")), "s")
    log.guard = BegunMeanwhile(log.path)
    assert log.refresh().commits == 1


def test_sessions_are_listed_in_the_order_of_their_beginning(tmp_path):
    """Also behind those of an earlier version, which counted them."""
    shutil.copytree(GOLDEN, tmp_path / "a")
    before = ["plain", "../'; --", "fork of plain"]
    for number, name in enumerate("zyxw"):
        store = JsonlStore(tmp_path / "a")
        appended(store, name, 1)
        assert store.sessions() == [*before, *"zyxw"[: number + 1]]
        store.close()


def test_an_append_that_is_cancelled_in_time_is_not_made(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 1)
    with file_of(store, "a").open("rb+") as other, locked(other.fileno(), "", 1):
        held = store.append("a", 1, [record("a", 1)])
        while not held.running():
            time.sleep(0.001)
        queued = store.append("a", 2, [record("a", 2)])
        assert (held.cancel(), queued.cancel()) == (False, True)
    held.result()
    store.close()
    assert store.length("a") == 2


def test_appends_that_wait_together_are_written_together(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 1)
    with file_of(store, "a").open("rb+") as other, locked(other.fileno(), "", 1):
        held = store.append("a", 1, [record("a", 1)])
        while not held.running():
            time.sleep(0.001)
        pending = [store.append("a", at, [record("a", at)]) for at in range(2, 300)]
        wrong = store.append("a", 7, [record("a", 7)])
    for each in pending:
        each.result()
    assert isinstance(wrong.exception(), ConflictError)
    content = file_of(store, "a").read_bytes()
    assert content.count(b'"commit":') == 300, "each can be told apart"
    assert not differs(store, "a")
    store.close()


# -- forks of an earlier version --


def forked(store, session, new, at):
    """What an earlier version wrote for a fork: a first line that names its parent."""
    parent = json.loads(file_of(store, session).read_bytes().splitlines()[0])
    header = lines.Header(new, parent["begun"] + 1, "0123456789abcdef", session, parent["id"], at, 1)
    file_of(store, new).write_bytes(lines.header_line(header))
    guard = CommitCounter(str(file_of(store, new)))
    guard.raise_to(1)
    guard.close()


def test_forks_leases_and_repairs_are_refused_for_sqlite(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 2)
    assert store.capabilities == {"durable", "shared", "delete", "turn"}
    for action in (
        lambda: store.fork("a", "b", 1),
        lambda: store.lease("a", "me", 60),
        store.repair,
        lambda: ContextManager(store=store, session="a").fork("b"),
        lambda: ContextManager(store=store, session="a", lease=60),
    ):
        with pytest.raises(ConfigurationError, match=r'use SQLite[:,] store="sqlite:///agent\.db"'):
            action()
    assert (store.sessions(), list(store.verify())) == (["a"], [])
    store.close()


def test_a_fork_of_an_earlier_version_is_read_and_written(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 30)
    forked(store, "a", "b", 20)
    assert [stored.record for stored in store.read("b")] == [record("a", at) for at in range(20)]
    again = JsonlStore(tmp_path / "a")
    again.append("b", 20, [record("b", 20)]).result()
    assert (again.length("b"), store.length("b"), store.sessions()) == (21, 21, ["a", "b"])
    assert (store.find("b", seq=3), store.find("b", seq=20)) == (3, 20)
    assert list(store.verify()) == []
    store.close()
    again.close()


def test_forks_of_an_earlier_version_go_with_what_they_share(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 3)
    forked(store, "a", "b", 2)
    with pytest.raises(ConflictError, match=r"its forks \['b'\]: delete them first"):
        store.delete("a")
    store.delete("a", cascade=True)
    assert (store.sessions(), list((tmp_path / "a").iterdir())) == ([], [])
    store.close()


def test_a_fork_whose_past_is_gone_says_so_and_keeps_its_own(tmp_path):
    store = JsonlStore(tmp_path / "a")
    for replaced in (False, True):
        appended(store, "a", 9)
        forked(store, "a", "b", 6)
        store.append("b", 6, [record("b", 6)]).result()
        for more in ("", "-commits"):
            Path(f"{file_of(store, 'a')}{more}").unlink()
        if replaced:
            appended(store, "a", 9)
        with pytest.raises(CorruptionError, match=r"'b' shares its first 6 records with 'a', whose log .* restore"):
            list(JsonlStore(tmp_path / "a").read("b"))
        assert ["shares its first 6" in problem.what for problem in store.verify("b")] == [True]
        store.delete("b")
        store.delete("a")
    store.close()


def test_a_fork_does_not_care_for_what_its_parent_lost_behind_it(tmp_path):
    store = JsonlStore(tmp_path / "a")
    for at in range(9):
        store.append("a", at, [record("a", at)]).result()
    forked(store, "a", "b", 6)
    content = file_of(store, "a").read_bytes()
    file_of(store, "a").write_bytes(content[:-5])
    for each in (store, JsonlStore(tmp_path / "a")):
        with pytest.raises(CorruptionError, match="the last 1 are gone"):
            list(each.read("a"))
        assert [stored.record for stored in each.read("b")] == [record("a", at) for at in range(6)]
    store.close()


def test_damage_in_the_past_is_found_through_a_fork(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 9)
    forked(store, "a", "b", 6)
    held = file_of(store, "a").read_bytes().splitlines(keepends=True)
    file_of(store, "a").write_bytes(b"".join([*held[:4], held[4].replace(b'"at":3', b'"at":4'), *held[5:]]))
    again = JsonlStore(tmp_path / "a")
    with pytest.raises(CorruptionError, match=f"{file_name('a')}: line 5, .*position 3 "):
        list(again.read("b"))
    assert [(problem.session, problem.at) for problem in again.verify()] == [("a", 3)]
    store.close()


# -- erasing --


def test_what_was_erased_is_in_no_file(tmp_path):
    store = JsonlStore(tmp_path / "a")
    for name in ("SECRET", "kept"):
        store.append(
            name, 0, [Record("SECRET" if name == "SECRET" else "k", 0, b'"SECRET"' * (name == "SECRET"), 1)]
        ).result()
    store.delete("SECRET")
    assert b"SECRET" not in b"".join(path.read_bytes() for path in (tmp_path / "a").iterdir())
    assert not [path for path in (tmp_path / "a").iterdir() if "SECRET" in path.name]
    assert (store.sessions(), list(store.verify())) == (["kept"], [])
    store.close()


def test_interrupted_delete_leaves_the_session_or_nothing(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 3)
    Path(f"{file_of(store, 'a')}-commits").unlink()  # what goes first
    assert (store.sessions(), store.length("a"), list(store.verify())) == (["a"], 3, [])
    store.delete("a")
    appended(store, "a", 2)
    file_of(store, "a").unlink()
    store.delete("a")
    assert (store.sessions(), [path.name for path in (tmp_path / "a").iterdir()]) == ([], [])
    store.close()


def test_reader_of_a_deleted_session_gets_an_error(tmp_path):
    store, other = JsonlStore(tmp_path / "a", "normal"), JsonlStore(tmp_path / "a", "normal")
    for eraser in (store, other):
        for begins_again in (False, True):
            store.append("a", store.length("a"), [Record("k", None, b"", 1)] * (BATCH + 1)).result()
            reading = store.read("a")
            next(reading)
            eraser.delete("a")
            if begins_again:
                eraser.append("a", 0, [Record("k", None, b"", 1)] * (BATCH + 1)).result()
            with pytest.raises(ConflictError, match="deleted while it was read"):
                list(reading)
            store.delete("a")
    store.close()
    other.close()


def test_delete_waits_for_unreadable_files_that_may_be_forks(tmp_path):
    """Nothing is deleted while a file that may be its fork cannot be read."""
    store = JsonlStore(tmp_path / "a")
    for name in ("a", "b", "c"):
        appended(store, name, 2)
    content = file_of(store, "b").read_bytes()
    file_of(store, "b").write_bytes(content.replace(b'"session"', b'"Session"'))
    with pytest.raises(CorruptionError, match="may be a fork of what is to be deleted"):
        store.delete("a")
    store.delete("b")
    store.delete("a")
    assert store.sessions() == ["c"]
    store.close()


# -- for ever --


def test_a_folder_of_version_1_opens_for_ever(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "a")
    store = JsonlStore(tmp_path / "a")
    assert store.sessions() == ["plain", "../'; --", "fork of plain"]
    assert {problem.harmless for problem in store.verify()} == {True}
    odd = [stored.record for stored in store.read("../'; --")]
    assert odd == [
        Record("plan", None, b'{"nested": ["json", 1.50, "\xc3\xa9"]}', 1, "a key"),
        Record("k", 2**53 + 1, "lone \ud800".encode("utf-8", "surrogatepass"), 7),
        Record("k", None, bytes(range(256)), 1),
    ]
    assert [stored.record for stored in store.read("fork of plain")] == [
        *(record("plain", at, 90) for at in range(8)),
        record("fork", 8, 90),
    ]
    store.append("plain", 12, [record("plain", 12, 90)]).result()
    assert not differs(store, "plain", 90)
    store.close()


def test_a_later_version_is_refused_and_left_alone(tmp_path):
    store = JsonlStore(tmp_path / "a")
    appended(store, "a", 1)
    path = file_of(store, "a")
    header, rest = path.read_bytes().split(b"\n", 1)
    begun = header[: -lines.SEAL].replace(b'"backscroll":1', b'"backscroll":2')
    path.write_bytes(lines.sealed(begun, 0) + rest)
    before = path.read_bytes()
    for action in (
        lambda: store.length("a"),
        lambda: appended(store, "a", 1, 1),
        store.sessions,
        lambda: list(store.verify()),
    ):
        with pytest.raises(StoreUnavailableError, match=rf"{re.escape(str(path))}: .*version 2, .* upgrade"):
            action()
    assert path.read_bytes() == before
    store.close()


def test_folder_that_was_removed_is_named_and_no_conflict(tmp_path):
    """A folder that goes while a manager writes is a store that is gone, until it is back or the store is closed."""
    store = JsonlStore(tmp_path / "a")
    context = ContextManager(session="s", store=store, tokenizer=len)
    context.append({"role": "user", "content": "begin"})
    (tmp_path / "a").rename(tmp_path / "b")
    for action in (
        lambda: context.append({"role": "user", "content": "lost"}),
        context.get_messages,
        lambda: store.append("new", 0, [Record("k", None, b"", 1)]).result(),
        lambda: store.delete("s"),
        store.sessions,
    ):
        with pytest.raises(StoreUnavailableError, match="the folder was deleted, moved or unmounted"):
            action()
    assert not (tmp_path / "a").exists()
    (tmp_path / "b").rename(tmp_path / "a")
    assert context.append({"role": "user", "content": "back"}) == 1
    assert len(context.get_messages()) == 2
    store.close()
    (tmp_path / "a").rename(tmp_path / "b")
    assert store.length("s") == 0
