"""Search over stores: the same answers from every index, wherever it is kept, and what happens to one on a disk."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ConflictError, ContextManager, StoreUnavailableError
from backscroll.messages.statements import search_words
from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source
from backscroll.stores.memory import MemoryStore
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.search import search_everywhere, search_for
from backscroll.stores.search.catch_up import catch_up
from backscroll.stores.search.index import SearchIndex
from backscroll.stores.search.passages import BATCH, batches
from backscroll.stores.search.sqlite import SqliteSearch
from backscroll.stores.sqlite import SqliteStore
from tests.long_run import usually
from tests.present import present
from tests.profiles import examples
from tests.stores.running import ROOT

WORDS = ["port", "server", "get_user_id", "getUserId", "app/main.py", "数据库", "naïve", "\ud83d", "a b", "x" * 900]
SOME = [f"message {number}: the {number % 7}th server has port {8_000 + number}" for number in range(40)]


def told(store, texts, session="s"):
    """The session says these texts, as messages of a user."""
    manager = ContextManager(session=session, store=store, tokenizer=len)
    manager.append(*({"role": "user", "content": text} for text in texts))
    manager.close()


def caught_up(store, session="s"):
    search = search_for(store, session)
    catch_up(store, session, search)
    return search


def answers(search):
    return [search.search(query, 50) for query in ("port", "the 3th server", "8007 or 8013", "nothing")]


def source(seq, text):
    """A message of the user, with the words that find it, as a session indexes it."""
    return Source(seq, 0, search_words(text), text)


def expected(texts):
    index = SearchIndex()
    index.add([source(seq, text) for seq, text in enumerate(texts)], len(texts))
    return answers(index)


def files(store):
    folder = f"{store.path}-search"
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def passages_in(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("select count(*) from shown").fetchone()[0]
    connection.close()
    return found


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(tmp_path / "a.db")
    yield made
    made.close()


# -- the same answers from every index --

TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@settings(max_examples=examples(25))
@given(
    st.lists(st.tuples(TEXT, TEXT), max_size=25),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.integers(1, 9),
    st.data(),
)
def test_every_index_answers_the_same(tmp_path_factory, texts, query, most, data):
    store = SqliteStore(tmp_path_factory.mktemp("same") / "a.db")
    told(store, [text for text, _ in texts])
    whole, spilled, kept = SearchIndex(memory=None), SearchIndex(memory=100_000), SqliteSearch(store, "s")
    sources = [Source(seq, 0, about, text) for seq, (text, about) in enumerate(texts)]
    whole.add(sources, len(sources))
    at = 0
    while at < len(sources):  # in pieces, and by objects that know nothing of each other
        behind = at + data.draw(st.integers(1, 10))
        for index in (spilled, kept):
            index.add(sources[at:behind], min(behind, len(sources)))
        at, kept = behind, SqliteSearch(store, "s")
    hits = whole.search(query, most)
    assert spilled.search(query, most) == kept.search(query, most) == hits
    assert kept.indexed == len(sources)
    store.close()


def test_what_is_found_in_a_store_is_what_recall_finds(store):
    told(store, SOME)
    manager = ContextManager(session="s", store=store, tokenizer=len)
    read = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "mail.ini"}'}}
    manager.append(
        {"role": "assistant", "content": None, "tool_calls": [read]},
        {"role": "tool", "tool_call_id": "c", "content": "host=10.0.0.7"},
    )
    found = manager.recall(query="mail").hits
    assert {hit.seq for hit in found} == {40, 41}
    manager.close()
    other = MemoryStore()
    other.append("s", 0, [stored.record for stored in store.read("s")])
    assert sorted(caught_up(other).search("mail", 9)) == sorted(found)
    assert answers(caught_up(other)) == answers(search_for(store, "s"))


def test_a_large_index_goes_to_a_file_of_which_there_is_no_name():
    small, large = SearchIndex(memory=None), SearchIndex(memory=100_000)
    chance = random.Random(1)
    texts = [Source(n, 0, "", " ".join(chance.choices(SOME, k=9))) for n in range(1_500)]
    small.add(texts, len(texts))
    large.add(iter(texts), len(texts))
    assert answers(large) == answers(small)
    if os.path.isdir("/proc/self/fd"):
        assert any("etilqs" in name and "deleted" in name for name in open_files())
        large.close()
        assert not any("etilqs" in name for name in open_files())


def open_files():
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the one that lists them
            continue
    return found


def test_a_batch_fits_the_memory_and_never_ends_within_a_message():
    texts = [Source(seq, part, "", "x" * (BATCH // 4)) for seq in range(4) for part in range(5)]
    found = list(batches(texts, 4))
    assert [source for batch, _ in found for source in batch] == texts
    assert [behind for _, behind in found] == [1, 2, 3, 4]
    assert list(batches([], 7)) == [([], 7)]


# -- on a disk --


def test_an_index_survives_and_only_what_is_new_is_added(store):
    told(store, SOME[:30])
    assert not os.path.exists(f"{store.path}-search")
    first = caught_up(store)
    assert first.indexed == 30
    told(store, SOME[30:])
    (path,) = files(store)
    assert passages_in(path) == 30
    second = SqliteSearch(store, "s")
    assert second.indexed == 30
    second.add([source(seq, SOME[seq]) for seq in range(25, 40)], 40)  # what is there is not added again
    assert passages_in(path) == 40
    assert answers(first) == answers(second) == expected(SOME)


def test_index_is_private_and_keeps_no_file_open(store):
    told(store, SOME)
    before = os.umask(0)
    try:
        caught_up(store)
    finally:
        os.umask(before)
    (path,) = files(store)
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"
    assert oct(os.stat(os.path.dirname(path)).st_mode & 0o777) == "0o700"


def test_a_session_uses_its_index_again_after_a_restart(store):
    told(store, SOME)
    manager = ContextManager(session="s", store=store, tokenizer=len)
    found = manager.recall(query="server port").hits
    manager.close()
    assert SqliteSearch(store, "s").indexed == 40
    again = ContextManager(session="s", store=store, tokenizer=len)
    assert again.recall(query="server port").hits == found
    again.close()
    assert passages_in(files(store)[0]) == 40


@pytest.mark.parametrize("kept_open", [False, True])
def test_deleted_session_leaves_no_trace_in_the_index(tmp_path, store, kept_open):
    """What was deleted is in no file and a new session of that name does not find it."""
    told(store, [f"the secret word is swordfish, says {number}" for number in range(50)])
    told(store, ["another one"], "other")
    other = caught_up(store, "other")
    old = caught_up(store)
    assert old.search("swordfish", 1)
    reader = sqlite3.connect(files(store)[0], isolation_level=None)
    if kept_open:
        reader.execute("begin")
        reader.execute("select * from shown").fetchone()
    store.delete("s")
    for folder, _, names in os.walk(tmp_path):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"swordfish" not in file.read(), name
    reader.close()
    assert other.search("another", 1) == [SearchHit(0, 0, 0, "another one")]
    told(store, ["nothing of that"])
    with pytest.raises(ConflictError, match="'s' was deleted"):  # by somebody who has never searched before
        SqliteSearch(store, "s").add([Source(0, 0, "", "the secret word is swordfish, says 0")], 1)
    for action in (lambda: old.indexed, lambda: old.search("swordfish", 1), lambda: old.add([Source(1, 0, "", "")], 2)):
        with pytest.raises(ConflictError, match="'s' was deleted"):
            action()
    new = caught_up(store)
    assert new.search("swordfish", 1) == []
    assert new.search("nothing", 1) == [SearchHit(0, 0, 0, "nothing of that")]
    old.close()
    assert old.search("nothing", 1) == new.search("nothing", 1)


def test_what_is_erased_while_it_is_indexed_leaves_nothing(store):
    said = ["x" * BATCH, "swordfish", "y" * BATCH]
    told(store, said)
    search = SqliteSearch(store, "s")

    def texts():
        yield from (Source(seq, 0, "", text) for seq, text in enumerate(said[:2]))
        store.delete("s")
        yield Source(2, 0, "", said[2])

    with pytest.raises(ConflictError, match="was deleted"):
        search.add(texts(), 3)
    assert files(store) == []


def damage(path, how, chance):
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        if how == "garbage":
            file.write(b"no database at all" * 99)
        elif how == "cut":
            file.truncate(size // 2)
        elif how == "empty":
            file.truncate(0)
        else:
            for _ in range(20):
                file.seek(chance.randrange(size))
                file.write(chance.randbytes(1))


@pytest.mark.parametrize("how", ["garbage", "cut"])
def test_damaged_index_is_rebuilt_with_a_warning(store, how):
    told(store, SOME)
    search = caught_up(store)
    (path,) = files(store)
    damage(path, how, None)
    with pytest.warns(RuntimeWarning, match=r"a.db-search.1-0 is built again because "):
        assert answers(search) == expected(SOME)
    assert files(store) == [path.removesuffix("-0") + "-1"]
    assert answers(caught_up(store)) == expected(SOME)


@pytest.mark.filterwarnings("ignore:the search index:RuntimeWarning")
@pytest.mark.parametrize("seed", usually(range(30), 8))
def test_bytes_that_flip_never_alter_what_is_shown(store, seed):
    told(store, SOME)
    caught_up(store)
    damage(files(store)[0], "flip", random.Random(seed))
    search = caught_up(store)
    assert search.indexed == 40
    for hits, wanted in zip(answers(search), expected(SOME), strict=True):
        assert set(hits) <= set(wanted)


@pytest.mark.parametrize("change", ["pragma user_version = 99", "pragma application_id = 7"])
def test_index_of_another_version_is_rebuilt_with_a_warning(store, change):
    """An index of another version or program is made again with a warning."""
    told(store, SOME)
    caught_up(store)
    with sqlite3.connect(files(store)[0]) as connection:
        connection.execute(change)
    connection.close()
    with pytest.warns(RuntimeWarning, match="it has another version, or belongs to another program"):
        assert answers(caught_up(store)) == expected(SOME)


def test_a_file_that_was_never_filled_is_filled(store):
    told(store, SOME)
    caught_up(store)
    damage(files(store)[0], "empty", None)
    assert answers(caught_up(store)) == expected(SOME)


def test_index_of_another_past_is_rebuilt(tmp_path, store):
    told(store, SOME[:20])
    store.close()
    backup = (tmp_path / "a.db").read_bytes(), (tmp_path / "a.db-commits").read_bytes()
    told(store, ["what comes then"] * 20)
    caught_up(store)
    store.close()
    for name, content in zip(("a.db", "a.db-commits"), backup, strict=True):
        (tmp_path / name).write_bytes(content)
    again = SqliteStore(tmp_path / "a.db")
    told(again, SOME[20:])
    with pytest.warns(RuntimeWarning, match="it does not match the store"):
        found = caught_up(again)
    assert answers(found) == expected(SOME)
    again.close()


def test_reader_of_a_removed_index_fills_the_gap(store):
    told(store, SOME)
    search = SqliteSearch(store, "s")
    search.add([Source(seq, 0, "", SOME[seq]) for seq in range(30)], 30)
    assert search.indexed == 30
    for path in files(store):
        os.remove(path)
    search.add([Source(seq, 0, "", SOME[seq]) for seq in range(30, 40)], 40)
    assert answers(search) == expected(SOME)


def test_where_no_index_can_be_kept_there_is_one_in_memory(tmp_path, store):
    (tmp_path / "a.db-search").write_bytes(b"")
    told(store, SOME)
    search = SqliteSearch(store, "s")
    with pytest.warns(
        RuntimeWarning, match="of session 's' is built in memory, for each process again, because .*a.db-"
    ):
        catch_up(store, "s", search)
    assert answers(search) == expected(SOME)
    search.close()
    (tmp_path / "a.db-search").unlink()
    catch_up(store, "s", search)
    assert (answers(search), len(files(store))) == (expected(SOME), 1)


# -- at once --

WORKER = """
import sys
from backscroll.stores.search.catch_up import catch_up
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.search import search_for
from backscroll.stores.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for session in ("s", "other"):
    search = search_for(store, session)
    catch_up(store, session, search)
    print(len(search.search("message", 1_000)))
store.close()
"""


def test_processes_that_index_at_once_index_each_message_once(store):
    texts = SOME * 20
    told(store, texts)
    told(store, SOME, "other")
    line = [sys.executable, "-W", "error", "-c", WORKER, store.path]
    workers: list[Any] = [
        subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for worker in workers:
        worker.stdout.readline()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    assert [worker.communicate(timeout=120)[0].split() for worker in workers] == [["800", "40"]] * 4
    kept = [path for path in files(store) if not path.endswith(("-wal", "-shm"))]  # two may end at once
    assert sorted(passages_in(path) for path in kept) == [40, 800]
    assert answers(search_for(store, "s")) == expected(texts)


def test_threads_that_index_at_once_index_each_message_once(store):
    told(store, SOME)
    shared, found = SqliteSearch(store, "s"), []

    def work(search):
        catch_up(store, "s", search)
        found.append(answers(search))

    threads = [threading.Thread(target=work, args=(shared if n % 2 else SqliteSearch(store, "s"),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected(SOME)] * 8
    assert passages_in(files(store)[0]) == 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_searches_by_itself(store):
    told(store, SOME)
    kept, own = caught_up(store), SearchIndex(memory=100_000)
    catch_up(store, "s", own)
    child = os.fork()
    if child == 0:
        good = answers(kept) == expected(SOME) and own.indexed == 0
        catch_up(store, "s", own)
        good = good and answers(own) == expected(SOME)
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answers(kept) == answers(own) == expected(SOME)


# -- several sessions --


def stores(kind, tmp_path, request):
    if kind == "postgres":
        return PostgresStore(request.getfixturevalue("postgres")())
    return MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "a.db")


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_search_covers_all_sessions_and_shared_passages_once(tmp_path, request, kind):
    """Everything is searched at once and a shared passage is given once."""
    store = stores(kind, tmp_path, request)
    for number in range(12):
        told(store, [*SOME[:5], f"alpha of session {number}" + " alpha" * (number == 7)], f"s{number}")
    told(store, ["only here: beta"], "tiny")
    found = search_everywhere(store, "alpha", 5)
    assert found[0] == ("s7", SearchHit(5, 0, 0, "alpha of session 7 alpha"))
    assert [session for session, _ in found[1:]] == ["s11", "s10", "s9", "s8"]
    assert search_everywhere(store, "beta", 5) == [("tiny", SearchHit(0, 0, 0, "only here: beta"))]
    assert search_everywhere(store, "port 8004", 1) == [("s11", SearchHit(4, 0, 0, SOME[4]))]
    assert {session for session, _ in search_everywhere(store, "alpha", 9, ["s1", "s2", "unknown"])} == {"s1", "s2"}
    assert search_everywhere(store, "!?", 5) == []
    call = {"id": "c", "type": "function", "function": {"name": "gamma", "arguments": "{}"}}
    manager = ContextManager(session="tiny", store=store, tokenizer=len)
    manager.append(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    )
    manager.close()
    assert ("tiny", SearchHit(2, 0, 0, "42")) in search_everywhere(store, "gamma", 5)  # by the call that it answers
    told(store, ["beta came later"], "s3")
    assert len(search_everywhere(store, "beta", 5)) == 2
    store.close()


def test_unreadable_session_is_skipped_with_a_warning(store):
    """A session that cannot be read is left out with a warning."""
    told(store, SOME, "good")
    told(store, SOME, "bad")
    with sqlite3.connect(store.path) as connection:
        connection.execute("update record set body = x'00' where seq = 7 and number >> 32 = 2")
    connection.close()
    with pytest.warns(RuntimeWarning, match="session 'bad' is not searched: .*position 7"):
        assert {session for session, _ in search_everywhere(store, "port", 99)} == {"good"}


def test_a_store_that_cannot_be_reached_is_no_empty_one(tmp_path):
    store = SqliteStore(tmp_path / "missing" / "a.db")
    with pytest.raises(StoreUnavailableError):
        search_everywhere(store, "port", 5)
    store.close()


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_a_fork_finds_what_it_shares_by_an_index_of_its_own(tmp_path, kind):
    store = MemoryStore() if kind is MemoryStore else SqliteStore(tmp_path / "a.db")
    told(store, SOME)
    caught_up(store)
    store.fork("s", "twin", present(store.find("s", seq=20))).result()
    told(store, SOME[20:30], "twin")
    assert answers(caught_up(store, "twin")) == expected(SOME[:30])
    assert answers(caught_up(store)) == expected(SOME)
    store.delete("s", cascade=True)
    assert kind is MemoryStore or files(store) == []
    store.close()
