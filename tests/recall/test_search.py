"""What a query brings first: what the view left out, each passage once, found by names, by their parts and by calls."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.recall.names import terms
from backscroll.recall.pages import SearchHit
from backscroll.recall.passages import PASSAGE, passages
from backscroll.recall.ranking import left_out_first
from backscroll.recall.retrieval import Source
from backscroll.stores.search.index import SearchIndex
from tests.builders import entry_of
from tests.fakes import count_quarter


def talk(*messages):
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])  # whole messages stay or go
    manager.append(*({"role": "user", "content": text} if isinstance(text, str) else text for text in messages))
    return manager


def read(path, content, number):
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": content},
    )


def found(manager, query):
    return [hit.seq for hit in manager.recall(query=query).hits]


def long_session():
    """Twelve files that all tell of the port; at a small budget the older ones leave the view."""
    manager = talk("where is the port set?")
    for number in range(12):
        manager.append(*read(f"f{number}.ini", f"port of server {number}\n" + f"filler {number} words\n" * 60, number))
    return manager


def test_left_out_messages_rank_before_visible_ones():
    """What the view left out comes before what the model has in front of it."""
    manager = long_session()
    before = found(manager, "port of server")
    text = json.dumps(manager.get_messages_for_request(token_budget=2_000))
    after = manager.recall(query="port of server").hits
    shown = [f"port of server {(hit.seq - 2) // 2}\\n" in text for hit in after if "port of server" in hit.text]
    assert set(shown) == {True, False}
    assert shown == sorted(shown)
    assert set(before) == {hit.seq for hit in after}


def test_the_view_that_counts_is_the_one_handed_out_last():
    manager = long_session()
    manager.get_messages_for_request(token_budget=100_000, lane="large")
    large = found(manager, "port of server")
    manager.get_messages_for_request(token_budget=2_000)
    assert found(manager, "port of server") != large
    manager.get_messages_for_request(token_budget=100_000, lane="large")
    assert found(manager, "port of server") == large


def test_reread_file_is_found_once_in_its_newest_form():
    """A file that was read again is answered once and as it stood last."""
    manager = talk(*read("a.py", "the retry limit is five", 1), "go on", *read("a.py", "the retry limit is five", 2))
    assert [seq for seq in found(manager, "retry limit") if seq in (1, 4)] == [4]


@given(
    st.lists(st.builds(SearchHit, st.integers(0, 9), st.just(0), st.just(0), st.sampled_from(["a", "b", "a\nb", "c"])))
)
def test_no_text_is_lost_and_none_comes_twice(hits):
    left_out, seen = left_out_first(hits, ["b\nc"])
    ordered = left_out + seen
    assert sorted(hit.text for hit in ordered) == sorted({hit.text for hit in hits})
    assert all(hit.seq == max(other.seq for other in hits if other.text == hit.text) for hit in ordered)


def test_without_a_view_the_order_is_that_of_the_ranking():
    hits = [SearchHit(1, 0, 0, "first"), SearchHit(2, 0, 0, "second")]
    assert left_out_first(hits, ()) == (hits, [])
    assert left_out_first(hits, ["some\n  first  \n"]) == (hits[1:], hits[:1])


@pytest.mark.parametrize("query", ["getUserId", "get_user_id", "user id"])
@pytest.mark.parametrize("text", ["def get_user_id():", "const getUserId = 1"])
def test_name_is_found_whole_or_in_parts_in_any_spelling(query, text):
    """A name is found whole and by its parts in either spelling."""
    assert found(talk("nothing of it", text), query) == [1]


def test_path_is_found_by_words_whole_or_by_its_end():
    """A path is looked up by its words as a whole and by its end."""
    assert terms("src/app/main.py") == ["src", "app", "main", "py", "src app main py", "main py", "app main py"]
    assert found(talk("py main app", "app/main.py"), "/other/place/app/main.py") == [1, 0]


def test_a_result_is_found_by_the_call_that_it_answers():
    manager = talk(*read("settings/mail.ini", "host=10.0.0.7", 1), *read("settings/web.ini", "host=10.0.0.8", 2))
    assert sorted(found(manager, "mail")) == [0, 1]


def test_hit_is_verbatim_at_its_offset_even_with_a_tool_name():
    """A hit is verbatim at its offset even where a tool is named."""
    manager = talk(*read("a.py", "x = 1\n\n" * 700 + "the needle\n", 1))
    for query in ("needle", "read_file"):
        for hit in manager.recall(query=query).hits:
            part = entry_of(manager, hit.seq).reading.parts[hit.part].text
            assert part[hit.offset : hit.offset + len(hit.text)] == hit.text


def test_a_passage_ends_at_a_blank_line_where_there_is_one():
    first = "one line\n" * (PASSAGE // 15) + "\n"
    assert next(passages(first + "another line\n" * PASSAGE)) == (0, first, "")


def test_next_page_continues_after_the_first_was_appended():
    """The next page goes on although the first became part of the conversation."""
    manager = long_session()
    manager.get_messages_for_request(token_budget=2_000)
    whole = manager.recall(query="port filler", limit=100_000)
    page = manager.recall(query="port filler", limit=100)
    manager.append(*read("recalled", str(page), 99))
    manager.get_messages_for_request(token_budget=2_000)
    answer = str(page)
    while page.next_offset is not None:
        page = manager.recall(query="port filler", limit=100, offset=page.next_offset)
        answer += page
    assert answer == whole
    assert manager.recall(query="port filler", limit=100_000) != whole


def test_closed_index_is_rebuilt():
    index = SearchIndex()
    index.add([Source(0, 0, "", "a word")], 1)
    index.close()
    assert index.indexed == 0
    assert index.search("word", 5) == []
    index.add([Source(0, 0, "", "a word")], 1)
    assert index.search("word", 5) == [SearchHit(0, 0, 0, "a word")]


def test_add_that_fails_midway_indexes_nothing():
    """What could not be read to its end is not indexed by half."""

    def broken():
        yield Source(0, 0, "", "a word")
        raise RuntimeError

    index = SearchIndex()
    with pytest.raises(RuntimeError):
        index.add(broken(), 1)
    assert index.indexed == 0
    index.add([Source(0, 0, "", "a word")], 1)
    assert len(index.search("word", 5)) == 1


def test_search_of_a_stored_session_indexes_sealed_reasoning(tmp_path):
    """A model that thinks and then recalls: of its reasoning, only the plain words are indexed."""
    reasoning: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"}
    reasoning["summary"] = [{"type": "summary_text", "text": "I forgot which port it was."}]
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "recall",
        "arguments": '{"query": "port"}',
    }
    with ContextManager(store=f"sqlite:///{tmp_path}/agent.db", session="ports", tokenizer=count_quarter) as context:
        context.append({"role": "user", "content": "The port is 8133."})
        context.append({"object": "response", "output": [reasoning, call]})
        assert sorted(found(context, "port")) == [0, 1]
