"""Pictures, other people's edits of a request, and secrets."""

import asyncio
import json

import pytest
from agents import RunConfig, ToolOutputImage, Usage, function_tool
from agents.run_config import ModelInputData
from agents.testing import assistant_message, function_call
from openai.types.responses.response_usage import InputTokensDetails

from backscroll import BackscrollWarning
from backscroll.integrations.openai_agents import managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import (
    BOTH_WAYS,
    FollowingModel,
    Spy,
    agent_with,
    items_at,
    judged,
    run,
    tokens,
)

pytestmark = pytest.mark.frameworks

PICTURE = f"data:image/png;base64,{world.PNG}"


@function_tool
def look(number: int) -> ToolOutputImage:
    """Look at a shelf.

    Args:
        number: Its number.
    """
    return ToolOutputImage(image_url=PICTURE)


@BOTH_WAYS
def test_pictures_pass_the_gate(streamed):
    """In what the user says, and in what a tool answers."""

    def answer(step):
        if step == 29:
            return [assistant_message("done")]
        name = "look" if step % 3 else "order"
        return [function_call(name, {"number": step}, call_id=f"c{step}")]

    inner, spy = FollowingModel(answer), Spy()
    inner.usage = lambda items: Usage()  # a picture is no text
    model = managed(inner, budget=6_000)
    said = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": PICTURE}],
        }
    ]
    result = asyncio.run(run(agent_with(model, look), said, streamed=streamed, run_config=spy.config()))
    assert judged(inner.requests, spy.histories) == []
    assert model.conversation.usage("scripted-1").compactions > 0
    outputs = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert sum(output == [{"type": "input_image", "image_url": PICTURE}] for output in outputs) >= 10
    kept = json.dumps(inner.requests[-1]).count(world.PNG)
    assert 0 < kept < json.dumps(spy.histories[-1]).count(world.PNG)


@BOTH_WAYS
def test_a_reminder_that_others_add_to_each_request_is_sent(streamed):
    """A filter of the user adds an item at the end of each request, and takes it out of the next."""
    histories = []

    def remind(data):
        given = data.model_data
        histories.append([*given.input, {"role": "user", "content": f"It is step {len(histories)}."}])
        return ModelInputData(input=histories[-1], instructions=given.instructions)

    inner = FollowingModel(items_at)
    model = managed(inner, budget=world.BUDGET)
    config = RunConfig(call_model_input_filter=remind)
    asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0), streamed=streamed, run_config=config))
    assert len(inner.requests) == world.TURN
    for number, request in enumerate(inner.requests):
        assert request[-1] == {"role": "user", "content": f"It is step {number}."}
    assert judged(inner.requests, histories) == []
    assert {*model.lines.all()} == {"main"}


def test_a_secret_reaches_no_model_and_stays_in_the_history():
    def redact(message):
        return json.loads(json.dumps(message).replace("item 0-0", "***"))

    inner = FollowingModel(items_at)
    model = managed(inner, redact=redact)
    result = asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0)))
    assert "item 0-0" not in json.dumps(inner.requests)
    assert "***" in json.dumps(inner.requests[1])
    assert "item 0-0" in json.dumps(result.to_input_list()[:4])


def test_a_run_that_ends_with_reasoning_is_left_out():
    """OpenAI refuses reasoning without the item that followed it. The SDK's own items keep it."""
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"}
    said = [{"role": "user", "content": "a"}, thought, {"role": "user", "content": "b"}]
    inner = FollowingModel(lambda step: [assistant_message("done")])
    with pytest.warns(BackscrollWarning, match="reasoning_alone"):
        result = asyncio.run(run(agent_with(managed(inner)), said))
    ((first, between, last),) = inner.requests
    assert [first, last] == [said[0], said[2]]
    assert (between["role"], "sealed" in str(inner.requests)) == ("assistant", False)
    assert result.to_input_list()[:3] == said


@pytest.mark.parametrize(("requests", "source"), [(1, "measured"), (2, "estimated")])
@pytest.mark.parametrize("streamed", [False, True])
def test_usage_of_several_requests_is_not_learned_from(requests, source, streamed):
    """The figures of a response that a model made of several requests add up."""
    inner = FollowingModel(items_at)
    inner.usage = lambda items: Usage(requests=requests, input_tokens=tokens(items), output_tokens=20)
    model = managed(inner)
    asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0), streamed=streamed))
    assert model.conversation.usage("scripted-1").used.source == source


def test_cached_tokens_are_reported_apart():
    inner = FollowingModel(items_at)
    details = InputTokensDetails(cached_tokens=200, cache_write_tokens=50)
    inner.usage = lambda items: Usage(requests=1, input_tokens=tokens(items), input_tokens_details=details)
    model = managed(inner)
    asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0)))
    report = asyncio.run(model.conversation.list_requests())[-2]
    assert (report.cached, report.written) == (200, 50)
