"""A step costs the same after a short conversation and after a long one."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.langchain import LangChainConversation
from backscroll.integrations.langchain.foreign_edits import read_request
from tests.fakes import count_quarter

STEPS = 60
CALL = ModelCall(budget=6_000)


class Watched(ToolMessage):
    """A result that counts how often its content is read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "content":
            COUNTS["read"] += 1
        return super().__getattribute__(name)


COUNTS = {"read": 0, "counted": 0}


def counting(text: str) -> int:
    """A tokenizer that counts how often it is asked."""
    COUNTS["counted"] += 1
    return count_quarter(text)


def rounds(begin: int, end: int) -> list[Any]:
    """So many rounds of a call and its result, each of its own text."""
    return [
        message
        for at in range(begin, end)
        for message in (
            AIMessage("", tool_calls=[{"id": f"c{at}", "name": "read", "args": {"n": at}}]),
            Watched(f"line {at} " * 20, tool_call_id=f"c{at}"),
        )
    ]


def cost(messages: int) -> dict[str, int]:
    """Contents read and texts counted by some steps after so many messages."""
    context = LangChainConversation({"tokenizer": counting})
    history: list[Any] = [HumanMessage("begin"), *rounds(0, messages // 2)]
    for _ in range(4):
        history += rounds(len(history), len(history) + 1)
        context.view_now(read_request(history, list(history)).history, CALL)
    before = dict(COUNTS)
    for _ in range(STEPS):
        history += rounds(len(history), len(history) + 1)
        context.view_now(read_request(history, list(history)).history, CALL)
    return {name: COUNTS[name] - before[name] for name in COUNTS}


def check(few: dict[str, int], many: dict[str, int]) -> None:
    """The costs of a short and of a long conversation."""
    assert few["read"] <= STEPS * 40
    assert many["read"] <= few["read"] * 1.1
    assert many["counted"] <= 1.6 * few["counted"]


def test_a_step_costs_the_same_after_many_messages():
    check(cost(300), cost(2_000))


@pytest.mark.long
def test_a_step_costs_the_same_after_forty_thousand():
    check(cost(1_000), cost(40_000))
