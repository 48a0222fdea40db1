"""Two hundred turns in a hard window: nothing invalid, nothing refused to the caller, nothing of the agent's lost.

Without us Strands copies and traces everything at each call, so that the same run takes minutes: its first turns are
compared, and all of them with `HYPOTHESIS_PROFILE=thorough`.
"""

from itertools import pairwise
from typing import Any

import pytest
from strands import Agent

from backscroll.integrations.strands import ContextManagerPlugin
from tests.integrations.strands.agents import CHINESE, TOOLS, agent_of, refusals_expected
from tests.integrations.strands.scripted import Scripted, call, plain, sent, tokens_of
from tests.profiles import THOROUGH

WINDOW = 16_000
TURNS = 200
COMPARED = TURNS if THOROUGH else 50


def work(request: dict[str, Any], n: int) -> Any:
    """A round of calls in every second turn: parallel ones, huge ones, failing ones, pictures, long arguments."""
    if n % 3:
        return f"Done with step {n}. {CHINESE if n % 7 == 0 else ''}"
    kinds = [
        [
            call("read", {"path": f"src/a{n}.py"}),
            call("read", {"path": f"src/b{n}.py"}),
            call("fail", {"reason": "no"}),
        ],
        [call("read", {"path": f"data/{n}.csv", "lines": 1_200})],
        [call("look", {}), call("chinese", {})],
        [call("save", {"path": f"out/{n}.md", "text": f"paragraph {n}. " * 300})],
        [call("chinese", {"lines": 30}), call("look", {})],
    ]
    return kinds[n // 3 % len(kinds)]


def played(agent: Agent, turns: int) -> list[Any]:
    """The agent's messages after so many turns."""
    for turn in range(turns):
        agent(f"Step {turn}: go on. {CHINESE if turn % 5 == 0 else ''}" + ("Long text. " * 2_000 if turn == 60 else ""))
    return agent.messages


@pytest.mark.long
def test_two_hundred_turns_in_a_hard_window():
    model, free = Scripted(work, window=WINDOW), Scripted(work)
    plugin = ContextManagerPlugin("auto")
    agent = agent_of(model, plugin)
    with refusals_expected():
        messages = played(agent, TURNS)
    assert model.faults == []
    assert len(model.requests) == 3 * TURNS / 2
    assert max(tokens_of(request) for request in model.requests) <= WINDOW
    views = [sent(request["messages"]) for request in model.requests]
    moved = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(views))
    assert moved <= plugin.usage(agent).compactions, "a request begins with the one before it"
    assert len(messages) == 3 * TURNS
    without_us = Agent(model=free, tools=TOOLS, context_manager=False, callback_handler=None)
    same = played(without_us, COMPARED)
    assert plain(sent(messages[: len(same)])) == plain(sent(same))
