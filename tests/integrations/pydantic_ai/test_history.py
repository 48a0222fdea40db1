"""Consecutive requests of a run are one, as Pydantic AI sends them, however the history grows."""

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.integrations.pydantic_ai.history import JoinedHistory
from backscroll.integrations.pydantic_ai.sayings import says_of
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import Scripted, called


def built(kinds: list[str]) -> list[ModelMessage]:
    """Messages of these kinds; each call is answered in the next request."""
    found: list[ModelMessage] = []
    for number, kind in enumerate(kinds):
        if kind == "call":
            found.append(ModelResponse(parts=[ToolCallPart("look", {}, f"c{number}")], model_name="m"))
            found.append(ModelRequest(parts=[ToolReturnPart("look", "x", f"c{number}")]))
        elif kind == "text":
            found.append(ModelResponse(parts=[TextPart(f"t{number}")], model_name="m"))
        else:
            instructions = None if kind == "prompt" else kind
            found.append(ModelRequest(parts=[UserPromptPart(f"p{number}")], instructions=instructions))
    return found


KINDS = st.lists(st.sampled_from(["call", "text", "prompt", "brief", "long"]), max_size=60)


@given(KINDS, st.data())
def test_it_joins_what_pydantic_ai_joins(kinds, data):
    messages, history = built(kinds), JoinedHistory()
    shown = 0
    while shown < len(messages):
        shown = data.draw(st.integers(shown + 1, len(messages)))
        joined = history.of(messages[:shown])
        expected = repair_messages(messages[:shown], repair_last_response=False)
        assert [says_of(message) for message in joined] == [says_of(message) for message in expected]
        own = {id(message) for message in messages}
        assert all(id(message) in own or len(message.parts) > 1 for message in joined)


@given(KINDS, KINDS, st.integers(0, 60))
def test_a_changed_history_is_read_again(kinds, others, keep):
    before, history = built(kinds), JoinedHistory()
    history.of(before)
    after = [*before[:keep], *built(others)]
    expected = [says_of(message) for message in JoinedHistory().of(after)]
    assert [says_of(message) for message in history.of(after)][-30:] == expected[-30:]


class Counted(list[ModelMessage]):
    """Counts the messages that are read one by one."""

    read = 0

    def __getitem__(self, at: Any) -> Any:
        self.read += 1
        return super().__getitem__(at)


def test_a_step_reads_the_end_of_a_long_history_only():
    messages, history = Counted(built(["call"] * 1_000)), JoinedHistory()
    assert len(history.of(messages)) == 2_000
    messages.extend(built(["call"]))
    messages.read = 0
    assert len(history.of(messages)) == 2_002
    assert messages.read < 40


@dataclass
class Total:
    """What the agent answers."""

    cents: int


def test_runs_that_end_with_a_tool_keep_their_plan():
    """The answer to the last tool and the next prompt come as two requests first, and as one in later runs."""

    def script(step: int, messages: Any) -> ModelResponse:
        if step % 5 == 4:
            return called(world.Called(f"f{step}", "final_result", {"cents": step}))
        return called(world.Called(f"c{step}", "order", {"number": step}))

    model, events = Scripted(script, window=200_000), []
    model.limit = 0
    context = Backscroll(budget=world.BUDGET, on_event=lambda name, payload: events.append(name))
    agent = Agent(model, output_type=Total, tools=[world.order], capabilities=[context], name="shop")

    async def run() -> int:
        history = None
        for turn in range(8):
            result = await agent.run(world.asked(turn), message_history=history)
            history = result.all_messages()
        return len(await context.conversation(result.conversation_id, "shop").get_messages())

    added = asyncio.run(run())
    assert events.count("context:compaction") > 2
    assert events.count("context:message_added:debug") == added, "no message was loaded twice"
    assert world.broken_prefixes(model.spoken) <= events.count("context:compaction")
