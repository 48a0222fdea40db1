"""Files of stores that were cut short or altered: what is not as it was written is noticed, never handed out."""

import pytest

from backscroll import CorruptionError
from backscroll.stores.jsonl.folder import file_name
from tests.long_run import usually
from tests.stores.damaging import LARGEST, everything, flips, noticed
from tests.stores.programs import record
from tests.stores.running import FAULTS, TORN

ONE = file_name("one")


@pytest.fixture
def files(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("files", usually(["sqlite_left", "jsonl_left", "sqlite_closed"], 2), indirect=True)
def test_a_copy_of_what_was_left_is_whole(files, tmp_path):
    store = files.lay(tmp_path / "a")
    assert everything(store, files.ends)
    assert list(store.verify()) == []
    store.close()


@pytest.mark.parametrize(
    ("files", "part", "commits"), [("sqlite_left", "a.db-wal", 141), ("jsonl_left", ONE, 16)], indirect=["files"]
)
def test_file_cut_at_its_end_names_one_lost_commit(files, tmp_path, part, commits):
    """A file without its last bytes says that one commit is gone, and keeps the others."""
    end = files.ends["one"] - 1
    why = rf"{commits} commits were acknowledged.* holds {commits - 1}: the last 1 are gone"
    for missing in TORN:
        torn = files.parts[part][:-missing]
        store = files.lay(tmp_path / "a", part, torn)
        for _ in range(2):  # looking changes nothing
            with pytest.raises(CorruptionError, match=why):
                store.length("one")
            assert len(list(store.verify())) == 1
        with pytest.raises(CorruptionError, match=why):
            store.append("one", end, [record("one", end, LARGEST)]).result()
        assert (tmp_path / "a" / part).read_bytes() == torn
        assert store.accept_loss() == 1
        assert everything(store, files.ends | {"one": end})
        store.append("one", end, [record("one", end, LARGEST)]).result()
        assert everything(store, files.ends)
        assert all(problem.harmless for problem in store.verify())
        store.close()


@pytest.mark.parametrize(
    ("files", "part", "commits", "kept"),
    [("sqlite_closed", "a.db", 142, {}), ("jsonl_left", ONE, 16, {"two": 9, "three": 5})],
    indirect=["files"],
)
def test_missing_file_is_reported_and_not_taken_for_a_new_one(files, tmp_path, part, commits, kept):
    for content in (None, b""):
        store = files.lay(tmp_path / "a", part, content)
        with pytest.raises(CorruptionError, match=f"{commits} commits were acknowledged,? and the "):
            store.sessions()
        with pytest.raises(CorruptionError, match=f"{commits} commits were acknowledged, and the .* holds 0"):
            store.append("one", 0, [record("one", 0, LARGEST)]).result()
        assert [f"{commits} commits" in problem.what for problem in store.verify()] == [True]
        assert store.accept_loss() == commits
        assert everything(store, kept)
        store.append("one", 0, [record("one", 0, LARGEST)]).result()
        assert everything(store, kept | {"one": 1})
        store.close()


@pytest.mark.parametrize("files", usually(["sqlite_left", "jsonl_left", "sqlite_closed"], 2), indirect=True)
def test_no_altered_byte_is_handed_out(files, tmp_path):
    """More than half of the altered bytes are noticed, the others are harmless, and none is silent."""
    told, tried, size = 0, 0, sum(map(len, files.parts.values()))
    for part, content in files.parts.items():
        for altered, place in flips(content, max(8, (FAULTS or 200) * len(content) // size), part):
            store = files.lay(tmp_path / "a", part, altered)
            tried += 1
            try:
                told += noticed(store, files.ends)
            except AssertionError as error:
                error.add_note(f"byte {place} of {part}")
                raise
            finally:
                store.close()
    print(f"{told} of {tried} noticed")
    assert told > tried / 2
