"""Views speak of recall only where a request offers a tool for it, by that tool's name and the session's."""

import json

import pytest

from backscroll.history.recall_wording import NO_RECALL, RECALL, RecallWording
from backscroll.integrations.proxy.offered_recall import wording_of
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import LONG, ask, sent, turns
from tests.integrations.proxy.harness import proxied

BUDGET = 4_000
READ = {"type": "object", "properties": {key: {} for key in ("session", "ref", "pattern", "around", "offset")}}
SEARCH = {"properties": {key: {} for key in ("query", "session", "project", "since", "role", "offset")}}
TOOLS = [
    {"name": "read", "input_schema": {"type": "object", "properties": {"path": {}}}},
    {"name": "mcp__notes__search", "input_schema": SEARCH},
    {"name": "mcp__notes__read", "input_schema": READ},
]
"""A tool of the client, and those of a server that its user named `notes`."""
JSON = json.dumps([{"id": number, "text": LONG[:120]} for number in range(300)])


def history_with_cuts(number):
    """Results that are cut as text and as JSON, and more than fits."""
    found = turns(number)
    found[4]["content"][0]["content"] = JSON
    found[-1]["content"][0]["content"] = LONG * 12
    return found


def shown(provider, at=-1):
    return json.dumps(sent(provider.got[at]))


@pytest.mark.filterwarnings("ignore:the provider refused a request")
@pytest.mark.parametrize("number", [3, 30])
def test_view_without_a_tool_says_nothing_of_recall(provider, proxy_of, number):
    """Neither where only results are cut, nor in a summary; the references stay."""
    ask(proxy_of(provider.url, budget=BUDGET, store=MemoryStore()), history_with_cuts(number), tools=TOOLS[:1])
    text = shown(provider)
    assert "[ref:" in text
    assert "left out" in text
    for word in ("recall", "Nothing is lost", "search"):
        assert word not in text


@pytest.mark.filterwarnings("ignore:the provider refused a request")
@pytest.mark.parametrize("number", [3, 30])
def test_view_names_the_tool_and_the_session(provider, proxy_of, number):
    store = MemoryStore()
    ask(proxy_of(provider.url, budget=BUDGET, store=store), history_with_cuts(number), tools=TOOLS)
    text, (name,) = shown(provider), store.sessions()
    assert f", mcp__notes__read session={name} ref=[ref:" in text
    assert "recall" not in text
    if number == 30:
        assert f"mcp__notes__search with session={name} and a query" in text


def test_tool_finds_nothing_of_what_is_in_memory(provider, proxy_of):
    """So nothing is said of it."""
    ask(proxy_of(provider.url, budget=BUDGET), turns(30), tools=TOOLS)
    assert "mcp__notes__read" not in shown(provider)
    assert "Nothing is lost" not in shown(provider)


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_text_stays_for_a_conversation(provider, is_restarted, order):
    """Tools that come or go later change no text that was sent, also in a new process."""
    store, history = MemoryStore(), turns(40)
    first, second = (TOOLS, TOOLS[:1])[::order]
    for ends in ((61,), (63, 81)) if is_restarted else ((61, 63, 81),):
        with proxied(provider.url, budget=BUDGET, store=store) as proxy:
            for end in ends:
                ask(proxy, history[:end], tools=first if end == 61 else second)
    begun = sent(provider.got[0])
    assert sent(provider.got[1])[: len(begun)] == begun
    assert ("mcp__notes__read" in shown(provider)) is (first is TOOLS)
    assert len(sent(provider.got[2])) < 81


@pytest.mark.parametrize(
    "tools",
    [
        TOOLS,
        [{"type": "function", "function": {"name": "mcp__notes__read", "parameters": READ}}],
        [{"type": "function", "name": "mcp__notes__read", "parameters": READ}],
        [{"type": "namespace", "name": "mcp__notes__", "tools": [{"name": "read", "parameters": READ}]}],
    ],
)
def test_tool_is_known_by_its_arguments_in_each_api(tools):
    assert wording_of(tools, "s/1~2").read == "mcp__notes__read"
    assert wording_of(tools, None) == NO_RECALL
    assert wording_of(tools, 'a "name"') == NO_RECALL


@pytest.mark.parametrize(
    "tools", [None, "read", [None, 3, {}], TOOLS[:2], [{"name": 'a"read', "input_schema": READ}], [{"name": "read"}]]
)
def test_other_tools_are_not_taken_for_it(tools):
    assert wording_of(tools, "s") == NO_RECALL


def test_arguments_are_those_of_the_server():
    pytest.importorskip("mcp")
    from backscroll.integrations.mcp.tools import DEFINITIONS

    tools = [{"name": name, "input_schema": schema} for name, (_, schema) in DEFINITIONS.items()]
    assert wording_of(tools, "s") == RecallWording("read", "search", "s")


def test_managers_speak_of_their_own_tool():
    assert RECALL.lead == ", recall "
    assert RECALL.offer.startswith(" Nothing is lost: recall a reference")
