"""A model that follows a script, the agents around it, and a spy that notes what it was asked."""

import asyncio
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from agents.run_config import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from backscroll.messages.dialects.response_items import gathered
from tests.integrations import world

set_tracing_disabled(True)
TOO_LONG = "This model's maximum context length is 3000 tokens. However, your messages resulted in 4000 tokens."


BOTH_WAYS = pytest.mark.parametrize("streamed", [pytest.param(False, marks=pytest.mark.long), True])
"""Streamed in the usual run; not streamed as well in the long one. Short tests run both at once."""


class Refused(Exception):
    """What a provider's client raises."""


class FollowingModel(Model):
    """A model whose answer follows from its number, streamed or not. It keeps the very items that it was sent.

    Args:
        answer: Returns the output items of the n-th answer, or raises.
        name: The model's name.
    """

    def __init__(self, answer: Callable[[int], Sequence[Any]], name: str = "scripted-1") -> None:
        self.model = name
        self.answer = answer
        self.requests: list[list[Any]] = []
        self.answered = 0
        self.refusals: list[Any] = []
        """Raised first, each instead of an answer: errors, or functions of the items that return one."""
        self.usage = lambda items: Usage(requests=1, input_tokens=tokens(items), output_tokens=20)
        self.closed = 0

    def _next(self, items: list[Any]) -> ModelResponse:
        self.requests.append(list(items))
        if self.refusals:
            refusal = self.refusals.pop(0)
            raise refusal if isinstance(refusal, Exception) else refusal(items)
        output = self.answer(self.answered)
        self.answered += 1
        return ModelResponse(output=list(output), usage=self.usage(items), response_id=f"resp_{self.answered}")

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        return self._next(_items(args, kwargs))

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        script = ScriptedModel([self._next(_items(args, kwargs))])
        async for event in script.stream_response(args[0], [], *args[2:], **kwargs):  # it would copy the items
            yield event

    async def close(self) -> None:
        self.closed += 1


def _items(args: tuple[Any, ...], given: dict[str, Any]) -> list[Any]:
    """The input of a call: the SDK names its arguments in some calls."""
    return args[1] if args else given["input"]


def items_at(step: int) -> list[Any]:
    """What a model answers that follows the script of `world`: with reasoning before its calls."""
    calls = world.calls_at(step)
    if not calls:
        return [assistant_message(world.text_at(step), item_id=f"msg_{step}")]
    thought = ResponseReasoningItem(id=f"rs_{step}", type="reasoning", summary=[], encrypted_content=f"sealed {step}")
    return [thought, *(function_call(each.name, each.arguments, call_id=each.id) for each in calls)]


@function_tool
def order(number: int) -> str:
    """Look up an order.

    Args:
        number: Its number.
    """
    return world.order(number)


class Spy:
    """A filter that changes nothing and notes the SDK's own input of each model call."""

    def __init__(self) -> None:
        self.histories: list[list[Any]] = []
        self.copies: list[list[Any]] = []

    def __call__(self, data: Any) -> ModelInputData:
        self.histories.append(list(data.model_data.input))
        self.copies.append(deepcopy(data.model_data.input))
        return data.model_data

    def config(self, **more: Any) -> RunConfig:
        return RunConfig(call_model_input_filter=self, **more)


def agent_with(model: Any, *tools: Any, name: str = "shop", **more: Any) -> Agent[Any]:
    return Agent(name=name, instructions=world.SYSTEM, model=model, tools=[order, *tools], **more)


async def run(agent: Agent[Any], said: Any, *, streamed: bool = False, **how: Any) -> Any:
    """Run an agent, and return its result."""
    how.setdefault("max_turns", 100)
    if not streamed:
        return await Runner.run(agent, said, **how)
    result = Runner.run_streamed(agent, said, **how)
    async for _ in result.stream_events():
        pass
    return result


def run_sync(agent: Agent[Any], said: Any, **how: Any) -> Any:
    """Run an agent without an event loop. The SDK never closes the one that it makes then, so it gets one."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return Runner.run_sync(agent, said, max_turns=100, **how)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _messages(items: Sequence[Any]) -> list[Any]:
    return gathered(items)


def judged(requests: Sequence[Sequence[Any]], histories: Sequence[Sequence[Any]]) -> list[str]:
    """What is wrong with requests, by the judge of views. The core's own reader makes messages of the items."""
    return world.faults(zip(map(_messages, requests), map(_messages, histories), strict=True))


def tokens(items: Sequence[Any]) -> int:
    """Roughly what a provider would count, with instructions and tools."""
    return 300 + len(json.dumps(items)) // 4
