"""Taking in what an agent's messages are: edits are noticed, and a step does not look at all of them."""

import asyncio
import itertools
from typing import Any

from backscroll.integrations.strands.registration import conversation_of
from tests.integrations.strands.agents import agent_of, text_of
from tests.integrations.strands.scripted import Scripted, call


class Watched(dict):
    """A message that counts how often what it says is read."""

    compared = 0

    def get(self, key: Any, default: Any = None) -> Any:
        Watched.compared += key == "content"
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
    script = itertools.chain([[call("read", {"path": f"{n}.py"})] for n in range(steps)], ["Done."])
    model = Scripted(list(script), window=100_000)
    agent = agent_of(model, messages=talked(turns))
    agent("Begin.")
    Watched.compared = 0
    model.steps = [*([call("read", {"path": f"{n}.py"})] for n in range(steps)), "Done."]
    agent("Go on.")
    assert model.faults == []
    return Watched.compared


def test_a_step_compares_no_more_messages_in_a_long_conversation():
    few, many = compared(400, 2), compared(400, 12)
    assert few >= 800  # once with the invocation
    assert many - few < 800


def test_edit_between_invocations_is_noticed_anywhere():
    """An edit between two invocations is noticed wherever it is."""
    model = Scripted(["One.", "Two.", "Three."], window=100_000)
    agent = agent_of(model, messages=talked(60))
    agent("Begin.")
    agent.messages[3]["content"] = [{"text": "something else was said"}]
    agent("Go on.")
    taken_in = asyncio.run(conversation_of(agent).get_messages())
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
