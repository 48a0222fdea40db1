"""A step costs the same however long the history is: contents read, texts counted, contents sent."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from google.genai import types

from backscroll.integrations.adk.translation import ADKTranslation
from tests.integrations import world
from tests.integrations.adk.agents import Running, agent_of, plugin_of
from tests.integrations.adk.scripted import Scripted, text, work

pytestmark = pytest.mark.frameworks


class Counting(ADKTranslation):
    """Counts the contents that it reads."""

    read = 0

    def to_message(self, native: types.Content) -> dict[str, Any]:
        self.read += 1
        return super().to_message(native)

    def says(self, native: types.Content) -> object:
        self.read += 1
        return super().says(native)


def steps_behind(messages: int) -> list[tuple[int, int]]:
    """What each step but the first reads and counts, of an agent with so long a history."""
    texts, seen = iter(range(10**9)), []
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted = next(texts)
        return len(text) // 4

    def noted(step: int, contents: list[types.Content]) -> Any:
        seen.append((counting.read, counted, len(contents)))
        return work(step, contents) if step < 8 else text("fine")

    plugin = plugin_of(tokenizer=count)
    run = Running(agent_of(Scripted(noted), plugin), plugin)
    asyncio.run(run.remember(f"message {at} " + "as you say " * 12 for at in range(messages)))
    counting = Counting()
    run.conversation._translation = run.conversation._following._translation = counting
    run.say(world.asked(0))
    assert max(length for _, _, length in seen) < 100 < messages
    return [(later[0] - earlier[0], later[1] - earlier[1]) for earlier, later in pairwise(seen[2:])]


def test_a_step_reads_only_what_is_new():
    few, many = steps_behind(110), steps_behind(220)
    assert max(read for read, _ in many) <= 150
    assert sum(read for read, _ in many) <= 1.1 * sum(read for read, _ in few)
    assert sum(counted for _, counted in many) <= 1.3 * sum(counted for _, counted in few)


@pytest.mark.long
def test_a_step_costs_the_same_at_4_000_messages():
    few, many = steps_behind(400), steps_behind(4_000)
    assert sum(read for read, _ in many) <= 1.1 * sum(read for read, _ in few)
    assert sum(counted for _, counted in many) <= 2 * sum(counted for _, counted in few)
