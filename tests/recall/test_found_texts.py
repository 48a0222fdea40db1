"""The text of a search: hits by message, what repeats once, and what the view shows named in a line."""

import json

from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.recall.found_texts import Found, found_text
from backscroll.recall.pages import SearchHit
from tests.builders import said
from tests.fakes import count_quarter


def text_of(hits, in_view=(), best=None):
    entries = {seq: said(seq, "any")[-1] for seq in {hit.seq for hit in hits}}
    return found_text(Found(hits, hits if best is None else best, entries), in_view)


def test_hits_of_one_message_stand_together_in_their_order():
    hits = [SearchHit(7, 0, 20, "last line"), SearchHit(3, 0, 0, "other"), SearchHit(7, 0, 0, "first line")]
    assert text_of(hits) == "[ref:7.0] user\nfirst line\n[...]\nlast line\n[ref:3.0] user\nother\n"


def test_passages_that_follow_each_other_are_joined():
    hits = [SearchHit(7, 0, 6, "and more"), SearchHit(7, 0, 0, "words\n")]
    assert text_of(hits) == "[ref:7.0] user\nwords\nand more\n"


def test_hits_far_apart_by_rank_are_not_pulled_onto_the_page():
    hits = [
        SearchHit(1, 0, 0, "best"),
        *(SearchHit(seq, 0, 0, "x" * 800) for seq in range(2, 30)),
        SearchHit(1, 0, 9, "z"),
    ]
    text = text_of(hits)
    assert text.index("best") < text.index("[ref:2.0]") < text.index("[ref:29.0]") < text.index("\nz\n")


def test_repeated_text_is_shown_once_with_its_count():
    manager = ContextManager(tokenizer=count_quarter)
    for number in range(3):
        manager.append(
            {"role": "user", "content": "the worker was killed"}, {"role": "assistant", "content": f"ok {number}"}
        )
    page = manager.recall(query="worker killed")
    assert page == "[ref:4.0] user (the same 3 times)\nthe worker was killed\n"
    assert [hit.times for hit in page.hits] == [3]
    manager.close()


def test_best_hits_in_view_are_named_and_not_repeated():
    hits = [SearchHit(2, 0, 0, "left out"), SearchHit(8, 0, 0, "shown"), SearchHit(9, 0, 0, "shown too")]
    text = text_of(hits, ["a line\nshown\n", "shown too"], best=[hits[1], hits[0]])
    assert text == "(already in view: [ref:8.0])\n[ref:2.0] user\nleft out\n"


def test_hits_that_are_all_in_view_are_the_answer():
    hits = [SearchHit(2, 0, 0, "shown"), SearchHit(5, 0, 0, "shown too")]
    assert text_of(hits, ["shown\nshown too"]) == "[ref:2.0] user\nshown\n[ref:5.0] user\nshown too\n"


def test_statement_in_view_is_kept_with_the_one_it_replaces():
    hits = [SearchHit(2, 0, 0, "old", replaced_by=8), SearchHit(8, 0, 0, "new")]
    assert text_of(hits, ["new"]) == "[ref:2.0] user (replaced by [ref:8])\nold\n[ref:8.0] user\nnew\n"


def test_search_names_the_message_that_the_view_shows():
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    manager.append({"role": "user", "content": "where is the port set?"})
    for number in range(12):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"f{number}.ini"})}
        text = f"port of server {number}\n" + f"filler {number} words\n" * 60
        manager.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        )
    assert "already in view" not in manager.recall(query="port of server 11")
    manager.get_messages_for_request(token_budget=2_000)
    page = manager.recall(query="port of server 11")
    assert page.startswith("(already in view: [ref:24.0]")
    assert "port of server 11" not in page
    assert 24 in {hit.seq for hit in page.hits}
    manager.close()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.text("ab\n", min_size=1, max_size=9)), max_size=30),
    st.sets(st.sampled_from(["a", "b", "ab", "ba"])),
)
def test_each_hit_is_shown_or_in_view(found, in_view):
    """Whatever a search found is in its text, or in the view, each under the reference of its message."""
    hits = [SearchHit(seq, 0, 100 * place, text) for seq, place, text in found]
    hits = list(dict.fromkeys(hits))
    text = text_of(hits, in_view)
    for hit in hits:
        lines = [line.strip() for line in hit.text.splitlines()]
        assert (f"[ref:{hit.seq}.0] user\n" in text and hit.text in text) or all(
            line in in_view or not line for line in lines
        )
