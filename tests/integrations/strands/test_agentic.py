"""The model manages its own context: the plan changes, the messages never, and roles alternate."""

from typing import Any

import pytest

from backscroll.integrations.strands import ContextManagerPlugin
from tests.integrations.strands.agents import agent_of, text_of
from tests.integrations.strands.scripted import Scripted, call

pytestmark = pytest.mark.frameworks

AGENTIC = {"strategy": "agentic", "compression": {"protect_first": 0, "protect_last": 2}}


def talked(step: Any, turns: int = 8, config: Any = AGENTIC) -> tuple[Scripted, Any]:
    """A model that manages its context in the last turn."""

    def steps(request: Any, n: int) -> Any:
        if n == 2 * turns:
            return step
        return call("read", {"path": f"{n}.py"}) if n % 2 == 0 and n < 2 * turns else "Fine."

    model = Scripted(steps, told=100_000)
    agent = agent_of(model, ContextManagerPlugin(config))
    for turn in range(turns):
        agent(f"Turn {turn}")
    agent("Now manage your context")
    return model, agent


@pytest.mark.parametrize("kind", ["all", "tools", "messages"])
@pytest.mark.parametrize("name", ["truncate_context", "summarize_context"])
def test_the_oldest_leave_the_view_and_nothing_else_happens(name: str, kind: str):
    arguments = {"keep_recent": 6, "message_type": kind} | ({"summary_ratio": 0.8} if "summarize" in name else {})
    model, agent = talked(call(name, arguments))
    assert model.faults == []
    assert len(agent.messages) == 8 * 4 + 4
    assert len(model.requests[-1]["messages"]) < len(model.requests[-2]["messages"])
    answer = text_of(agent.messages[-2:-1])
    assert "Left out" in answer
    last = text_of(model.requests[-1]["messages"])
    assert (last.count("\n0.py: line") > 35) == (kind == "messages")
    assert "Turn 7" in last


def test_model_summary_stands_in_summary_tags():
    """With a model for summaries its text stands in summary tags."""
    config = {"strategy": "agentic", "compression": {"method": "summarize", "protect_first": 0, "protect_last": 2}}
    model, _ = talked(call("summarize_context", {"keep_recent": 6, "summary_ratio": 0.8}), config=config)
    assert len(model.summaries) == 1
    last = text_of(model.requests[-1]["messages"])
    handover = last[last.index("<summary>\n") :]  # behind a line that only separates roles
    assert "they talked" in handover[: handover.index("</summary>")]


def test_what_is_pinned_stays_and_a_selection_can_be_pinned():
    model, agent = talked(
        [call("pin_context", {"select": [1]}), call("truncate_context", {"keep_recent": 2})],
    )
    agent("And now")
    assert "0.py: line 39" in text_of(model.requests[-1]["messages"])
    assert text_of(model.requests[-1]["messages"]).count("\n2.py: line") < 10
    assert agent.tool.pin_context(select="last_turn", filter="user")["content"][0]["text"] == "Pinned 1 messages."
    assert agent.tool.pin_context(select=3, action="unpin")["content"][0]["text"] == "Unpinned 3 messages."
    assert "No matching" in agent.tool.pin_context(select=[99])["content"][0]["text"]


def test_nothing_to_leave_out_is_an_answer():
    model = Scripted(
        [call("truncate_context", {"keep_recent": 10}), call("truncate_context", {"keep_recent": -1}), "Done."]
    )
    agent = agent_of(model, ContextManagerPlugin("agentic"))
    agent("Go")
    assert "Nothing was left out: what is not protected" in text_of(agent.messages[2:3])
    assert "`keep_last` must be a number of messages" in text_of(agent.messages[4:5])


def test_status_follows_only_the_newest_message():
    """The status stands behind the newest message of each request and nowhere else."""
    model, agent = talked("Fine.")
    for request in model.requests:
        assert [("<context-status>" in text_of([message])) for message in request["messages"]].index(True) == len(
            request["messages"]
        ) - 1
    assert "<context-status>" not in text_of(agent.messages)
