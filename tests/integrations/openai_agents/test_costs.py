"""A step costs the same at any length of the history. Counted, not timed."""

import asyncio
from typing import Any

import pytest
from agents import ModelResponse, ModelSettings, Usage
from agents.models.interface import ModelTracing
from agents.testing import assistant_message

from backscroll.integrations.openai_agents import managed
from tests.integrations.openai_agents.scripted import FollowingModel

pytestmark = pytest.mark.frameworks

TEXT = "line of a result\n" * 4


class Blind(FollowingModel):
    """A model that does not look at what it is sent."""

    async def get_response(self, *_, **__):
        return ModelResponse(output=[assistant_message("ok")], usage=Usage(), response_id=None)


class Counted(dict[str, Any]):
    """An item that counts how often an item is looked at."""

    looks = 0

    def get(self, *args):
        Counted.looks += 1
        return super().get(*args)

    def __getitem__(self, key):
        Counted.looks += 1
        return super().__getitem__(key)

    def items(self):
        Counted.looks += 1
        return super().items()


def rounds(begin, number):
    return [
        item
        for at in range(begin, begin + number)
        for item in (
            Counted(type="function_call", call_id=f"c{at}", name="order", arguments="{}"),
            Counted(type="function_call_output", call_id=f"c{at}", output=TEXT),
        )
    ]


def cost_of_a_step(messages):
    """Looks at items, and characters counted by the tokenizer, for ten steps behind so many messages."""
    counted = 0

    def tokenizer(text):
        nonlocal counted
        counted += len(text)
        return len(text) // 4 + 1

    model = managed(Blind(lambda step: []), budget=200_000, tokenizer=tokenizer)

    async def ask(items):
        await model.get_response(
            "Be brief.", items, ModelSettings(), [], None, [], ModelTracing.DISABLED,
            previous_response_id=None, conversation_id=None, prompt=None,
        )  # fmt: skip  # as in the signature

    async def steps():
        nonlocal counted
        items = [Counted(role="user", content="begin"), *rounds(0, messages // 2)]
        await ask(items)
        await ask([*items, *rounds(messages, 1)])
        counted, Counted.looks = 0, 0
        for at in range(2, 12):
            await ask([*items, *rounds(messages, at)])
        return Counted.looks, counted

    return asyncio.run(steps())


def test_a_step_costs_the_same_at_many_messages():
    assert cost_of_a_step(3_000) == cost_of_a_step(500)


@pytest.mark.long
def test_a_step_costs_the_same_at_40000_messages():
    assert cost_of_a_step(40_000) == cost_of_a_step(1_000)
