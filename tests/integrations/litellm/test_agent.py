"""An agent of sixty steps at a small budget, with LiteLLM's own calls: sync, async, streamed, and by the callback."""

import asyncio
from itertools import pairwise
from typing import Any

import litellm
import pytest

from backscroll.integrations.litellm.translation import as_dict
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import Agent, handler_of, installed, ran, run, run_async
from tests.integrations.litellm.provider import providing
from tests.integrations.world import BUDGET, STEPS, SYSTEM, broken_prefixes, faults

pytestmark = OURS
COUNTED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def sync(agent: Agent) -> Agent:
    return run(agent)


def sync_streamed(agent: Agent) -> Agent:
    return run(agent, **COUNTED)


def with_loop(agent: Agent) -> Agent:
    return ran(agent)


def with_loop_streamed(agent: Agent) -> Agent:
    return ran(agent, **COUNTED)


def by_callback(agent: Agent) -> Agent:
    with installed(agent.handler):
        return ran(agent, complete=litellm.acompletion)


def by_callback_streamed(agent: Agent) -> Agent:
    async def all_reported() -> None:
        await run_async(agent, complete=litellm.acompletion, **COUNTED)
        for _ in range(500):  # a task of LiteLLM's reports it
            if agent.handler.conversation("s").awaited is None:
                break
            await asyncio.sleep(0.01)

    with installed(agent.handler):
        asyncio.run(all_reported())
    return agent


WAYS = (sync, with_loop_streamed, by_callback)
LONG = (sync_streamed, with_loop, by_callback_streamed)


@pytest.mark.parametrize("way", [*WAYS, *[pytest.param(way, marks=pytest.mark.long) for way in LONG]])
def test_sixty_steps_send_valid_views_and_keep_the_history(way):
    with providing() as provider:
        agent = way(Agent(handler_of(), provider))
    assert faults(agent.faults()) == []
    assert len(provider.accepted[agent.model]) == STEPS
    usage = agent.handler.conversation("s").usage("openai/small-1")
    assert usage.compactions > 3
    assert broken_prefixes(provider.requests(agent.model)) == usage.compactions
    assert usage.used.tokens <= BUDGET
    assert usage.used.source == "measured", "the provider's own count"
    histories = [*agent.seen, [as_dict(message) for message in agent.messages]]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(histories))
    assert agent.messages[0] == {"role": "system", "content": SYSTEM}
    assert agent.recalled == ['{"number": 0}'] * 3, "message 2 is the first call"
