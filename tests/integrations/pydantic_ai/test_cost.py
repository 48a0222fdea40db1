"""A step costs the same at any length of the history: counted are the messages that are read, and the tokens."""

import asyncio
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.pydantic_ai.conversation import PydanticAIConversation
from backscroll.integrations.pydantic_ai.history import JoinedHistory
from backscroll.integrations.pydantic_ai.translation import PydanticAITranslation
from tests.fakes import CountingTokenizer

STEPS = 5


class Counting(PydanticAITranslation):
    """Counts the messages that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def to_message(self, native: ModelMessage) -> dict[str, Any]:
        self.read += 1
        return super().to_message(native)

    def says(self, native: ModelMessage) -> object:
        self.read += 1
        return super().says(native)


def history(length: int) -> list[ModelMessage]:
    """So many messages: calls and answers."""
    found: list[ModelMessage] = [ModelRequest.user_text_prompt("Go.")]
    while len(found) < length:
        found += step(len(found))
    return found


def step(number: int) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[TextPart(f"Step {number}."), ToolCallPart("look", {"at": number}, f"c{number}")]),
        ModelRequest(parts=[ToolReturnPart("look", f"result {number}", f"c{number}")]),
    ]


def cost(length: int) -> tuple[int, int]:
    """What five steps cost behind so many messages: messages read, and characters counted."""
    tokenizer, translation = CountingTokenizer(), Counting()
    context = PydanticAIConversation({"tokenizer": tokenizer, "budget": 4_000})
    context._reads = context._translation = translation
    context._following._translation = translation
    messages, joined = history(length), JoinedHistory()

    async def run() -> tuple[int, int]:
        await context.view_of(joined.of(messages), ModelCall(first=True, system="Be brief."))
        await context.view_of(joined.of(messages), ModelCall(system="Be brief."))
        translation.read, tokenizer_before = 0, tokenizer.characters
        for _ in range(STEPS):
            messages.extend(step(len(messages)))
            await context.view_of(joined.of(messages), ModelCall(system="Be brief."))
        return translation.read, tokenizer.characters - tokenizer_before

    return asyncio.run(run())


def test_a_step_costs_the_same_at_any_length():
    short, long = cost(601), cost(2_401)
    assert short[0] == long[0] < STEPS * 40
    assert long[1] < 1.2 * short[1] + 200


@pytest.mark.long
def test_a_step_costs_the_same_at_forty_thousand():
    short, long = cost(1_001), cost(40_001)
    assert short[0] == long[0] < STEPS * 40
    assert long[1] < 1.2 * short[1] + 200
