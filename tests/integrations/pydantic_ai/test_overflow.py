"""A request that the provider rejects as too long is answered by shorter ones."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelContextWindowExceededError, ModelHTTPError
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.fallback import FallbackModel

from backscroll import BudgetError, RequestTooLargeError
from backscroll.events import OVERFLOW
from backscroll.integrations.overflow_retry import MOST_REJECTIONS
from backscroll.integrations.pydantic_ai import Backscroll, RequestTooLarge
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import (
    Scripted,
    agent_of,
    by_world,
    kept,
    said,
    spoken,
    tokens_of,
    too_long,
    turns,
)

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore:the provider refused a request")]
TIGHT = 1_800
"""Tokens that a provider accepts, although its model is known to take more."""


class Measuring(Scripted):
    """Notes the tokens of each request, also of those that it rejects."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sizes: list[int] = []

    async def _answer(self, messages: Any, info: Any) -> Any:
        self.sizes.append(tokens_of(messages, info))
        return await super()._answer(messages, info)


async def streamed(agent: Agent[Any, Any], number: int) -> Any:
    history = None
    for turn in range(number):
        async with agent.run_stream(world.asked(turn), message_history=history) as result:
            await result.get_output()
        history = result.all_messages()
    return result


async def say(agent: Agent[Any, Any], text: str, *, stream: bool) -> None:
    if not stream:
        await agent.run(text)
        return
    async with agent.run_stream(text) as result:
        await result.get_output()


@pytest.mark.parametrize("run", [turns, streamed])
def test_a_rejection_is_answered_by_a_shorter_request(run):
    model = Measuring(limit=TIGHT, system="function")
    result = asyncio.run(run(agent_of(model), 1))
    assert model.refused > 0
    assert len(model.requests) == world.TURN
    assert max(size for size in model.sizes if size <= TIGHT) > 0
    said_all = spoken(result.all_messages())
    assert world.faults((sent, said_all[: said_all.index(sent[-1]) + 1]) for sent in model.spoken) == []
    rejected = [(one, two) for one, two in pairwise(model.sizes) if one > TIGHT]
    assert all(two < one for one, two in rejected)


@pytest.mark.parametrize(
    "error",
    [
        ModelHTTPError(400, "m", {"error": {"code": "context_length_exceeded"}}),
        ModelContextWindowExceededError("m", "service unavailable for this many words"),
    ],
)
def test_an_error_is_known_by_its_text_or_by_its_class(error):
    model = Measuring(window=200_000)
    model.limit = 0

    def reject_first(step: int, messages: Any) -> Any:
        return error if len(model.sizes) == 1 else said("Fine.")

    model.script = reject_first
    long = "All work and no play makes Jack a dull boy.\n" * 300
    result = asyncio.run(agent_of(model).run(long))
    assert result.output == "Fine."
    assert model.sizes[1] < model.sizes[0]
    prompt = result.all_messages()[0].parts[0]
    assert isinstance(prompt, UserPromptPart)
    assert prompt.content == long


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_that_is_no_overflow_passes_unchanged(stream):
    error = ModelHTTPError(429, "m", {"error": {"message": "rate limit: too many tokens per minute"}})
    model = Measuring(script=lambda step, messages: error, window=200_000)
    agent = agent_of(model)
    with pytest.raises(ModelHTTPError) as raised:
        asyncio.run(say(agent, "Hello.", stream=stream))
    assert raised.value is error
    assert len(model.sizes) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_too_many_rejections_end_in_one_error(stream):
    model: Measuring = Measuring(
        script=lambda step, messages: too_long(model.sizes[-1], model.sizes[-1] - 1), window=None
    )
    agent = agent_of(model)
    with pytest.raises(RequestTooLarge, match="24 times in a row") as raised:
        asyncio.run(say(agent, "word " * 3_000, stream=stream))
    assert isinstance(raised.value, RequestTooLargeError)
    assert isinstance(raised.value, ModelContextWindowExceededError)
    assert raised.value.model_name == "m"
    assert len(model.sizes) == MOST_REJECTIONS + 1


def test_a_run_that_failed_leaves_no_rejections_behind():
    def script(step: int, messages: Any) -> Any:
        at = len(model.sizes) % 20
        if at:
            return too_long(model.sizes[-1], model.sizes[-1] - 1)
        return ModelHTTPError(503, "m", "service unavailable") if len(model.sizes) == 20 else said("Fine.")

    model = Measuring(script=script, window=None)
    agent = agent_of(model)
    with pytest.raises(ModelHTTPError):
        asyncio.run(agent.run("word " * 3_000, conversation_id="c"))
    assert asyncio.run(agent.run("word " * 3_000, conversation_id="c")).output == "Fine."
    assert len(model.sizes) == 40


def test_what_must_stay_and_cannot_fit_is_one_error():
    agent = Agent(Scripted(), capabilities=[Backscroll(budget=60)], instructions="Be brief. " * 100)
    with pytest.raises(BudgetError, match="budget"):
        asyncio.run(agent.run("Hello."))


def test_a_rejection_by_all_fallback_models_is_one_too():
    small, other = Measuring(limit=TIGHT, name="small"), Measuring(limit=TIGHT, name="other")
    agent = Agent(FallbackModel(small, other), tools=[world.order], capabilities=[Backscroll(budget=world.BUDGET)])
    result = asyncio.run(agent.run(world.asked(0)))
    assert result.output == world.text_at(world.TURN - 1)
    assert small.refused == other.refused > 0


def test_another_failure_of_fallback_models_passes_unchanged():
    def broken(step: int, messages: Any) -> Any:
        return ModelHTTPError(503, "m", "service unavailable")

    agent = Agent(FallbackModel(Scripted(broken), Scripted(broken)), capabilities=[Backscroll()])
    with pytest.raises(FallbackExceptionGroup):
        asyncio.run(agent.run("Hello."))


def test_the_history_is_whole_after_rejections():
    model = Measuring(limit=TIGHT)
    agent = agent_of(model)
    first = asyncio.run(turns(agent, 1)).all_messages()
    before = kept(first)
    asyncio.run(turns(agent, 1, begin=1, history=first))
    assert first == before


def test_a_fallback_gets_a_view_of_its_own():
    """Pydantic AI hands the view of the first model to the next: it is no measure of what that one takes."""
    fallback = pytest.importorskip("pydantic_ai.capabilities.model_fallback").ModelFallback  # came after 2.62

    def broken(step: int, messages: Any) -> Any:
        return ModelHTTPError(503, "m", "service unavailable") if step >= 4 else by_world(step, messages)

    first, other = Scripted(broken, name="first"), Measuring(limit=TIGHT, window=2 * TIGHT, name="other")
    other.answered = 4
    lanes: list[str] = []
    context = Backscroll(on_event=lambda name, payload: lanes.append(payload["lane"]) if name == OVERFLOW else None)
    agent = agent_of(first, context, capabilities=[fallback(other)])
    asyncio.run(agent.run(world.asked(0), conversation_id="c"))
    assert other.refused > 0
    assert "scripted/first" not in lanes, "nothing was learned of the first model"
    assert context.conversation("c", "shop").usage("scripted/other").window == TIGHT
