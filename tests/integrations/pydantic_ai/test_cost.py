"""A step costs the same at any length of the history: counted are the messages that are read, and the tokens."""

import asyncio
import weakref
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.integrations.pydantic_ai.conversation import PydanticAIConversation
from backscroll.integrations.pydantic_ai.history import JoinedHistory
from backscroll.integrations.pydantic_ai.translation import PydanticAITranslation
from tests.fakes import CountingTokenizer, count_quarter
from tests.integrations.counted_list import CountedList

pytestmark = pytest.mark.frameworks

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


def handed_out(length: int) -> int:
    """Messages that the lists of some steps of a run hand out to the capability's hook."""
    messages, model, copies = CountedList(history(length)), TestModel(), list[Any]()
    context: RunContext[Any] = RunContext(deps=None, model=model, usage=RunUsage(), messages=messages)

    async def steps(run: Any) -> int:
        handed = 0
        for number in range(STEPS + 1):
            messages.extend(step(len(messages)))
            given = CountedList(list.copy(messages))
            request = ModelRequestContext(
                model=model, messages=given, model_settings=None, model_request_parameters=ModelRequestParameters()
            )
            messages.handed = 0
            await run.before_model_request(context, request)
            handed += (messages.handed + given.handed) * (number > 0)
            copies.append(weakref.ref(given))
            del given, request
        assert [copy() for copy in copies] == [None] * len(copies)  # the run would hold a second list of all messages
        return handed

    async def run() -> int:
        running = await Backscroll[Any](tokenizer=count_quarter, budget=4_000).for_run(context)
        found: Any = await running.wrap_run(context, handler=lambda: steps(running))  # type: ignore[arg-type, return-value]  # it hands on what there is
        return found

    return asyncio.run(run())


def test_a_run_s_messages_are_not_walked_in_a_step():
    assert handed_out(1_001) < 1_001
