"""A step costs the same after a short conversation and after a long one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.langchain import LangChainConversation, LangGraphContext
from backscroll.integrations.langchain.behind_system import Behind
from backscroll.integrations.langchain.foreign_edits import read_request
from tests.fakes import count_quarter
from tests.integrations.counted_list import CountedList
from tests.integrations.langchain.scripted import Scripted

pytestmark = pytest.mark.frameworks

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
            Watched(content=f"line {at} " * 20, tool_call_id=f"c{at}"),
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


def handed_out(length: int, *, graph: bool, system: str | None = None) -> int:
    """Messages that the lists of four steps of a run hand out, each a new list of the same objects."""
    context, model = LangGraphContext(budget=6_000, tokenizer=count_quarter), Scripted()
    conversation = LangChainConversation({"tokenizer": count_quarter})
    history: list[Any] = [HumanMessage("begin", id="first"), *rounds(0, length // 2)]
    handed = 0
    for step in range(6):
        history += rounds(length + step, length + step + 1)
        prompt = [] if system is None else [SystemMessage(f"{system} It is {step} o'clock.")]
        messages, given = CountedList([*prompt, *history]), CountedList([*prompt, *history])
        if graph:
            context.view(messages, model)
        else:
            conversation.view_now(read_request(messages, given).history, CALL)
        handed += (messages.handed + given.handed) * (step > 1)
    return handed


@pytest.mark.parametrize("system", [None, "Be brief."])
def test_a_graph_s_history_is_not_copied_in_a_step(system):
    assert handed_out(1_000, graph=True, system=system) < 1_000


def test_an_agent_s_history_is_not_copied_in_a_step():
    assert handed_out(1_000, graph=False) < 1_000


class Table:
    """What a tool may attach: it has no truth value."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_an_artifact_that_cannot_be_compared_is_no_error():
    """A graph that reads a checkpoint makes new messages, with new artifacts."""
    conversation = LangChainConversation({"tokenizer": count_quarter})
    for _ in range(3):
        call = AIMessage("", tool_calls=[{"id": "c", "name": "read", "args": {}}])
        history = [HumanMessage("begin"), call, ToolMessage("seen", tool_call_id="c", id="t", artifact=Table())]
        read = read_request(history, [*history[:2], history[2].model_copy(update={"artifact": Table()})])
        assert not read.edited
        assert [each.type for each in conversation.view_now(read.history, CALL)] == ["human", "ai", "tool"]


@given(st.data())
def test_an_edit_of_what_was_loaded_is_never_missed(data):
    """Whatever a graph does to its list, and whichever system messages come before it."""
    context = LangChainConversation({"tokenizer": count_quarter})
    history: list[Any] = [AIMessage("begin", id="0")]
    before: list[Any] = []
    for step in range(6):
        new = AIMessage(f"step {step}", id=str(step + 1))
        at = data.draw(st.integers(0, len(history) - 1))
        match data.draw(st.sampled_from(["append", "replace", "remove", "copy", "insert"])):
            case "append":
                history = [*history, new]
            case "replace":
                history = [*history[:at], new, *history[at + 1 :]]
            case "remove":
                history = history[:at] + history[at + 1 :] or [new]
            case "copy":
                history = [each.model_copy() for each in history]
            case "insert":
                history = [*history[:at], new, *history[at:]]
        prompts = [SystemMessage(f"{step}")] * data.draw(st.integers(0, 2))
        edited = context.may_be_edited(Behind([*prompts, *history]))
        assert edited == (history[: len(before)] != before)
        before = history
