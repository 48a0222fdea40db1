"""The index in PostgreSQL: what it finds, in which order, and who else finds it."""

import random
import threading
from contextlib import closing

import pytest

from backscroll import ConflictError, ContextManager, StoreUnavailableError
from backscroll.recall.pages import SearchHit
from backscroll.recall.passages import passages
from backscroll.recall.retrieval import Source
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.search.index import SearchIndex
from backscroll.stores.search.postgres import PostgresSearch
from tests.stores.programs import record


@pytest.fixture
def store(postgres):
    made = PostgresStore(postgres())
    yield made
    made.close()


def index(store, session="a"):
    """Of a session that has begun."""
    if store.length(session) == 0:
        store.append(session, 0, [record(session, 0)]).result()
    return PostgresSearch(store.server, session)


def sources(*texts, first=0):
    return [Source(seq, 0, "", text) for seq, text in enumerate(texts, first)]


def found(search, query, most=50):
    return [hit.seq for hit in search.search(query, most)]


def test_what_was_indexed_is_found_verbatim_at_its_place(store):
    search, text = index(store), "x = 1\n\n" * 700 + "the needle\n"
    assert (search.indexed, search.search("needle", 5)) == (0, [])
    search.add([Source(3, 1, "read_file a.py", text)], 4)
    assert search.indexed == 4
    (hit,) = search.search("needle", 5)
    assert (hit.seq, hit.part) == (3, 1)
    assert text[hit.offset :] == hit.text
    assert len(search.search("read_file", 99)) == len(list(passages(text))) > 1
    assert search.search("", 5) == search.search("?! --", 5) == search.search("absent", 5) == []


@pytest.mark.parametrize("query", ["getUserId", "get_user_id", "user id", "GETUSERID or USER"])
@pytest.mark.parametrize("text", ["def get_user_id():", "const getUserId = 1"])
def test_name_is_found_whole_or_in_parts_in_any_spelling(store, query, text):
    """A name is found whole and by its parts in either spelling."""
    search = index(store)
    search.add(sources("nothing of it", text), 2)
    assert found(search, query) == [1]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Crème brûlée", "creme BRULEE"),
        ("STRASSE", "straße"),
        ("日本語のテキスト", "本語"),
        ("Ελλάδα", "ελλαδα"),
        ("<port>0x1F</port>", "0x1f"),
        ("https://example.com/a?b=c", "example.com"),
        ("a\0b \ud800 c", "b"),
        ("it's 'quoted' \\ & | ! : * <-> (1.5e3)", "quoted"),
        ("it's 'quoted' \\ & | ! : * <-> (1.5e3)", "'quoted' & !nothing | ("),
        ("word" * 190, "word" * 190),
        ("e\u0301", "é"),
    ],
)
def test_any_text_is_indexed_and_any_query_is_one(store, text, query):
    search = index(store)
    search.add(sources(text), 1)
    assert search.search(query, 5) == [SearchHit(0, 0, 0, text)]


def test_a_path_is_found_as_a_whole_before_its_words(store):
    search = index(store)
    search.add(sources("py main app", "app/main.py"), 2)
    assert found(search, "/other/place/app/main.py") == [1, 0]


def test_no_phrase_begins_in_a_text_and_ends_in_what_it_is_about(store):
    search = index(store)
    search.add([Source(0, 0, "main.py", "src/app"), Source(1, 0, "", "src/app/main.py")], 2)
    assert found(search, "src/app/main.py") == [1, 0]


def test_rare_words_weigh_more_and_newer_passages_win_ties(store):
    """Rare words weigh more than common ones and newer passages come first among equals."""
    search = index(store)
    search.add(sources(*["the port is set"] * 20, "the quartz", *["the port is set"] * 20), 41)
    assert found(search, "the quartz port")[0] == 20
    assert found(search, "port", 3) == [40, 39, 38]


def test_the_order_is_about_that_of_the_index_in_memory(store):
    chance, words = random.Random(3), [f"w{number}" for number in range(400)]
    weights = [1 / (number + 1) for number in range(400)]
    texts = sources(*(" ".join(chance.choices(words, weights, k=60)) for _ in range(300)))
    search, memory = index(store), SearchIndex()
    search.add(texts, 300)
    memory.add(texts, 300)
    for _ in range(20):
        query = " ".join(chance.choices(words, k=3))
        assert sorted(found(search, query, 999)) == sorted(found(memory, query, 999))
        wanted = set(found(memory, query, 10))
        assert len(wanted & set(found(search, query, 20))) >= len(wanted) * 0.6


def test_others_find_it_and_index_it_no_second_time(store, postgres):
    one, other = index(store), PostgresSearch(PostgresStore(postgres()).server, "a")
    one.add(sources("one word", "another word"), 2)
    assert (other.indexed, found(other, "word")) == (2, [1, 0])
    other.add(sources("one word", "another word", "third word"), 3)  # it had looked before the first one was done
    assert (one.indexed, found(one, "word")) == (3, [2, 1, 0])
    one.add(sources("a word"), 1)
    assert (one.indexed, found(one, "word")) == (3, [2, 1, 0])


def test_threads_that_index_at_once_index_everything_once(store):
    search, errors = index(store), []

    def add():
        try:
            for upto in range(1, 21):
                search.add(sources(*["word"] * upto), upto)
        except Exception as error:
            errors.append(error)

    adding = [threading.Thread(target=add) for _ in range(4)]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    assert errors == []
    assert (search.indexed, found(search, "word")) == (20, list(range(19, -1, -1)))


def test_sessions_are_searched_apart_and_erased_with_their_index(store):
    """Each session finds its own and erasing it deletes its index."""
    one, other = index(store, "a"), index(store, "b")
    one.add(sources("a word"), 1)
    other.add(sources("no such thing", "a word"), 2)
    assert (found(one, "word"), found(other, "word")) == ([0], [1])
    store.delete("a")
    assert (one.indexed, found(one, "word"), found(other, "word")) == (0, [], [1])
    with pytest.raises(ConflictError, match="has not begun, or was deleted"):
        one.add(sources("a word"), 1)
    assert (index(store, "a").indexed, found(one, "word")) == (0, [])
    count = f"select count(*) from {store.address.schema}.passage"
    assert store.server.run(lambda connection: connection.execute(count.encode()).fetchone()) == (2,)


def test_indexing_in_steps_never_splits_a_message(store):
    """Many texts are indexed in several steps none of which is half a message."""

    def texts():
        for seq in range(1_500):
            yield Source(seq, 0, "", "common line")
            yield Source(seq, 1, "", "common end")
        raise RuntimeError

    search = index(store)
    with pytest.raises(RuntimeError):
        search.add(texts(), 1_500)
    assert search.indexed == 1_000
    assert sorted(found(search, "common", 9_999)) == sorted([*range(1_000)] * 2)
    search.add(sources("common start", first=1_000), 1_001)
    assert (search.indexed, found(search, "start")) == (1_001, [1_000])


def test_unreachable_server_is_reported():
    search = PostgresSearch(PostgresStore("postgresql://user@127.0.0.1:1/database").server, "a")
    for action in (lambda: search.indexed, lambda: search.search("word", 1), lambda: search.add(sources("x"), 1)):
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            action()


def test_a_manager_searches_with_what_its_store_has_indexed(postgres):
    address = postgres()
    with closing(ContextManager(session="s", store=address, tokenizer=len)) as manager:
        manager.append({"role": "user", "content": "the port is 5433"}, {"role": "assistant", "content": "noted"})
        assert manager.recall(query="port").hits[0].seq == 0
    with closing(ContextManager(session="s", store=address, tokenizer=len)) as again:
        assert again._begin_recalling().index.indexed == 2
        assert again.recall(query="port").hits[0].text == "the port is 5433"
