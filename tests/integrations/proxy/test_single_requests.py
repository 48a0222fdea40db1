"""Requests by themselves, such as those for a title: they are stored, and not listed as sessions."""

import json

import pytest

from backscroll import ContextManager, CorruptionError
from backscroll.cli.stores.render import is_single
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.cli.commands import invoke
from tests.integrations.proxy.conversations import ask, turns
from tests.present import present

BUDGET = 4_000
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
TITLE = {"role": "user", "content": "Write a title for this session: make the tests green."}


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "a.db")


@pytest.fixture
def store(place):
    opened = SqliteStore(place)
    yield opened
    opened.close()


@pytest.fixture
def proxy(provider, proxy_of, store):
    return proxy_of(provider.url, budget=BUDGET, store=store)


def printed(*arguments):
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def listed(place, *options):
    rows = json.loads(printed("sessions", place, "--json", *options))["sessions"]
    return [row["messages"] for row in rows]


def test_request_for_a_title_is_stored_and_not_listed(proxy, place):
    ask(proxy, turns(1), tools=TOOLS)
    ask(proxy, [TITLE], system="You write titles.")
    assert listed(place) == [3]
    assert listed(place, "--all") == [3, 1]
    assert "single requests that are not listed: 1" in printed("sessions", place)
    assert "make the tests green" in printed("search", place, "green")


def test_status_shows_the_newest_session_that_is_listed(proxy, place):
    ask(proxy, turns(1), tools=TOOLS)
    ask(proxy, [TITLE])
    assert "3 of 3 messages" in printed("status", place)


def test_first_request_of_an_agent_is_listed_at_once(proxy, place):
    """It has tools, and what the user asked must be found even if nothing follows."""
    ask(proxy, turns(0), tools=TOOLS)
    assert listed(place) == [1]


def test_conversation_without_tools_is_listed_with_its_answer(proxy, place):
    first = {"role": "user", "content": "Hello."}
    ask(proxy, [first])
    assert listed(place) == []
    ask(proxy, [first, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}])
    assert listed(place) == [3]


def test_request_with_an_instruction_is_not_listed(proxy, place):
    """OpenCode asks for a title with two messages of the user."""
    ask(proxy, [{"role": "user", "content": "Generate a title for this conversation:"}, TITLE])
    assert listed(place) == []


def test_sessions_of_the_mcp_server_lack_single_requests(proxy, store):
    ask(proxy, turns(1), tools=TOOLS)
    ask(proxy, [TITLE])
    index = StoreIndex(store)
    assert [present(index.catch_up(name)).facts.single for name in reversed(index.behind())] == [False, True]


class Damaged(MemoryStore):
    """A store that cannot read what it holds."""

    def read(self, *_):
        raise CorruptionError("a record is altered")


def test_damaged_session_is_listed():
    """A command that reads it reports the error."""
    store = Damaged()
    with ContextManager(store=store, session="s") as context:
        context.append({"role": "user", "content": "Hello."})
    assert not is_single(store, "s")
