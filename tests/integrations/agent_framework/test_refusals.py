"""What cannot work together with Backscroll is refused at construction or at the first run, with the reason."""

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    CompactionProvider,
    InMemoryHistoryProvider,
    SlidingWindowStrategy,
)

from backscroll import ConfigurationError
from backscroll.integrations.agent_framework import BackscrollProvider
from tests.integrations.agent_framework.agents import agent_of, provider_of, say
from tests.integrations.agent_framework.scripted import Scripted, chat


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bugdet": 5}, "unknown option `bugdet`: did you mean `budget`"),
        ({"cache_marks": "auto"}, "`cache_marks` cannot be used with Agent Framework: .* options of their own"),
        ({"native": object()}, "`native` cannot be used with Agent Framework"),
        ({"max_conversations": 0}, "`max_conversations` must be a whole number of at least 1"),
        ({"mode": "fast"}, "mode"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_options_that_cannot_work_fail_at_construction(options, message):
    with pytest.raises(ConfigurationError, match=message):
        BackscrollProvider(**options)


def refused(agent: Agent, message: str, **options: Any) -> None:
    with pytest.raises(ConfigurationError, match=message):
        asyncio.run(agent.run("hello", **{"session": AgentSession(), **options}))


def test_other_managers_of_the_context_are_refused():
    window, client = SlidingWindowStrategy(keep_last_groups=4), Scripted(chat)
    compaction = CompactionProvider(before_strategy=window)
    refused(agent_of(client, provider_of(), InMemoryHistoryProvider(), compaction), "CompactionProvider")
    refused(agent_of(client, provider_of(), provider_of(source_id="other")), "needs one Backscroll provider")
    refused(agent_of(client, provider_of(), compaction_strategy=window), "CompactionStrategy")
    refused(agent_of(client, provider_of()), "CompactionStrategy", compaction_strategy=window)
    managed = Scripted(chat)
    managed.compaction_strategy = window
    refused(agent_of(managed, provider_of()), "CompactionStrategy")
    assert client.requests == managed.requests == []


def test_history_that_is_loaded_behind_all_middleware_is_refused():
    options = {"require_per_service_call_history_persistence": True}
    refused(agent_of(Scripted(chat), provider_of(), InMemoryHistoryProvider(), **options), "behind all middleware")


class Keeps(Scripted):
    """A client whose service keeps the conversation unless it is told otherwise."""

    STORES_BY_DEFAULT = True


def test_history_that_the_provider_keeps_is_refused():
    reason = "provider keeps this conversation"
    refused(agent_of(Keeps(chat), provider_of()), reason)
    refused(agent_of(Scripted(chat), provider_of(), default_options={"store": True}), reason)
    refused(agent_of(Scripted(chat), provider_of()), reason, options={"store": True})
    refused(agent_of(Scripted(chat), provider_of()), reason, session=AgentSession(service_session_id="conv_1"))
    refused(agent_of(Scripted(chat), provider_of()), reason, options={"conversation_id": "conv_1"})


def test_a_service_that_is_asked_to_keep_nothing_is_managed():
    client = Keeps(chat)
    agent = agent_of(client, provider_of(), default_options={"store": False})
    session = agent.create_session()
    for turn in range(2):
        asyncio.run(say(agent, f"turn {turn}", session))
    assert [len(request) for request in client.requests] == [1, 3]


@pytest.mark.parametrize("name", ["context_management", "compaction", "truncation"])
def test_compaction_by_the_provider_is_refused(name):
    options = {"options": {name: "auto"}}
    refused(agent_of(Scripted(chat), provider_of()), f"with the option `{name}` the provider leaves out", **options)


def test_the_recall_tool_can_be_left_out():
    client = Scripted(chat)
    agent = agent_of(client, provider_of(with_recall_tool=False))
    asyncio.run(say(agent, "hello", agent.create_session()))
    assert [tool.name for tool in client.options[0]["tools"]] == ["order"]
