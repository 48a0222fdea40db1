"""Reasoning that a provider binds to what came before it: no request holds what it would refuse."""

import asyncio
import random
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import Reply, reply
from tests.integrations import world
from tests.integrations.agent_framework.agents import agent_of, provider_of, say
from tests.integrations.agent_framework.bound import BoundAnthropic, BoundOpenAI
from tests.integrations.agent_framework.scripted import Recorder, as_openai


def thinker(seed: int) -> Any:
    """A model that thinks, calls `order` once or twice, and answers after a few steps."""
    chance, steps = random.Random(seed), iter(range(1_000))

    def answer(request: Any) -> Reply:
        step = next(steps)
        thoughts = [f"thought {step} " + "so and so " * chance.choice((5, 40))] * chance.choice((0, 1, 1))
        called = [("order", {"number": 10 * step + n}) for n in range(chance.choice((1, 1, 2)))]
        done = step % 12 == 11
        return reply(f"Step {step}." if done else "", thinking=thoughts, calls=[] if done else called)

    return answer


@pytest.mark.parametrize(("client", "budget"), [(BoundAnthropic, 8_000), (BoundOpenAI, 4_000)])
@pytest.mark.parametrize("stream", [False, True])
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
