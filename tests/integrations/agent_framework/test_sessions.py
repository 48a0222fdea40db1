"""Which conversation a request belongs to: sessions, sub-agents, restarts, and histories that a program edits."""

import asyncio
import gc
import json
from typing import Any

import pytest
from agent_framework import AgentSession, Content, Message

from backscroll import ConfigurationError, StoreUnavailableError
from backscroll.stores.sqlite import SqliteStore
from tests.fakes import FaultyStore
from tests.integrations import world
from tests.integrations.agent_framework.agents import (
    LANE,
    agent_of,
    history_of,
    order,
    provider_of,
    say,
    work_through,
)
from tests.integrations.agent_framework.scripted import Recorder, Scripted, as_openai, calls, chat, text_of

pytestmark = pytest.mark.frameworks


def test_two_conversations_at_once_do_not_mix():
    provider = provider_of()
    recorders = [Recorder(), Recorder()]
    clients = [Scripted(middleware=[recorder]) for recorder in recorders]
    agents = [agent_of(client, provider) for client in clients]
    sessions = [agent.create_session() for agent in agents]

    async def run() -> None:
        await asyncio.gather(work_through(agents[0], sessions[0], 2), work_through(agents[1], sessions[1], 2))

    asyncio.run(run())
    for client, recorder in zip(clients, recorders, strict=True):
        pairs = zip(client.requests, recorder.given, strict=True)
        assert world.faults((as_openai(request), as_openai(given)) for request, given in pairs) == []
    one, other = (asyncio.run(provider.conversation(each, "shop").get_messages()) for each in sessions)
    assert len(one) == len(other) == 2 * 40


def test_one_agent_may_serve_two_sessions_at_once():
    provider = provider_of()
    agent = agent_of(Scripted(chat), provider)
    sessions = [agent.create_session(), agent.create_session()]

    async def run() -> None:
        for turn in range(6):
            await asyncio.gather(
                *(say(agent, f"{name} {turn}", each) for name, each in zip("ab", sessions, strict=True))
            )

    asyncio.run(run())
    for name, session in zip("ab", sessions, strict=True):
        stored = asyncio.run(provider.conversation(session, agent).get_messages())
        said = [message["content"][0]["text"] for message in stored if message["role"] == "user"]
        assert said == [f"{name} {turn}" for turn in range(6)]


def test_a_sub_agent_in_a_session_has_its_own_conversation():
    provider = provider_of()
    inner = agent_of(Scripted(chat), provider, name="helper", tools=[])
    asking = [calls(world.Called("c0", "helper", {"task": "look around"})), [Content.from_text("done")]]
    outer_client = Scripted(lambda step, messages: asking[step])
    outer = agent_of(outer_client, provider, tools=[inner.as_tool(propagate_session=True)])
    session = outer.create_session()
    asyncio.run(say(outer, "have the helper look around", session))
    stored = [asyncio.run(provider.conversation(session, agent).get_messages()) for agent in (outer, inner)]
    assert [message["role"] for message in stored[0]] == ["user", "assistant", "user", "assistant"]
    assert "look around" in str(stored[1])
    assert "have the helper" not in str(stored[1])


@pytest.mark.parametrize("stream", [False, True])
def test_a_restart_goes_on(stream, tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    provider, client = provider_of(store=store), Scripted()
    agent = agent_of(client, provider)
    session = agent.create_session()
    asyncio.run(work_through(agent, session, 2, stream=stream))
    compactions = provider.conversation(session, agent).usage(LANE).compactions
    assert compactions
    provider.close()
    saved = json.loads(json.dumps(session.to_dict()))
    again, provider = AgentSession.from_dict(saved), provider_of(store=store)
    agent = agent_of(client, provider)
    asyncio.run(say(agent, world.asked(2), again, stream=stream))
    first = as_openai(client.requests[40])
    assert first[: len(first) - 4] == as_openai(client.requests[39])[: len(first) - 4]
    stored = asyncio.run(provider.conversation(again, agent).get_messages())
    assert len(stored) == len(history_of(again)) == 120


def test_sessions_of_a_store_have_names_that_are_no_paths(tmp_path):
    provider = provider_of(store=f"sqlite:///{tmp_path}/agent.db", session="shop")
    agent = agent_of(Scripted(chat), provider)
    asyncio.run(say(agent, "hello", AgentSession(session_id="../a/b")))
    provider.close()
    assert SqliteStore(tmp_path / "agent.db").sessions() == ["shop/..%2Fa%2Fb/shop"]
    assert provider.conversation("../a", "b/shop") is not provider.conversation("../a/b", "shop")


def test_two_providers_for_one_stored_session_are_refused(tmp_path):
    gc.collect()
    store = f"sqlite:///{tmp_path}/agent.db"
    one, other = provider_of(store=store), provider_of(store=store)
    asyncio.run(say(agent_of(Scripted(chat), one), "hello", AgentSession(session_id="s")))
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        asyncio.run(say(agent_of(Scripted(chat), other), "hello", AgentSession(session_id="s")))


def test_few_conversations_stay_open():
    provider = provider_of(max_conversations=2)
    agent = agent_of(Scripted(chat), provider)
    sessions = [agent.create_session() for _ in range(5)]
    for session in sessions:
        asyncio.run(say(agent, "hello", session))
    assert len(provider._conversations) == 2
    asyncio.run(say(agent, "again", sessions[0]))
    stored = asyncio.run(provider.conversation(sessions[0], agent).get_messages())
    assert [message["content"][0]["text"] for message in stored][::2] == ["hello", "again"]


def test_a_run_without_a_session_is_a_conversation_of_its_own():
    client = Scripted()
    agent = agent_of(client, provider_of())
    asyncio.run(say(agent, world.asked(0), None))
    asyncio.run(say(agent, world.asked(1), None))
    assert [len(request) for request in client.requests].count(1) == 2


def worked() -> Any:
    client = Scripted()
    provider = provider_of()
    agent = agent_of(client, provider)
    session = agent.create_session()
    asyncio.run(work_through(agent, session, 2))
    return client, provider, agent, session


def after(change: Any) -> Any:
    """The first request of a turn after a program changed the framework's history, and what was stored then."""
    client, provider, agent, session = worked()
    messages = session.state["in_memory"]["messages"]
    session.state["in_memory"]["messages"] = change(list(messages))
    asyncio.run(say(agent, "go on", session))
    stored = asyncio.run(provider.conversation(session, agent).get_messages())
    return client.requests[40], stored, history_of(session)


def test_an_edit_of_the_history_is_followed():
    def edit(messages: list[Message]) -> list[Message]:
        messages[0] = Message("user", ["Turn 0: an edited question"])
        return messages

    request, stored, history = after(edit)
    assert "an edited question" in text_of(request)
    assert "customer 7 and" not in text_of(request) + str(stored)
    assert len(stored) == len(history)


def test_an_edit_in_place_is_noticed_by_the_next_run():
    def edit(messages: list[Message]) -> list[Message]:
        messages[0].contents[0].text = "Turn 0: edited in place"
        return messages

    request, stored, _ = after(edit)
    assert "edited in place" in text_of(request)
    assert "edited in place" in str(stored[0])


def test_a_rewind_of_the_history_is_followed():
    request, stored, history = after(lambda messages: messages[:40])
    assert world.asked(1) not in text_of(request)
    assert text_of(request[-1:]) == "go on"
    assert len(stored) == len(history) == 40 + 40


def test_a_removal_of_the_history_is_followed():
    request, stored, history = after(lambda messages: [])
    assert [message.text for message in request] == ["go on"]
    assert len(stored) == len(history) == 40


def test_a_failing_store_stops_the_run_and_the_next_one_goes_on():
    store = FaultyStore()
    client = Scripted(chat)
    agent = agent_of(client, provider_of(store=store))
    session = agent.create_session()
    asyncio.run(say(agent, "one", session))
    store.fails = [StoreUnavailableError("the disk is full")]
    with pytest.raises(StoreUnavailableError):
        asyncio.run(say(agent, "two", session))
    assert len(client.requests) == 1
    asyncio.run(say(agent, "three", session))
    assert [message.text for message in client.requests[-1]][::2] == ["one", "three"]


def test_an_answer_is_not_lost_where_the_store_fails_behind_it():
    store = FaultyStore()

    def answer(step: int, messages: list[Message]) -> list[Content]:
        store.fails = [StoreUnavailableError("the disk is full")] if step == 0 else []
        return [Content.from_text(f"answer {step}")]

    provider = provider_of(store=store)
    agent = agent_of(Scripted(answer), provider)
    session = agent.create_session()
    with pytest.warns(RuntimeWarning, match="could not be stored yet"):
        assert asyncio.run(say(agent, "one", session)) == "answer 0"
    asyncio.run(say(agent, "two", session))
    stored = asyncio.run(provider.conversation(session, agent).get_messages())
    assert [message["content"][0]["text"] for message in stored] == ["one", "answer 0", "two", "answer 1"]


def test_pins_and_reports_are_reached_by_the_session():
    client, provider, agent, session = worked()
    conversation = provider.conversation(session, agent)
    asyncio.run(conversation.pin(2))
    asyncio.run(say(agent, "go on", session))
    assert world.order(0) in text_of(client.requests[-1])
    assert asyncio.run(conversation.window_report(LANE)) is not None
    assert "order 0 of" in str(asyncio.run(conversation.recall("2")))
    assert order(0) == world.order(0)
