"""What stays: first and last, pinned by flag, tool or code, always with the pair that it belongs to."""

import json
from typing import Any

import pytest

from backscroll.integrations.strands import ContextManagerPlugin, pin_message
from tests.integrations.strands.agents import agent_of, text_of
from tests.integrations.strands.scripted import Scripted, call

pytestmark = pytest.mark.frameworks

PINNED_PATH = "pinned.py"


def busy(request: Any, n: int) -> Any:
    return call("read", {"path": PINNED_PATH if n == 0 else f"{n}.py", "lines": 60}) if n % 2 == 0 else f"Read {n}."


def run_turns(agent: Any, turns: int = 12) -> None:
    for turn in range(turns):
        agent(f"Turn {turn}")


@pytest.mark.parametrize("member", [1, 2])
def test_pinning_one_of_a_pair_keeps_both_by_id(member: int):
    model = Scripted(busy, window=8_000)
    plugin = ContextManagerPlugin("auto")
    agent = agent_of(model, plugin)
    agent("Turn 0")
    plugin.pin(agent, member)
    run_turns(agent)
    shown = json.dumps(model.requests[-1]["messages"])
    assert shown.count(f"{PINNED_PATH}: line") == 60
    assert len(model.requests[-1]["messages"]) < len(agent.messages) / 2
    assert model.faults == []
    plugin.unpin(agent, member)
    run_turns(agent)
    assert json.dumps(model.requests[-1]["messages"]).count(f"{PINNED_PATH}: line") < 60


def test_pin_tool_pins_and_answers_an_index_out_of_range():
    """The model pins by tool and an index out of range is answered."""
    model = Scripted([call("pin_message", {"index": 99}), call("pin_message", {"index": -2}), "Done."])
    agent = agent_of(model)
    agent("Pin something")
    assert "there is no message 99: the conversation has 2, 0 to 1" in text_of(agent.messages[2:3])
    assert "Pinned message 2" in text_of(agent.messages[4:5])


def test_strands_pin_flag_works_even_when_set_later():
    """The flag of Strands' is honoured also when it is set later."""
    model = Scripted(busy, window=8_000)
    agent = agent_of(model)
    agent("Turn 0")
    agent.messages[2]["metadata"] = {"custom": {"pinned": True}}
    run_turns(agent)
    assert json.dumps(model.requests[-1]["messages"]).count(f"{PINNED_PATH}: line") == 60
    agent.messages[2]["metadata"] = {}
    run_turns(agent)
    assert json.dumps(model.requests[-1]["messages"]).count(f"{PINNED_PATH}: line") < 60


@pytest.mark.parametrize("method", ["truncate", "summarize"])
def test_first_and_last_are_two_options_for_both_methods(method: str):
    model = Scripted(busy, window=12_000)
    settings = {"method": method, "protect_first": 4, "protect_last": 6}
    agent = agent_of(model, ContextManagerPlugin({"compression": settings}))
    run_turns(agent)
    shown, own = [message["content"] for message in model.requests[-1]["messages"]], agent.messages[:-1]
    assert len(shown) < len(own)
    assert shown[:1] == [own[0]["content"]]
    assert all(message["content"] in shown for message in own[:4])
    assert shown[-6:] == [message["content"] for message in own[-6:]]


def test_pin_tool_works_alone_and_reports_nothing_to_do():
    """The tool is exported alone and says where it has nothing to do."""
    from strands import Agent

    agent = Agent(model=Scripted(), tools=[pin_message], callback_handler=None)
    assert "no Backscroll context manager" in agent.tool.pin_message(index=0)["content"][0]["text"]


def test_with_file_sessions_pins_survive_without_a_store_of_ours(tmp_path):
    from strands.session import FileSessionManager

    plugin = ContextManagerPlugin("auto")

    def start(model: Scripted) -> Any:
        return agent_of(model, plugin, session_manager=FileSessionManager("one", storage_dir=str(tmp_path)))

    first = start(Scripted(busy))
    first("Turn 0")
    plugin.pin(first, 2)
    first("Turn 1")
    again = Scripted(busy, window=8_000)
    agent = start(again)
    assert len(agent.messages) == 8
    run_turns(agent)
    assert json.dumps(again.requests[-1]["messages"]).count(f"{PINNED_PATH}: line") >= 60
