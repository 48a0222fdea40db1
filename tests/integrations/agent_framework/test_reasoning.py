"""Reasoning that a provider binds to what came before it: no request holds what it would refuse."""

import asyncio

import pytest

from tests.integrations import world
from tests.integrations.agent_framework.agents import agent_of, provider_of, say
from tests.integrations.agent_framework.bound import BoundAnthropic, BoundOpenAI
from tests.integrations.agent_framework.scripted import Recorder, as_openai
from tests.integrations.thinking import thinker
from tests.long_run import usually

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize(("client", "budget"), [(BoundAnthropic, 8_000), (BoundOpenAI, 4_000)])
@pytest.mark.parametrize("stream", usually([True, False], 1))
def test_no_request_is_refused_for_its_reasoning(client, budget, stream):
    model, recorder = client(thinker(len(client.__name__))), Recorder()
    model.chat_middleware = [recorder]
    provider = provider_of(budget=budget)
    agent = agent_of(model, provider, default_options={"store": False})
    session = agent.create_session()

    async def run() -> None:
        for turn in range(3):
            await say(agent, f"Turn {turn}.", session, stream=stream)

    asyncio.run(run())
    lane = f"{model.OTEL_PROVIDER_NAME}/{model.model}"
    assert model.answered == len(model.requests) == 36
    assert model.dropped == []
    assert model.sealed > 12
    assert provider.conversation(session, agent).usage(lane).compactions > 2
    pairs = zip(model.requests, recorder.given, strict=True)
    assert world.faults((as_openai(request), as_openai(given)) for request, given in pairs) == []
