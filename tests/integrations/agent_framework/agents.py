"""Agents for the tests of this adapter: a real agent, a scripted model, and the tool of `world`."""

from typing import Any

from agent_framework import Agent, AgentSession, Message

from backscroll.integrations.agent_framework import BackscrollProvider
from tests.integrations import world
from tests.integrations.agent_framework.scripted import Scripted

LANE = "scripted/small"


def order(number: int) -> str:
    """Look up an order."""
    return world.order(number)


def provider_of(**options: Any) -> BackscrollProvider:
    """A provider with a small budget."""
    return BackscrollProvider(**{"budget": world.BUDGET, **options})


def agent_of(client: Scripted, provider: BackscrollProvider, *others: Any, **options: Any) -> Agent:
    """An agent."""
    settings = {"name": "shop", "tools": [order], **options}
    return Agent(client, world.SYSTEM, context_providers=[provider, *others], **settings)


async def say(agent: Agent, text: Any, session: AgentSession | None, *, stream: bool = False) -> str:
    """Run the agent once, and return what it answers."""
    if not stream:
        return (await agent.run(text, session=session)).text
    running = agent.run(text, session=session, stream=True)
    async for _ in running:
        pass
    return (await running.get_final_response()).text


async def work_through(agent: Agent, session: AgentSession, turns: int = 3, *, stream: bool = False) -> None:
    """Give the agent the work of `world`."""
    for turn in range(turns):
        await say(agent, world.asked(turn), session, stream=stream)


def history_of(session: AgentSession) -> list[Message]:
    """The framework's own history."""
    found: list[Message] = session.state["in_memory"]["messages"]
    return found
