"""OpenAI binds reasoning to what came before it: a fake of its API refuses each request that breaks its rules.

The fake is behind OpenAI's own client, in the SDK's own model for the Responses API.
"""

import asyncio
import itertools
import json

import pytest
from agents import ModelSettings, Runner

from backscroll.evaluation.fake_providers import FakeOpenAIResponses, reply
from backscroll.integrations.openai_agents import managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import Spy, agent_with, judged, run
from tests.integrations.openai_agents.wire import responses_model
from tests.long_run import usual_sets

pytestmark = pytest.mark.frameworks


def working(**options):
    """A fake whose model follows the script of `world`, with reasoning; the managed model; and its settings."""
    steps = itertools.count()

    def answer(_):
        step = next(steps)
        calls = [(call.name, call.arguments) for call in world.calls_at(step)]
        said = "" if calls else world.text_at(step)
        return reply(said, thinking=f"I think about step {step}. " * 4, calls=calls)

    fake = FakeOpenAIResponses(replies=answer, on_mismatch="error")
    return fake, managed(responses_model(fake), budget=world.BUDGET, **options)


def work(streamed, turns, **settings):
    """Turns of twenty requests. Returns the fake and the spy."""
    fake, model = working()
    spy = Spy()
    of_model = ModelSettings(response_include=["reasoning.encrypted_content"], **settings)
    agent = agent_with(model, model.recall_tool, model_settings=of_model)

    async def work_on():
        items = []
        for turn in range(turns):
            said = [*items, {"role": "user", "content": world.asked(turn)}]
            items = (await run(agent, said, streamed=streamed, run_config=spy.config())).to_input_list()

    asyncio.run(work_on())
    return fake, spy


@pytest.mark.parametrize(
    ("streamed", "turns", "stored"),
    usual_sets([(True, 2, False), (False, 2, True), (False, 3, False)], 1),
)
def test_no_request_is_refused_and_no_reasoning_dropped(streamed, turns, stored):
    fake, spy = work(streamed, turns, store=stored)
    requests = [request["input"] for request in fake.requests]
    assert len(requests) == len(spy.histories) == turns * world.TURN, "each request was accepted the first time"
    assert judged(requests, spy.histories) == []
    sealed = [sum(item.get("type") == "reasoning" for item in request) for request in requests]
    assert sum(sealed) > 40 * turns, "reasoning is kept where it is valid"
    assert world.broken_prefixes(requests) > 3, "compactions changed what reasoning is bound to"


def test_another_output_type_is_a_change_of_the_prefix():
    """The format of the answer precedes all items, so reasoning from before a change of it must go."""
    fake, model = working()

    async def both():
        settings = ModelSettings(response_include=["reasoning.encrypted_content"])
        first = agent_with(model, model_settings=settings)
        result = await run(first, world.asked(0), max_turns=3, error_handlers={"max_turns": lambda _: "enough"})
        items = [*result.to_input_list(), {"role": "user", "content": "Go on."}]
        second = first.clone(output_type=dict[str, int])
        with pytest.raises(Exception, match="Max turns"):
            await Runner.run(second.clone(output_type=list[int]), items, max_turns=2)

    asyncio.run(both())
    before, after = fake.requests[2], fake.requests[3]
    assert "encrypted_content" in json.dumps(before["input"])
    assert "encrypted_content" not in json.dumps(after["input"])
    assert len(fake.requests) == 5, "each request was accepted the first time"
