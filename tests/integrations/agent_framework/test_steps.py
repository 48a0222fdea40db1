"""A step costs the same however long the history is: messages read, tokens counted, messages sent."""

import asyncio
from typing import Any

import pytest
from agent_framework import Message, SessionContext
from hypothesis import given
from hypothesis import strategies as st

from backscroll.integrations.agent_framework import BackscrollProvider
from backscroll.integrations.agent_framework.request_parts import RequestReader
from backscroll.integrations.agent_framework.translation import AgentFrameworkTranslation
from tests.integrations import world
from tests.integrations.agent_framework.agents import agent_of, say
from tests.integrations.agent_framework.scripted import Scripted, work
from tests.integrations.counted_list import CountedList
from tests.long_run import usually

pytestmark = pytest.mark.frameworks


class Counting(AgentFrameworkTranslation):
    """Counts the messages that it reads."""

    read = 0

    def to_message(self, native: Message) -> dict[str, Any]:
        self.read += 1
        return super().to_message(native)


class CountingProvider(BackscrollProvider):
    """A provider whose translation and tokenizer count."""

    def __init__(self) -> None:
        self.texts = 0
        super().__init__(budget=world.BUDGET, tokenizer=self._count)
        self._translation = self.counting = Counting()

    def _count(self, text: str) -> int:
        self.texts += 1
        return len(text) // 4


def steps_behind(messages: int) -> list[tuple[int, int]]:
    """What each step of the second turn reads and counts, of an agent with so long a history."""
    provider, seen = CountingProvider(), []

    def noted(step: int, request: list[Message]) -> Any:
        seen.append((provider.counting.read, provider.texts, len(request)))
        return work(step, request)

    agent = agent_of(Scripted(noted), provider)
    session = agent.create_session()
    old = [Message(("user", "assistant")[at % 2], [f"message {at} " + "as you say " * 12]) for at in range(messages)]
    session.state["in_memory"] = {"messages": old}
    asyncio.run(say(agent, world.asked(0), session))
    asyncio.run(say(agent, world.asked(1), session))
    begin = world.TURN + 1
    assert max(length for _, _, length in seen) < 100 < messages
    return [
        (later[0] - earlier[0], later[1] - earlier[1])
        for earlier, later in zip(seen[begin - 1 :], seen[begin:], strict=False)
    ]


@pytest.mark.parametrize("behind", usually([400, 1_000], 1))
def test_a_step_reads_only_what_is_new(behind):
    few, many = steps_behind(200), steps_behind(behind)
    assert max(read for read, _ in many) <= 150
    assert sum(read for read, _ in many) <= 1.1 * sum(read for read, _ in few)
    assert sum(counted for _, counted in many) <= 1.3 * sum(counted for _, counted in few)


@pytest.mark.long
def test_a_step_costs_the_same_at_40_000_messages():
    few, many = steps_behind(1_000), steps_behind(40_000)
    assert sum(read for read, _ in many) <= 1.1 * sum(read for read, _ in few)
    assert sum(counted for _, counted in many) <= 2 * sum(counted for _, counted in few)


@pytest.mark.parametrize("noted", [0, 2], ids=["alone", "with messages of the request only"])
def test_a_step_copies_no_messages_of_the_request(noted):
    old = [Message("user", [f"said {at}"]) for at in range(1_000)]
    notes = [Message("user", [f"note {at}"]) for at in range(noted)]
    asked = Message("user", ["go on"])
    context = SessionContext(input_messages=[asked], context_messages={"in_memory": old, "memory": notes})
    reader = RequestReader(None, context)
    reader._keepers = {"in_memory"}
    request, handed = [*old, *notes, asked], 0
    for step in range(5):
        given = CountedList(request)
        parts = reader.parts(given)
        assert parts is not None
        assert parts.history == [each for each in request if each not in notes]
        assert [message for _, message in parts.extra] == notes
        handed += given.handed * (step > 0)
        request = [*request, Message("assistant", [f"step {step}"])]
    assert handed < 100


@given(st.lists(st.tuples(st.sampled_from(["append", "replace", "cut", "insert"]), st.integers(1, 8)), max_size=8))
def test_the_history_is_that_of_the_newest_request(changes):
    """Whatever is changed between two requests of a run."""
    request = [Message("user", [f"said {at}"]) for at in range(3)]
    reader = RequestReader(None, SessionContext(input_messages=request[:1]))
    for step, (change, at) in enumerate(changes):
        new, place = Message("assistant", [f"step {step}"]), min(at, len(request))
        match change:
            case "append":
                request = [*request, new]
            case "replace":
                request = [*request[:place], new, *request[place + 1 :]]
            case "cut":
                request = [*request[:place], *request[place + 1 :]]
            case "insert":
                request = [*request[:place], new, *request[place:]]
        parts = reader.parts(list(request))
        assert parts is not None
        assert list(map(id, parts.history)) == list(map(id, request))
