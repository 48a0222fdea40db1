"""Recall: by reference byte for byte and in pages, by pattern, by query, and as a tool for a model."""

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll import ConfigurationError, ContextManager, ReferenceNotFoundError, SearchHit
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory, conversations, entry_of, session_after
from tests.fakes import count_quarter
from tests.messages.requested import faults
from tests.present import present

TALK = MessageFactory("openai")
REFERENCE = re.compile(r"\[ref:(\d+(?:[-.]\d+)?)\]")


@given(conversations(), st.integers(200, 3_000), st.integers(1, 700))
def test_every_reference_returns_the_original_at_any_page_size(messages, budget, limit):
    """Every reference in a view returns the original no matter what the page size."""
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(*messages)
    try:
        view = manager.get_messages_for_request(token_budget=budget)
    except backscroll.BudgetError:
        return
    for ref in REFERENCE.findall(json.dumps(view)):
        whole = ""
        offset: int | None = 0
        limit = max(limit, len(manager.recall(ref, limit=10**9)) // 400)  # at most about a hundred pages
        while offset is not None:
            page = manager.recall(ref, offset=offset, limit=limit)
            assert count_quarter(page) <= limit or len(page) == 1
            whole, offset = whole + page, page.next_offset
        entry = entry_of(manager, int(present(re.match(r"\d+", ref))[0]))
        part = int(ref.partition(".")[2] or 0)
        if "." in ref:
            assert whole == (entry.reading.parts[part].readable or "(image)")
        else:
            assert all(found.readable in whole for found in entry.reading.parts if not found.media)


def test_excerpted_result_returns_verbatim_by_its_reference():
    """A clipped result comes back byte for byte by the reference that stands in the view."""
    manager = session_after()
    view = manager.get_messages_for_request(token_budget=8_000)
    refs = [ref for message in view if message["role"] == "tool" for ref in REFERENCE.findall(message["content"])]
    assert refs
    for ref in refs:
        seq = int(ref.partition(".")[0])
        assert manager.recall(ref, limit=100_000) == manager.get_messages()[seq]["content"]
    assert manager.recall(f"[ref:{refs[0]}]") == manager.recall(refs[0])


def test_range_names_each_message_and_pages_lose_nothing():
    """A range names each message and pages are cut without loss."""
    manager = session_after(5)
    whole = manager.recall("2-5", limit=1_000_000)
    assert [line for line in whole.splitlines() if line.startswith("[ref:")] == [
        "[ref:2.0] assistant, call run",
        "[ref:3.0] tool",
        "[ref:4.0] assistant, call run",
        "[ref:5.0] tool",
    ]
    first = manager.recall("2-5")
    assert first.next_offset == len(first)
    assert whole.startswith(first)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("\n".join(f"line {number} of a report" for number in range(99)), "\n"),
        (json.dumps([{"id": number, "name": "some name"} for number in range(99)]), "}, "),
        (json.dumps({f"key_{number}": "some value" for number in range(99)}), ", "),
        ("word " * 400, " "),
        ("x" * 2_000, "x"),
    ],
)
def test_page_ends_behind_a_line_or_a_value(text, ends):
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "user", "content": text})
    pages = []
    offset: int | None = 0
    while offset is not None:
        page = manager.recall("0.0", limit=100, offset=offset)
        pages.append(page)
        offset = page.next_offset
    assert "".join(pages) == text
    assert all(page.endswith(ends) for page in pages[:-1])
    assert all(count_quarter(page) > 70 for page in pages[:-1])


def test_lines_and_patterns():
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "user", "content": "alpha\nbeta\ngamma"}, {"role": "user", "content": "alphabet"})
    assert manager.recall(0, lines=(2, 3)) == "beta\ngamma"
    assert manager.recall(0, pattern="^(a|g)").hits == (SearchHit(0, 0, 0, "alpha"), SearchHit(0, 0, 11, "gamma"))
    assert [hit.seq for hit in manager.recall(pattern="alpha").hits] == [0, 1]


def test_a_query_finds_the_passage_wherever_it_stands():
    manager = session_after(40)
    manager.append({"role": "user", "content": "the password rotation happens on thursdays"})
    manager.append(*session_after(20).get_messages()[2:])
    manager.append({"role": "user", "content": "数据库连接超时"})
    found = manager.recall(query="when does password rotation happen?")
    assert found.hits[0].text == "the password rotation happens on thursdays"
    assert found.startswith("[ref:82.0] user\nthe password")
    assert manager.recall(query="连接超时").hits[0].text == "数据库连接超时"
    assert manager.recall(query="nobodysaidthis") == ""
    assert manager.recall(query='" OR ( NEAR *') is not None
    assert manager.recall(query="!?") == ""


def test_query_takes_lone_surrogates_and_finds_newer_messages():
    """A query survives lone surrogates and finds what came after the first query."""
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "user", "content": "broken \ud83d half"})
    assert manager.recall(query="half").hits[0].seq == 0
    manager.append({"role": "user", "content": "another half"})
    assert {hit.seq for hit in manager.recall(query="half").hits} == {0, 1}


@pytest.mark.parametrize("ref", ["", "x", "-1", "99", "0.7", "5-3", "1-", "9" * 5_000, None])
def test_what_names_nothing_is_refused_by_name(ref):
    manager = session_after(1)
    error = ConfigurationError if ref is None else ReferenceNotFoundError
    with pytest.raises(error):
        manager.recall(ref)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "a", "ref": 1},
        {"query": "a", "pattern": "b"},
        {"ref": 1, "offset": -1},
        {"ref": 1, "limit": 0},
        {"ref": 1, "lines": (3, 2)},
        {"ref": 1, "lines": 3},
        {"pattern": "("},
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments):
    with pytest.raises(ConfigurationError):
        session_after(1).recall(**arguments)


def test_the_default_page_fits_a_quarter_of_the_budget():
    manager = session_after(3)
    manager.get_messages_for_request(token_budget=4_000)
    assert count_quarter(manager.recall("2-7")) <= 1_000


def test_the_default_page_of_a_search_is_shorter():
    manager = ContextManager(tokenizer=count_quarter)
    for number in range(40):
        manager.append({"role": "user", "content": f"{number} wanted words " + f"number {number} " * 60})
    text = " ".join(f"line {number}" for number in range(4_000))
    long = manager.append({"role": "user", "content": text})
    assert 2_800 <= count_quarter(manager.recall(query="wanted words")) <= 3_400
    assert 3_400 < count_quarter(manager.recall(long)) <= 4_000
    manager.close()


def test_tool_of_the_responses_api_is_flat():
    types = pytest.importorskip("openai.types.responses")
    definition, _ = session_after(1).recall_tool("responses")
    assert faults(definition, types.FunctionToolParam) == []
    assert definition["name"] == "recall"


def test_tool_of_the_model_context_protocol_is_one():
    types = pytest.importorskip("mcp.types")
    definition, _ = session_after(1).recall_tool("mcp")
    found = types.Tool.model_validate(definition)
    assert (found.name, found.input_schema["type"]) == ("recall", "object")
    assert found.model_dump(by_alias=True, exclude_none=True) == definition


def test_tool_of_gemini_is_a_declaration_of_a_function():
    types = pytest.importorskip("google.genai.types")
    definition, _ = session_after(1).recall_tool("gemini")
    found = types.FunctionDeclaration.model_validate(definition)
    assert found.model_dump(by_alias=True, exclude_none=True) == definition


@pytest.mark.parametrize("format", ["openai", "responses", "anthropic", "gemini", "strands", "mcp"])
def test_tool_answers_mistakes_of_a_model_without_raising(format):
    """The tool answers a model and never raises for its mistakes."""
    definition, call = session_after(3).recall_tool(format)
    assert "recall" in json.dumps(definition)
    assert call(ref="1") == "read every file"
    assert call(ref="77").startswith("nothing is kept under [ref:77]")
    assert call(query="nobodysaidthis") == "nothing found; try fewer or other words, or read a range by ref"
    assert call(pattern="nobodysaidthis") == "nothing found"
    assert call() == 'recall needs a ref, a query or a pattern, such as "[ref:12]"'
    assert call(query=5) == call(pattern=5) == "query and pattern are texts"
    assert "is no regular expression" in call(pattern="(" * 9_000)
    assert "is no regular expression" in call(pattern="a{99999999999999999999}")
    assert call(ref="5-2") == "the range 5-2 ends before it begins; write 2-5"
    assert call(ref="2-7").startswith("[6 messages, too long for one page.")
    assert "more follows: recall again with offset" in call(ref="2-7", offset=1)
    with pytest.raises(ConfigurationError):
        session_after(1).recall_tool("other")


def test_the_tool_of_the_async_manager_is_awaited():
    async def run() -> Any:
        manager = backscroll.AsyncContextManager(tokenizer=count_quarter)
        await manager.append(MessageFactory("bedrock").say("user", "hi"))
        _, call = manager.recall_tool()
        return await call(ref="0")

    assert asyncio.run(run()) == "hi"


def test_a_query_finds_what_other_sessions_of_the_store_said():
    store = MemoryStore()
    for name, port in (("monday", 8001), ("tuesday", 8002)):
        talk = ContextManager(session=name, store=store, tokenizer=count_quarter)
        talk.append(TALK.say("user", "which port?"), TALK.say("assistant", f"The proxy listens on {port}."))
        talk.close()
    here = ContextManager(session="wednesday", store=store, tokenizer=count_quarter)
    here.append(TALK.say("user", "which port was it yesterday?"))
    assert here.recall(query="proxy listens").hits == ()
    found = here.recall(query="proxy listens", everywhere=True)
    assert [(hit.session, hit.seq, hit.text) for hit in found.hits] == [
        ("tuesday", 1, "The proxy listens on 8002."),
        ("monday", 1, "The proxy listens on 8001."),
    ]
    assert found.startswith("session 'tuesday', [ref:1.0]\nThe proxy listens on 8002.\n")
    assert ContextManager(session="tuesday", store=store).recall(found.hits[0].seq) == "The proxy listens on 8002."


def test_pages_over_all_sessions_continue_where_the_last_ended():
    """Pages over all sessions go on where the one before ended."""
    store = MemoryStore()
    for number in range(30):
        talk = ContextManager(session=f"s{number}", store=store, tokenizer=count_quarter)
        talk.append(TALK.say("user", f"the needle of session {number} is here"))
        talk.close()
    here = ContextManager(session="here", store=store, tokenizer=count_quarter)
    whole = here.recall(query="needle", everywhere=True, limit=10_000)
    text, page = "", here.recall(query="needle", everywhere=True, limit=50)
    while page.next_offset is not None:
        text += page
        here.append(TALK.say("assistant", f"needle: {len(text)}"))  # found by a new search, which a next page is not
        page = here.recall(query="needle", everywhere=True, limit=50, offset=page.next_offset)
    assert text + page == whole
    assert len(whole.hits) == 30


@pytest.mark.parametrize("arguments", [{"ref": 1}, {"pattern": "x"}, {"query": "x", "lines": (1, 2)}])
def test_only_a_query_goes_everywhere(arguments):
    with pytest.raises(ConfigurationError, match="`everywhere` requires `query`"):
        ContextManager(session="s", store=MemoryStore()).recall(everywhere=True, **arguments)


def test_a_session_without_a_store_has_no_others():
    with pytest.raises(ConfigurationError, match="pass `store`"):
        ContextManager().recall(query="x", everywhere=True)
