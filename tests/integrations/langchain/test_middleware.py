"""The world's steps in a real agent: sync, async and streamed, with a thread and without one."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.integrations import world
from tests.integrations.langchain.agents import agent_of, config_of, middleware_of, played
from tests.integrations.langchain.scripted import Scripted, called, faults, strangers, tokens_of, without_system
from tests.long_run import usual_sets

pytestmark = pytest.mark.frameworks

CONFIG = config_of("one")


def check(model: Scripted, messages: list[Any], *, turns: int = 3) -> None:
    """What holds for each run of the world."""
    assert len(model.requests) == turns * world.TURN
    assert faults(model, messages) == []
    assert max(map(tokens_of, model.requests)) <= world.BUDGET
    assert any("<summary>" in str(message.content) for message in model.requests[-1])
    assert [message.content for message in messages if message.type == "human"] == [*map(world.asked, range(turns))]
    for message in messages:
        if isinstance(message, ToolMessage) and message.name == "order":
            assert str(message.content).startswith("order "), "the state holds every result as it was"
    recalled = [
        message.content for message in messages if isinstance(message, ToolMessage) and message.name == "recall"
    ]
    assert len(recalled) == turns
    assert all(world.order(0) in text for text in recalled)


@pytest.mark.parametrize(("style", "turns"), usual_sets([("anthropic", 1), ("responses", 1), ("", 3)], 2))
def test_up_to_sixty_steps_without_a_thread(style, turns):
    model = Scripted(script=lambda step: called(step, style))
    messages = played(agent_of(model), None, turns=turns)
    check(model, messages, turns=turns)
    assert strangers(model, messages) == []
    assert world.broken_prefixes([without_system(request) for request in model.requests]) <= 12


def test_the_history_is_the_same_as_without_us():
    with_us, without_us = Scripted(), Scripted()
    ours = played(agent_of(with_us), None, turns=1)
    theirs = played(agent_of(without_us, middleware_of(budget=1_000_000)), None, turns=1)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        ignored = {"id", "usage_metadata"}
        assert one.model_dump(exclude=ignored) == other.model_dump(exclude=ignored)


def test_steps_with_a_checkpointer():
    model, middleware = Scripted(), middleware_of()
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    messages = played(agent, CONFIG, turns=1)
    check(model, messages, turns=1)
    usage = middleware.conversation("one").usage("scripted/scripted")
    assert usage.compactions >= world.broken_prefixes([without_system(request) for request in model.requests])


def test_steps_in_an_event_loop():
    model = Scripted()
    agent = agent_of(model, checkpointer=InMemorySaver())

    async def run() -> list[Any]:
        found: dict[str, Any] = {}
        for turn in range(1):
            found = await agent.ainvoke({"messages": [("user", world.asked(turn))]}, CONFIG)
        return found["messages"]

    check(model, asyncio.run(run()), turns=1)


@pytest.mark.parametrize("loop", [False, True])
def test_steps_streamed(loop):
    model = Scripted()
    agent = agent_of(model, checkpointer=InMemorySaver())
    modes = ["messages", "updates", "values"]
    seen: list[Any] = []

    async def arun() -> None:
        for turn in range(1):
            async for event in agent.astream({"messages": [("user", world.asked(turn))]}, CONFIG, stream_mode=modes):
                seen.append(event)

    if loop:
        asyncio.run(arun())
    else:
        for turn in range(1):
            seen += agent.stream({"messages": [("user", world.asked(turn))]}, CONFIG, stream_mode=modes)
    check(model, agent.get_state(CONFIG).values["messages"], turns=1)
    words = [event[0].content for mode, event in seen if mode == "messages" and event[0].type == "AIMessageChunk"]
    assert "done " in words, "the answer was streamed word by word"


def test_the_callers_messages_are_never_changed():
    model = Scripted()
    agent = agent_of(model)
    messages = played(agent, None, turns=1)
    before = deepcopy(messages)
    agent.invoke({"messages": [*messages, HumanMessage("go on")]})
    assert messages == before


def test_two_threads_at_once_do_not_mix():
    class Named(Scripted):
        def _answer(self, messages: Any, tools: Any = ()) -> Any:
            whose = "anna" if "anna" in str(messages[1].content) else "bert"
            assert ("bert" if whose == "anna" else "anna") not in str(messages)
            return super()._answer(messages, tools)

    models = [Named(), Named()]
    middleware = middleware_of()
    agents = [agent_of(model, middleware, checkpointer=InMemorySaver()) for model in models]

    async def run(agent: Any, name: str) -> Any:
        found: Any = None
        for turn in range(1):
            said = [("user", f"{name}: {world.asked(turn)}")]
            found = await agent.ainvoke({"messages": said}, config_of(name))
        return found["messages"]

    async def both() -> Any:
        return await asyncio.gather(run(agents[0], "anna"), run(agents[1], "bert"))

    for model, messages in zip(models, asyncio.run(both()), strict=True):
        assert faults(model, messages) == []
    assert middleware.conversation("anna") is not middleware.conversation("bert")


def test_equal_first_messages_at_once_do_not_mix():
    """Two runs without a thread that begin with the very same message share a key, and still get their own views."""
    model = Scripted(script=lambda step: called(5))
    begin = HumanMessage("begin", id="same")
    answers = [[begin, HumanMessage(f"this is {name}. " * 50)] for name in ("anna", "bert")]
    model.script = lambda step: called(19)
    agent = agent_of(model)
    agent.batch([{"messages": messages} for messages in answers])
    for request in model.requests:
        assert ("anna" in str(request)) != ("bert" in str(request))
