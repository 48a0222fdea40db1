"""Taking in what an agent's messages are: edits are noticed, and a step does not look at all of them."""

import asyncio
import sys
from typing import Any

import pytest
from strands.middleware import InvokeModelStage
from strands.plugins import Plugin

from backscroll.integrations.strands import ContextManagerPlugin
from backscroll.integrations.strands.registration import conversation_of
from backscroll.notices import BackscrollWarning
from tests.integrations.strands.agents import agent_of, text_of
from tests.integrations.strands.scripted import Scripted, call
from tests.present import present

pytestmark = pytest.mark.frameworks


class Watched(dict[str, Any]):
    """A message that counts how often Backscroll reads what it says: Strands' tracer does so in each step."""

    compared = 0
    copies = 0
    """Comparisons with the copies that Strands hands to middleware."""

    def __eq__(self, other: object) -> bool:
        Watched.copies += 1
        return dict.__eq__(self, other)

    __hash__ = None

    def get(self, key: Any, default: Any = None) -> Any:
        reader = sys._getframe(1).f_globals["__name__"]
        Watched.compared += key == "content" and reader.startswith("backscroll.")
        return dict.get(self, key, default)


def talked(turns: int) -> list[Any]:
    """A conversation of so many turns."""
    return [
        Watched(role=role, content=[{"text": f"{role} {number}"}])
        for number in range(turns)
        for role in ("user", "assistant")
    ]


def compared(turns: int, steps: int) -> int:
    """Comparisons of an invocation of so many steps, after so many turns."""
    script: list[Any] = [[call("read", {"path": f"{n}.py"})] for n in range(steps)]
    model = Scripted(["Begun.", *script, "Done."], window=100_000)
    agent = agent_of(model, messages=talked(turns))
    agent("Begin.")
    Watched.compared = Watched.copies = 0
    agent("Go on.")
    assert len(model.requests) == steps + 2
    assert model.faults == []
    return Watched.compared


def test_a_step_compares_no_more_messages_in_a_long_conversation():
    few, few_copies = compared(400, 2), Watched.copies
    many, many_copies = compared(400, 12), Watched.copies
    assert few >= 800  # once with the invocation
    assert many - few < 800
    assert few_copies >= 800
    assert many_copies - few_copies < 800


def test_edit_between_invocations_is_noticed_anywhere():
    """An edit between two invocations is noticed wherever it is."""
    model = Scripted(["One.", "Two.", "Three."], window=100_000)
    agent = agent_of(model, messages=talked(60))
    agent("Begin.")
    agent.messages[3]["content"] = [{"text": "something else was said"}]
    agent("Go on.")
    taken_in = asyncio.run(present(conversation_of(agent)).get_messages())
    assert taken_in[3]["content"] == [{"text": "something else was said"}]
    assert len(taken_in) == len(agent.messages)


def test_edit_of_the_newest_messages_is_noticed_in_an_invocation():
    """An edit of the newest messages within an invocation is noticed."""

    def redacted(request: Any, n: int) -> Any:
        if n == 1:
            agent.messages[-2]["content"].append({"text": "a note of a guardrail"})
        return [call("read", {"path": f"{n}.py"})] if n < 3 else "Done."

    model = Scripted(redacted, window=100_000)
    agent = agent_of(model, messages=talked(60))
    agent("Begin.")
    assert "a note of a guardrail" in text_of(model.requests[-1]["messages"])


def test_replaced_list_is_compared_from_the_start():
    model = Scripted(["One.", "Two."], window=100_000)
    agent = agent_of(model, messages=talked(60))
    agent("Begin.")
    agent.messages = [{"role": "user", "content": [{"text": "another talk"}]}, *agent.messages[1:]]
    agent("Go on.")
    assert "another talk" in text_of(model.requests[-1]["messages"])


class Before(Plugin):
    """Middleware that changes the copies before Backscroll's sees them."""

    name = "before"

    def __init__(self, change: Any) -> None:
        self.change = change
        super().__init__()

    def init_agent(self, agent: Any) -> None:
        agent.add_middleware(InvokeModelStage.Input, self._changed)

    def _changed(self, context: Any) -> Any:
        self.change(context.messages)
        return context


def test_a_foreign_edit_is_reported_with_the_first_request():
    def change(messages: Any) -> None:
        messages[3]["content"] = [{"text": "changed for this request"}]

    model = Scripted(["One.", "Two."], window=100_000)
    agent = agent_of(model, Before(change), ContextManagerPlugin("auto"), messages=talked(60))
    with pytest.warns(BackscrollWarning, match="a middleware before Backscroll's changed the messages"):
        agent("Begin.")
    agent("Go on.")  # a second warning would be an error
    assert "changed for this request" not in text_of(model.requests[-1]["messages"])


def test_what_middleware_appends_is_carried_over_in_each_step():
    def change(messages: Any) -> None:
        messages[-1]["content"].append({"text": f"note {len(messages)}"})

    model = Scripted([[call("read", {"path": "a.py"})], "Done."], window=100_000)
    agent = agent_of(model, Before(change), ContextManagerPlugin("auto"), messages=talked(60))
    agent("Begin.")
    for request, length in zip(model.requests, (121, 123), strict=True):
        assert request["messages"][-1]["content"][-1] == {"text": f"note {length}"}
