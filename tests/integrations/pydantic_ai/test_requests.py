"""Each request of an agent is a valid view, and its history stays what it was."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import BinaryContent

from backscroll.integrations.pydantic_ai import Backscroll
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import Scripted, agent_of, called, kept, said, spoken, turns
from tests.present import present

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1_024).to_bytes(4) + (768).to_bytes(4) + b"\x08\x02\0\0\0"
"""The beginning of a picture of 1,024 x 768."""


def check(model: Scripted, history: list[Any], *, steps: int = world.STEPS) -> None:
    """Assert what holds for all requests of a run, whose whole history this is."""
    said = spoken(history)
    assert (len(model.requests), model.refused) == (steps, 0)
    assert world.faults((sent, said[: said.index(sent[-1]) + 1]) for sent in model.spoken) == []


@pytest.fixture(scope="module")
def sixty() -> tuple[Scripted, Any, Any]:
    """Sixty steps: the model, the capability, the result."""
    model, context = Scripted(), Backscroll()
    return model, context, asyncio.run(turns(agent_of(model, context), 3))


def test_sixty_steps_pass_the_gate(sixty):
    model, context, result = sixty
    check(model, result.all_messages())
    usage = context.conversation(result.conversation_id, "shop").usage("scripted/m")
    assert (usage.window, usage.used.source) == (world.BUDGET, "measured")
    assert usage.compactions > 3
    assert {tool.name for tool in usage.tools} == {"order", "recall"}


def test_the_history_is_whole(sixty):
    _, _, result = sixty
    history = spoken(result.all_messages())
    assert [each["content"] for each in history if each["role"] == "user"] == [world.asked(turn) for turn in range(3)]
    calls = [call for step in range(world.STEPS) for call in world.calls_at(step)]
    made = [call["id"] for each in history for call in each.get("tool_calls", ())]
    assert made == [call.id for call in calls]
    answers = {each["tool_call_id"]: each["content"] for each in history if each["role"] == "tool"}
    assert all(answers[call.id] == world.order(**call.arguments) for call in calls if call.name == "order")


def test_what_the_view_keeps_is_the_very_object(sixty):
    model, _, result = sixty
    history = result.all_messages()
    own, said = {id(message) for message in history}, {str(spoken([message])) for message in history}
    shown = [message for request in model.requests for message in request]
    assert sum(id(message) in own for message in shown) > len(shown) / 2
    assert not [message for message in shown if id(message) not in own and str(spoken([message])) in said]


def test_between_compactions_the_prefix_stays(sixty):
    model, context, result = sixty
    compactions = context.conversation(result.conversation_id, "shop").usage("scripted/m").compactions
    assert world.broken_prefixes(model.spoken) <= compactions < world.STEPS / 2


def test_recall_answers_the_model(sixty):
    _, _, result = sixty
    history = spoken(result.all_messages())
    recalled = [each["content"] for each in history if each.get("tool_call_id") in ("call_35", "call_55")]
    assert len(recalled) == 2
    assert all(world.order(0) in text for text in recalled)


def test_a_long_run_without_turns():
    model = Scripted(lambda step, messages: by_calls(step))
    result = asyncio.run(agent_of(model).run("Go."))
    check(model, result.all_messages(), steps=25)


def by_calls(step: int) -> Any:
    return said("Done.") if step == 24 else called(world.Called(f"c{step}", "order", {"number": step}))


@pytest.fixture
def loop() -> Iterator[None]:
    """The loop that `run_sync` finds, which nobody else would close."""
    asyncio.set_event_loop(loop := asyncio.new_event_loop())
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("loop")
def test_it_runs_without_an_event_loop():
    model = Scripted()
    agent, history = agent_of(model), None
    for turn in range(2):
        history = agent.run_sync(world.asked(turn), message_history=history).all_messages()
    check(model, present(history), steps=2 * world.TURN)


def test_it_streams():
    model = Scripted(system="function")
    agent = agent_of(model)

    async def run() -> tuple[list[str], Any]:
        history, texts = None, []
        for turn in range(2):
            async with agent.run_stream(world.asked(turn), message_history=history) as result:
                texts.append([text async for text in result.stream_text()][-1])
            history = result.all_messages()
        return texts, history

    texts, history = asyncio.run(run())
    assert [text.strip() for text in texts] == [world.text_at(turn * world.TURN - 1) for turn in (1, 2)]
    check(model, history, steps=2 * world.TURN)


def test_the_same_requests_streamed_or_not():
    async def requests(stream: bool) -> list[Any]:
        model, history = Scripted(system="function"), None
        agent = agent_of(model)
        for turn in range(2):
            async with agent.iter(world.asked(turn), message_history=history) as run:
                async for node in run:
                    if stream and agent.is_model_request_node(node):
                        async with node.stream(run.ctx) as events:
                            async for _ in events:
                                pass
            history = present(run.result).all_messages()
        return [[{k: v for k, v in each.items() if v} for each in request] for request in model.spoken]

    assert asyncio.run(requests(False))[:19] == asyncio.run(requests(True))[:19]


def test_a_given_history_is_not_touched(sixty):
    _, _, result = sixty
    history = result.all_messages()
    before, objects = kept(history), list(history)
    asyncio.run(turns(agent_of(Scripted()), 1, begin=3, history=history))
    assert history == before
    assert all(now is then for now, then in zip(history, objects, strict=True))


def test_pictures_are_counted_and_leave_as_texts():
    picture = BinaryContent(PNG, media_type="image/png")
    model = Scripted(lambda step, messages: said(f"I see {step}."), window=200_000, system="function")
    agent = agent_of(model, Backscroll(budget=5_000))

    async def run() -> Any:
        history = None
        for turn in range(12):
            prompt: list[Any] = [f"Picture {turn}:", replace(picture)]
            history = (await agent.run(prompt, message_history=history)).all_messages()
        return history

    history = asyncio.run(run())
    shown = [item for message in model.requests[-1] for part in message.parts for item in items_of(part)]
    pictures = [item for item in shown if isinstance(item, BinaryContent)]
    assert 0 < len(pictures) < 8, "each has about 1,000 tokens"
    own = {id(item) for message in history for part in message.parts for item in items_of(part)}
    assert all(id(item) in own for item in pictures)
    assert sum(isinstance(i, BinaryContent) for m in history for p in m.parts for i in items_of(p)) == 12


def items_of(part: Any) -> list[Any]:
    return list(part.content) if isinstance(part.content, list) else [part.content]
