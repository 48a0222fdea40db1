"""The graph's own history: edits, rewinds and removals are followed, and it never changes."""

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from backscroll import BackscrollWarning
from backscroll.integrations.langchain.threads import Place
from tests.integrations import world
from tests.integrations.langchain.agents import agent_of, config_of, middleware_of, played
from tests.integrations.langchain.scripted import Scripted, called, faults, without_system

CONFIG = config_of("one")


def said(model: Scripted) -> list[str]:
    """The texts of the newest request."""
    return [str(message.content) for message in without_system(model.requests[-1])]


def stored(middleware: Any, thread: str | None = "one") -> list[Any]:
    """The texts that the conversation holds, and counts, summarizes and recalls."""
    context = middleware._threads.get(Place(thread, ()), [HumanMessage("", id="q0")])
    return [message["content"] for message in asyncio.run(context.get_messages())]


def talk(turns: int, begin: int = 0) -> list[Any]:
    """A conversation without tools."""
    return [
        message
        for at in range(begin, begin + turns)
        for message in (HumanMessage(f"question {at}", id=f"q{at}"), AIMessage(f"answer {at}", id=f"a{at}"))
    ]


class Recording(AgentMiddleware):
    """Is inside of ours, and notes the messages of each request."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.requests.append(request.messages)
        return handler(request)


class Talking(Scripted):
    """Answers with the number of the request."""

    script: Any = lambda step: AIMessage(f"answer of request {step}")


def talked(middleware: Any = None, turns: int = 50) -> tuple[Scripted, Any, Any]:
    """A model, its agent with a checkpointer, and the middleware, after a talk of so many turns."""
    model, middleware = Talking(), middleware or middleware_of(budget=100_000)
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    agent.invoke({"messages": [*talk(turns), HumanMessage("begin")]}, CONFIG)
    return model, agent, middleware


def test_a_message_replaced_by_its_id_is_followed_anywhere():
    model, agent, middleware = talked()
    agent.update_state(CONFIG, {"messages": [HumanMessage("edited", id="q3")]})
    agent.invoke({"messages": [HumanMessage("go on")]}, CONFIG)
    assert "edited" in said(model)
    assert stored(middleware) == said(model)


def test_a_message_replaced_within_a_run_is_followed_anywhere():
    """A tool or a middleware may replace an old message between two model calls of one run."""

    class Replacing(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:
            if isinstance(state["messages"][-1], ToolMessage):
                return {"messages": [HumanMessage("edited", id="q3")]}
            return None

    model = Scripted(script=lambda step: called(5) if step == 0 else AIMessage("done"))
    middleware = middleware_of(budget=100_000)
    agent = agent_of(model, Replacing(), middleware, checkpointer=InMemorySaver())
    agent.invoke({"messages": [*talk(50), HumanMessage("begin")]}, CONFIG)
    assert "question 3" in [message.content for message in model.requests[0]]
    assert "edited" in said(model)
    assert stored(middleware) == said(model)


def test_an_edit_in_place_is_noticed_with_the_next_turn():
    model = Talking()
    middleware = middleware_of(budget=100_000)
    agent = agent_of(model, middleware)
    messages = agent.invoke({"messages": [*talk(50), HumanMessage("begin")]})["messages"]
    messages[6].content = "edited"
    agent.invoke({"messages": [*messages, HumanMessage("go on")]})
    assert "edited" in said(model)
    assert stored(middleware, None) == said(model)


@pytest.mark.parametrize("gone", ["q3", "a49"])
def test_a_removed_message_is_gone(gone):
    model, agent, _ = talked()
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id=gone)]})
    agent.invoke({"messages": [HumanMessage("go on")]}, CONFIG)
    held = agent.get_state(CONFIG).values["messages"]
    assert said(model) == [message.content for message in held[:-1]]


def test_a_history_that_is_removed_begins_again():
    model, agent, _ = talked()
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("all new")]})
    agent.invoke({"messages": [HumanMessage("go on")]}, CONFIG)
    assert said(model) == ["all new", "go on"]


def test_an_older_checkpoint_is_a_rewind():
    model, agent, _ = talked()
    older = agent.get_state(CONFIG).config
    agent.invoke({"messages": [HumanMessage("one way")]}, CONFIG)
    agent.invoke({"messages": [HumanMessage("other way")]}, older)
    assert "other way" in said(model)
    assert "one way" not in said(model)
    assert "begin" in said(model)


def test_a_compacted_history_that_is_cut_stays_valid():
    model = Scripted()
    agent = agent_of(model, checkpointer=InMemorySaver())
    messages = played(agent, CONFIG, turns=2)
    cut = next(at for at, message in enumerate(messages) if message.type == "human" and at)
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id=str(message.id)) for message in messages[cut:]]})
    model.requests.clear()
    rest = agent.invoke({"messages": [HumanMessage(world.asked(1))]}, CONFIG)["messages"]
    assert len(model.requests) == world.TURN
    assert faults(model, rest) == []


@pytest.mark.filterwarnings("ignore:.*trim.*")
def test_a_summarizing_middleware_is_reported_once():
    model = Talking()
    other = SummarizationMiddleware(model=Talking(), trigger=("messages", 20), keep=("messages", 4))
    agent = agent_of(model, other, middleware_of(), checkpointer=InMemorySaver())
    with pytest.warns(BackscrollWarning, match="`SummarizationMiddleware` has replaced"):
        agent.invoke({"messages": [*talk(50), HumanMessage("begin")]}, CONFIG)
    agent.invoke({"messages": [HumanMessage("go on")]}, CONFIG)  # a second warning would be an error
    assert "go on" in said(model)


def test_pictures_go_out_as_they_came_and_leave_as_text():
    blocks: list[Any] = [
        {"type": "image", "base64": world.PNG, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": world.PNG, "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{world.PNG}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": world.PNG}},
        {"type": "audio", "base64": world.PNG, "mime_type": "audio/wav"},
        {"type": "file", "base64": world.PNG, "mime_type": "application/pdf"},
    ]
    model, inner = (
        Talking(usage=False),
        Recording(),
    )  # the base class of models rewrites some of these blocks for itself
    agent = agent_of(model, middleware_of(budget=4_000), inner)
    messages: list[Any] = []
    for block in blocks * 3:
        said_now = HumanMessage([{"type": "text", "text": "look " * 200}, block])
        messages = agent.invoke({"messages": [*messages, said_now]})["messages"]
        shown = inner.requests[-1]
        assert shown[-1] is messages[-2]
        assert messages[-2].content[1] == block
    assert any("<summary>" in str(message.content) for message in shown)
    assert faults(inner, messages) == []
