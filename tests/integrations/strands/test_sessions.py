"""Restored agents, sessions of Strands and stores of ours: everything is taken in once, and goes on where it was."""

import asyncio
import gc
import json
from typing import Any

import pytest
from strands.hooks import BeforeModelCallEvent
from strands.session import FileSessionManager
from strands.session.snapshot_session_manager import SnapshotSessionManager
from strands.storage import LocalFileStorage
from strands.types.exceptions import EventLoopException

from backscroll import ContextManager as StoredSession
from backscroll.errors import ConfigurationError
from backscroll.integrations.strands import ContextManagerPlugin
from backscroll.integrations.strands.registration import conversation_of
from tests.integrations.strands.agents import agent_of
from tests.integrations.strands.scripted import Scripted, call, plain, sent
from tests.present import present


def work(request: Any, n: int) -> Any:
    if n % 3 == 2:
        return f"Done {n}."
    return [call("read", {"path": f"{n}.py"}), call("look", {})] if n % 3 else call("chinese", {})


def after(agent: Any, turns: int) -> None:
    for turn in range(turns):
        agent(f"Turn {turn}")


def seen(model: Scripted, at: int) -> str:
    return json.dumps(plain(sent(model.requests[at]["messages"])))


@pytest.mark.parametrize("kind", ["file", "none"])
def test_stored_session_sends_the_same_request_after_a_restart(kind: str, tmp_path):
    """With a store the first request after a restart is the one before it."""

    def start(model: Scripted) -> Any:
        plugin = ContextManagerPlugin("auto", store=f"sqlite:///{tmp_path}/ours.db", session="the one")
        files = FileSessionManager("one", storage_dir=str(tmp_path)) if kind == "file" else None
        return agent_of(model, plugin, session_manager=files)

    def failing(request: Any, n: int) -> Any:
        if n == 31:
            raise ConnectionError("the process dies here")
        return work(request, n)

    first = Scripted(failing, window=9_000)
    agent = start(first)
    with pytest.raises(EventLoopException, match="the process dies"):
        after(agent, 12)
    compactions = present(conversation_of(agent)).usage("scripted").compactions
    assert compactions > 2
    messages = plain(sent(agent.messages))
    del agent
    gc.collect()

    second = Scripted(window=9_000)
    again = start(second)
    assert plain(sent(again.messages)) == messages
    again()
    assert seen(second, 0) == seen(first, -1), "the same request, byte for byte"
    assert present(conversation_of(again)).usage("scripted").compactions == compactions


def test_snapshots_and_given_messages_are_taken_in_once(tmp_path):
    counted: list[str] = []

    def tokens(text: str) -> int:
        counted.append(text)
        return len(text) // 4 + 1

    def start(model: Scripted) -> Any:
        manager = SnapshotSessionManager("snap", storage=LocalFileStorage(str(tmp_path)))
        return agent_of(model, ContextManagerPlugin("auto", tokenizer=tokens), session_manager=manager)

    agent = start(Scripted(work))
    after(agent, 3)
    counted.clear()
    again = start(Scripted(work))
    assert len(again.messages) == len(agent.messages)
    again("Go on"), again("And on")
    once = [text for text in counted if text.startswith("Turn ")]
    assert sorted(once) == ["Turn 0", "Turn 1", "Turn 2"]


def test_edited_messages_replace_the_history_from_there():
    model = Scripted(["One.", "Two.", "Three."])
    agent = agent_of(model)
    agent("First"), agent("Second")
    agent.messages[2]["content"] = [{"text": "Second, in other words"}]
    agent("Third")
    assert [message["content"][0]["text"] for message in model.requests[-1]["messages"]] == [
        "First", "One.", "Second, in other words", "Two.", "Third"]  # fmt: skip
    del agent.messages[1:]
    agent.messages.append({"role": "assistant", "content": [{"text": "Another answer"}]})
    agent("Fourth")
    assert [message["content"][0]["text"] for message in model.requests[-1]["messages"]] == [
        "First",
        "Another answer",
        "Fourth",
    ]


def test_two_agents_with_one_stored_session_are_refused(tmp_path):
    plugin = ContextManagerPlugin("auto", store=f"sqlite:///{tmp_path}/ours.db", session="shared")
    agent = agent_of(Scripted(), plugin)
    with pytest.raises(ConfigurationError, match="the session 'shared' belongs to another agent"):
        agent_of(Scripted(), plugin)
    agent("Hello")


def test_a_plugin_serves_several_agents_each_with_its_own():
    plugin = ContextManagerPlugin("auto")
    agents = [agent_of(Scripted([f"Answer {n}"]), plugin) for n in range(3)]
    for number, agent in enumerate(agents):
        agent(f"Question {number}")
    for number, agent in enumerate(agents):
        stored = asyncio.run(present(conversation_of(agent)).get_messages())
        assert [message["content"][0]["text"] for message in stored] == [f"Question {number}", f"Answer {number}"]


def test_summaries_by_a_model_are_bounded_and_not_made_again():
    def talk(request: Any, n: int) -> Any:
        return f"Answer {n}: " + "a thought about it. " * 60

    model = Scripted(talk, window=8_000)
    other = Scripted(name="small", summary="<summary>\n- the summary of another model\n</summary>")
    settings = {"method": "summarize", "model": other, "system_prompt": "Sum it up."}
    agent = agent_of(model, ContextManagerPlugin({"strategy": "auto", "compression": settings}))
    after(agent, 60)
    usage = present(conversation_of(agent)).usage("scripted")
    assert model.summaries == []
    assert 0 < len(other.summaries) <= 2 * usage.compactions + 1
    assert other.summaries[0]["system"] == "Sum it up."
    assert "the summary of another model" in seen(model, -1)
    assert model.faults == []


def test_the_default_prompt_asks_for_bullet_points():
    model = Scripted(lambda request, n: "a thought about it. " * 80, window=8_000)
    agent = agent_of(model, ContextManagerPlugin({"compression": "summarize"}))
    after(agent, 25)
    assert "bullet points" in model.summaries[0]["system"]


def test_with_a_store_a_result_is_kept_when_it_arrives(tmp_path):
    def dies(request: Any, n: int) -> Any:
        return call("read", {"path": "a.py"}) if n == 0 else "Done."

    plugin = ContextManagerPlugin("auto", store=f"sqlite:///{tmp_path}/ours.db", session="one")
    agent = agent_of(Scripted(dies), plugin)
    kept = []

    def look(event: BeforeModelCallEvent) -> None:
        stored = StoredSession(store=f"sqlite:///{tmp_path}/ours.db", session="one")
        kept.append(len(stored.get_messages()))
        stored.close()

    agent.add_hook(look, BeforeModelCallEvent)
    agent("Read")
    assert kept == [1, 3]
