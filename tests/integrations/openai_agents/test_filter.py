"""Views by a filter of the SDK, for models that cannot be wrapped."""

import asyncio
import json

import pytest
from agents import Agent, ModelSettings, RunConfig
from agents.exceptions import AgentsException
from agents.testing import assistant_message, function_call

from backscroll import BudgetError, ConfigurationError
from backscroll.integrations.openai_agents import ManagedModels
from tests.integrations import world
from tests.integrations.openai_agents.scripted import (
    BOTH_WAYS,
    FollowingModel,
    Spy,
    agent_with,
    items_at,
    judged,
    order,
    run,
)

pytestmark = pytest.mark.frameworks


def filtered(models, session, spy):
    """A filter behind a spy that notes the SDK's own input."""
    show = models.input_filter(session)

    async def both(data):
        spy(data)
        return await show(data)

    return both


@BOTH_WAYS
def test_forty_requests_pass_the_gate(streamed):
    inner, spy, models = FollowingModel(items_at), Spy(), ManagedModels(budget=world.BUDGET)
    agent = agent_with(inner, models.recall_tool)
    config = RunConfig(call_model_input_filter=filtered(models, "user-1", spy))

    async def turns():
        items = []
        for turn in range(2):
            said = [*items, {"role": "user", "content": world.asked(turn)}]
            items = (await run(agent, said, streamed=streamed, run_config=config)).to_input_list()
        return items

    items = asyncio.run(turns())
    assert len(inner.requests) == 2 * world.TURN
    assert judged(inner.requests, spy.histories) == []
    assert spy.copies == spy.histories
    assert max(map(len, inner.requests)) < 60 < len(items)
    assert {*models.conversations("user-1/shop")} == {"user-1/shop"}


def test_recall_finds_the_conversation_of_the_filter():
    def answer(step):
        calls = [function_call("recall", {"ref": "0"}, call_id="r")]
        return calls if step == 0 else [assistant_message("done")]

    inner, models = FollowingModel(answer), ManagedModels()
    config = RunConfig(call_model_input_filter=models.input_filter("user-1"))
    result = asyncio.run(run(agent_with(inner, models.recall_tool), "What did I say?", run_config=config))
    assert [item["output"] for item in result.to_input_list() if "output" in item] == ["What did I say?"]


def test_each_agent_of_a_session_has_its_own_conversation():
    def answer(step):
        if step == 0:
            return [function_call("research", {"input": "Sub work."}, call_id="d0")]
        return [assistant_message("fine")]

    inner, models = FollowingModel(answer), ManagedModels()
    researcher = Agent(name="researcher", model=inner)
    chief = Agent(name="chief", model=inner, tools=[researcher.as_tool("research", "Researches."), order])
    config = RunConfig(call_model_input_filter=models.input_filter("user-1"))
    asyncio.run(run(chief, "Chief work.", run_config=config))
    assert {*models.conversations("user-1/researcher")} == {"user-1/researcher"}
    assert {*models.conversations("user-1/chief")} == {"user-1/chief"}
    assert "Sub work." not in json.dumps(asyncio.run(models.conversation("user-1/chief").get_messages())[0])


def test_what_cannot_fit_ends_the_run():
    models = ManagedModels(budget=1_000)
    inner = FollowingModel(items_at)
    config = RunConfig(call_model_input_filter=models.input_filter("user-1"))
    rules = {"role": "system", "content": "A rule that is never shortened. " * 300}
    said = [rules, {"role": "user", "content": "hello"}]
    with pytest.raises(BudgetError) as raised:
        asyncio.run(run(agent_with(inner), said, run_config=config))
    assert not isinstance(raised.value, AgentsException)
    assert inner.requests == []


def test_settings_that_shorten_the_history_are_refused():
    models, inner = ManagedModels(), FollowingModel(items_at)
    config = RunConfig(call_model_input_filter=models.input_filter("user-1"))
    agent = agent_with(inner, model_settings=ModelSettings(truncation="auto"))
    with pytest.raises(ConfigurationError, match="truncation"):
        asyncio.run(run(agent, "hello", run_config=config))
