"""Summaries by a chat model: its words are in views, and never in the stream of the agent."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from backscroll import Summarizer
from backscroll.integrations.langchain import SummaryFromModel
from tests.integrations import world
from tests.integrations.langchain.agents import agent_of, config_of, middleware_of
from tests.integrations.langchain.scripted import Scripted

CONFIG = config_of("one")


def summing() -> Scripted:
    """A model that writes summaries."""
    return Scripted(model="small", script=lambda step: AIMessage(f"Abridged in {step}: they look up orders."))


@pytest.mark.parametrize("loop", [False, True])
def test_a_chat_model_writes_summaries(loop):
    model, small, seen = Scripted(), summing(), list[Any]()
    middleware = middleware_of(summarizer=Summarizer(SummaryFromModel(small), wait_seconds=30))
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())

    async def arun() -> None:
        for turn in range(1):
            async for event in agent.astream(
                {"messages": [("user", world.asked(turn))]}, CONFIG, stream_mode="messages"
            ):
                seen.append(event)

    if loop:
        asyncio.run(arun())
    else:
        for turn in range(1):
            seen += agent.stream({"messages": [("user", world.asked(turn))]}, CONFIG, stream_mode="messages")
    assert small.requests
    assert [message.type for message in small.requests[0]] == ["system", "human"]
    assert "Abridged" in str(model.requests[-1])
    assert "Abridged" not in str(seen), "word by word"


def test_the_option_may_be_the_model_itself():
    middleware = middleware_of(summarizer=summing())
    assert isinstance(middleware._threads._stored._options["summarizer"], SummaryFromModel)
