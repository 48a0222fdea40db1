"""Which conversation a request belongs to: sessions, users, sub-agents, restarts, and histories that change."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import BaseAgent, ParallelAgent
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from backscroll import ConfigurationError, StoreUnavailableError, Summarizer
from backscroll.stores.sqlite import SqliteStore
from tests.fakes import FaultyStore
from tests.integrations import world
from tests.integrations.adk.agents import APP, Running, agent_of, plugin_of, running
from tests.integrations.adk.scripted import Scripted, as_gemini, calls, chat, one_turn, text, text_of


def two_at_once(**names: Any) -> list[list[str]]:
    """What the user said in the conversations of two runs at once, which share an agent and a service."""
    plugin, service = plugin_of(), InMemorySessionService()
    agent = agent_of(Scripted(chat), plugin)
    one = Running(agent, plugin, service=service)
    other = Running(agent, plugin, service=service, **names)

    async def talk() -> None:
        for turn in range(6):
            await asyncio.gather(one.hear(f"a {turn}"), other.hear(f"b {turn}"))

    asyncio.run(talk())
    return [[each["parts"][0]["text"] for each in run.stored if each["role"] == "user"] for run in (one, other)]


@pytest.mark.parametrize("names", [{"session": "another"}, {"user": "another"}], ids=["sessions", "users"])
def test_two_conversations_at_once_do_not_mix(names):
    assert two_at_once(**names) == [[f"{name} {turn}" for turn in range(6)] for name in "ab"]


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated")
def test_two_agents_at_work_at_once_do_not_mix():
    """They share a session, and each sees the user's words and its own."""
    plugin, models = plugin_of(), [Scripted(model=name) for name in ("one", "two")]
    agents: list[BaseAgent] = [agent_of(model, plugin, name=model.model) for model in models]
    run = Running(ParallelAgent(name="both", sub_agents=agents), plugin)
    asyncio.run(run.work_through(1))
    for model in models:
        given = [
            contents
            for contents, request in zip(run.recorder.given, run.recorder.requests, strict=True)
            if request.model == model.model
        ]
        pairs = zip(model.requests, given, strict=True)
        assert world.faults((as_gemini(request), as_gemini(whole)) for request, whole in pairs) == []
        conversation = plugin.conversation(run.session, model.model, f"both.{model.model}")
        assert conversation.usage(model.model).compactions > 0


def test_a_sub_agent_of_a_session_has_its_own_conversation():
    plugin = plugin_of()
    inner_model = Scripted(chat, model="inner")
    inner = agent_of(inner_model, plugin, name="helper", description="helps", tools=[])
    asking = [
        [types.Part(function_call=types.FunctionCall(name="transfer_to_agent", args={"agent_name": "helper"}))],
        text("done"),
    ]
    run = running(Scripted(lambda step, contents: asking[step]), plugin=plugin, sub_agents=[inner])
    assert run.say("have the helper look around").startswith("answer 0")
    assert plugin.conversation(run.session, inner) is not run.conversation
    stored = asyncio.run(plugin.conversation(run.session, inner).get_messages())
    assert len(stored) == len(inner_model.requests[0]) > 1
    assert run.stored[0]["parts"] == [{"text": "have the helper look around"}]


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL")
@pytest.mark.parametrize("mode", ["single_turn", "task"])
def test_each_task_of_a_sub_agent_is_a_conversation(mode):
    """Two at once, and recall finds what the task said."""
    plugin, model = plugin_of(), Scripted(chat, model="inner")

    def asked(step: int, contents: list[types.Content]) -> list[types.Part]:
        return calls(world.Called("r", "recall", {"ref": "0"})) if len(contents) == 1 else ended(mode)

    model.script = asked
    inner = agent_of(model, plugin, name="helper", description="helps", tools=[], mode=mode)
    both = [calls(*(world.Called(f"c{at}", "helper", {"request": f"look at {at}"}) for at in range(2))), text("done")]
    run = running(Scripted(lambda step, contents: both[step]), plugin=plugin, sub_agents=[inner])
    assert run.say("look around") == "done"
    branches = {event.branch for event in run.session.events if event.author == "helper"}
    stored = [asyncio.run(plugin.conversation(run.session, inner, branch).get_messages()) for branch in branches]
    assert len(stored) == 2
    for first, _, recalled in stored:
        assert "look at" in first["parts"][0]["text"]
        assert recalled["parts"][0]["function_response"]["response"] == {"result": first["parts"][0]["text"]}


def ended(mode: str) -> list[types.Part]:
    done = calls(world.Called("f", "finish_task", {"result": "done"}))
    return done if mode == "task" else text("done")


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")  # the framework's own tool gives it
def test_an_agent_as_a_tool_has_a_session_of_its_own():
    plugin = plugin_of()
    inner_model = Scripted(chat, model="inner")
    inner = agent_of(inner_model, plugin, name="helper", description="helps", tools=[])
    asking = [calls(world.Called("c", "helper", {"request": "look around"})), text("done")]
    run = running(Scripted(lambda step, contents: asking[step]), plugin=plugin, tools=[AgentTool(inner)])
    assert run.say("have the helper look around") == "done"
    assert text_of(inner_model.requests[0]) == "look around"
    assert [message["role"] for message in run.stored] == ["user", "model", "user"]
    assert len(plugin._conversations) == 2


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_restart_goes_on(stream, tmp_path):
    store, service = f"sqlite:///{tmp_path}/agent.db", InMemorySessionService()
    model, plugin = Scripted(one_turn), plugin_of(store=store)
    run = Running(agent_of(model, plugin), plugin, service=service)
    asyncio.run(run.work_through(1, stream=stream))
    assert run.conversation.usage("small").compactions
    asyncio.run(run.runner.close())
    plugin = plugin_of(store=store)
    run = Running(agent_of(model, plugin), plugin, service=service)
    run.say("go on", stream=stream)
    first = as_gemini(model.requests[20])
    assert first[: len(first) - 4] == as_gemini(model.requests[19])[: len(first) - 4]
    assert len(run.stored) == 41


def test_sessions_of_a_store_have_names_that_are_no_paths(tmp_path):
    plugin = plugin_of(store=f"sqlite:///{tmp_path}/agent.db", session="mine")
    run = Running(agent_of(Scripted(chat), plugin), plugin, session="../a/b")
    run.say("hello")
    asyncio.run(plugin.close())
    assert SqliteStore(tmp_path / "agent.db").sessions() == [f"mine/{APP}/customer/..%2Fa%2Fb/shop"]


def test_two_plugins_for_one_stored_session_are_refused(tmp_path):
    one, other = (plugin_of(store=f"sqlite:///{tmp_path}/agent.db") for _ in range(2))
    Running(agent_of(Scripted(chat), one), one).say("hello")
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        Running(agent_of(Scripted(chat), other), other).say("hello")


def test_few_conversations_stay_open():
    plugin, service = plugin_of(max_conversations=2), InMemorySessionService()
    agent = agent_of(Scripted(chat), plugin)
    runs = [Running(agent, plugin, service=service, session=f"s{at}") for at in range(5)]
    for run in runs:
        run.say("hello")
    assert len(plugin._conversations) == 2
    runs[0].say("again")
    assert [message["parts"][0]["text"] for message in runs[0].stored][::2] == ["hello", "again"]


def after(change: Any) -> Any:
    """The first request of a turn after a program changed the events of the session, and what was stored then."""
    model, service = Scripted(one_turn), InMemorySessionService()
    plugin = plugin_of()
    run = Running(agent_of(model, plugin), plugin, service=service)
    asyncio.run(run.work_through(1))
    kept = service.sessions[APP][run.user][run.id]
    kept.events = change(list(kept.events))
    run.say("go on")
    return model.requests[world.TURN], run


def test_an_edit_of_the_history_is_followed():
    def edit(events: list[Any]) -> list[Any]:
        events[0].content.parts[0].text = "Turn 0: an edited question"
        return events

    request, run = after(edit)
    assert "an edited question" in text_of(request)
    assert "customer 7 and" not in text_of(request) + str(run.stored)
    assert len(run.stored) == 41


def test_a_rewind_of_the_history_is_followed():
    request, run = after(lambda events: events[:21])
    assert world.order(100).splitlines()[0] not in text_of(request) + str(run.stored[:21])
    assert text_of(request[-1:]) == "go on"
    assert len(run.stored) == 22


def test_a_rewind_by_the_framework_is_followed():
    model = Scripted(chat)
    run = running(model)
    for turn in range(3):
        run.say(f"turn {turn}")
    second = [event.invocation_id for event in run.session.events][2]
    asyncio.run(run.runner.rewind_async(user_id=run.user, session_id=run.id, rewind_before_invocation_id=second))
    run.say("another")
    assert [text_of([each]) for each in model.requests[-1]][::2] == ["turn 0", "another"]
    assert len(run.stored) == 3


def test_a_removal_of_the_history_is_followed():
    request, run = after(lambda events: [])
    assert text_of(request) == "go on"
    assert len(run.stored) == 1


def test_an_agent_without_history_sees_its_turn_only():
    model = Scripted(chat)
    run = running(model, include_contents="none")
    run.say("hello")
    run.say("again")
    assert list(map(text_of, model.requests)) == ["hello", "again"]
    assert len(run.stored) == 1


def test_a_failing_store_stops_the_run_before_the_model():
    store, model = FaultyStore(), Scripted(chat)
    plugin = plugin_of(store=store)
    run = Running(agent_of(model, plugin), plugin)
    run.say("hello")
    store.fails = [StoreUnavailableError("the disk is full")] * 9
    with pytest.raises(StoreUnavailableError):
        run.say("again")
    assert len(model.requests) == 1
    store.fails = []
    run.say("and now?")
    assert text_of(model.requests[-1][-1:]) == "and now?"
    assert len(run.stored) == 4


def test_a_pinned_message_stays_and_redacted_words_never_leave():
    def redact(message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "parts": [_veiled(part) for part in message["parts"]]} if "parts" in message else message

    model = Scripted(one_turn)
    run = running(model, plugin=plugin_of(redact=redact))
    run.say(world.asked(0))
    asyncio.run(run.conversation.pin(2))
    run.say(world.asked(1))
    assert all(world.order(0).splitlines()[0] in text_of(request) for request in model.requests[20:])
    assert "shelf" not in "".join(map(text_of, model.requests))
    assert "shelf" in text_of(run.contents)


def _veiled(part: dict[str, Any]) -> dict[str, Any]:
    response = part.get("function_response")
    if response is None:
        return part
    result = response["response"]["result"].replace("shelf", "*****")
    return {"function_response": {**response, "response": {"result": result}}}


def test_a_summary_under_way_is_waited_for_at_the_end_of_a_run():
    asked, made = [], []

    async def summarize(request: Any) -> str:
        asked.append(request)
        await asyncio.sleep(0.02)
        made.append(request)
        return "They looked up orders."

    plugin = plugin_of(budget=1_500, summarizer=Summarizer(summarize, wait_seconds=30))
    run = running(Scripted(chat), plugin=plugin)
    for turn in range(16):
        run.say(f"turn {turn}")  # the event loop ends with it
    assert asked == made != []


def test_a_runner_that_closes_stores_what_is_buffered(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    one, other = plugin_of(store=store), plugin_of(store=store)
    service = InMemorySessionService()
    run = Running(agent_of(Scripted(chat), one), one, service=service)
    run.say("hello")
    asyncio.run(run.runner.close())
    assert len(one._conversations) == 0
    again = Running(agent_of(Scripted(chat), other), other, service=service)
    again.say("and again")
    assert [message["role"] for message in again.stored] == ["user", "model", "user"]
