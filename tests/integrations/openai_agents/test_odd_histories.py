"""Odd histories in a real run: what the SDK's own models send is accepted, and the SDK's items stay as they were."""

import asyncio
import json
from copy import deepcopy

import pytest
from agents.testing import assistant_message

from backscroll.evaluation.fake_providers import FakeOpenAIChat, FakeOpenAIResponses, reply
from backscroll.integrations.openai_agents import managed
from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Thought
from tests.integrations.openai_agents.scripted import FollowingModel, Spy, agent_with, run
from tests.integrations.openai_agents.wire import chat_model, responses_model

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn


def built(step):
    """The items of a step."""
    if isinstance(step, Said):
        return [{"role": step.role, "content": step.words}]
    if isinstance(step, Called):
        call = {"type": "function_call", "name": odd.TOOL, "arguments": step.arguments}
        return [{**call, "call_id": known} for known in step.ids]
    if isinstance(step, Returned):
        output = {"type": "function_call_output", "call_id": step.id, "output": step.value}
        return [output, *([{"role": "user", "content": step.also}] if step.also else ())]
    assert isinstance(step, Thought)
    return [{"type": "reasoning", "id": step.id, "summary": [], "encrypted_content": "sealed"}]


def ran(situation, model, *, streamed=False):
    """Run an agent through a situation. Each run is given the items that the one before left."""

    async def runs():
        items = []
        agent = agent_with(managed(model))
        for turn in situation.turns:
            items = [*items, *(item for step in turn.steps for item in built(step))]
            if turn.prompt is not None:
                items.append({"role": "user", "content": turn.prompt})
            before = deepcopy(items)
            result = await run(agent, items, streamed=streamed)
            assert items == before
            assert result.to_input_list()[: len(before)] == before
            items = result.to_input_list()

    asyncio.run(runs())


def check(situation, requests):
    assert len(requests) == len(situation.turns)
    sent = json.dumps(requests[-1], ensure_ascii=False)
    if situation.name.startswith("second_result"):  # the SDK itself keeps only the newest output of a call
        assert odd.not_as_wanted(situation._replace(shown=("w0x", "w2x"), hidden=("w1x",)), sent) == []
    else:
        assert odd.not_as_wanted(situation, sent) == []
        assert odd.changed_prefixes(requests) == 0


@pytest.mark.parametrize("situation", odd.situations(without=["server"]), ids=odd.name_of)
def test_odd_history_is_accepted_by_responses(situation):
    fake = FakeOpenAIResponses()
    ran(situation, responses_model(fake))
    check(situation, [request["input"] for request in fake.requests])


@pytest.mark.parametrize("situation", odd.situations(without=["server", "reasoning"]), ids=odd.name_of)
def test_odd_history_is_accepted_by_chat(situation):
    fake = FakeOpenAIChat()
    ran(situation, chat_model(lambda body: fake.create(messages=body["messages"])["choices"][0]["message"]))
    check(situation, [request["messages"] for request in fake.requests])


@pytest.mark.parametrize("situation", odd.situations(without=["server"]), ids=odd.name_of)
def test_items_that_need_no_healing_are_the_very_objects(situation):
    model, spy = FollowingModel(lambda step: [assistant_message("Fine.")]), Spy()
    items = [item for turn in situation.turns for step in turn.steps for item in built(step)]
    asyncio.run(run(agent_with(managed(model)), items, run_config=spy.config()))
    given, sent = spy.histories[-1], model.requests[-1]
    assert given == spy.copies[-1]
    assert [each for each in sent if each in given and not any(each is own for own in given)] == []


@pytest.mark.parametrize("streamed", [False, True])
def test_loop_that_was_killed_goes_on_with_another_call(streamed):
    """The call that lost its result and the next one are items in a row, which nothing parts in the SDK's history."""
    fake = FakeOpenAIResponses(replies=[reply("", calls=[("order", {"number": 1})]), "All done."])
    items = [*built(Said("Run the job, w0x.")), *built(Called(("c1",)))]

    async def both():
        agent = agent_with(managed(responses_model(fake)))
        first = await run(agent, items, streamed=streamed)
        late = [*built(Returned("c1", "w1x, at last")), {"role": "user", "content": "w2x And?"}]
        await run(agent, [*first.to_input_list(), *late], streamed=streamed)

    asyncio.run(both())
    sent = json.dumps(fake.requests[-1]["input"])
    assert len(fake.requests) == 3
    assert all(words in sent for words in ("w0x", "order 1", "w1x", "w2x", "All done."))
