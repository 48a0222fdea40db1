"""Stored threads: a restart goes on, a failing store is an error, and sub-agents have conversations of their own."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from backscroll import BackscrollWarning, ConfigurationError, StoreUnavailableError
from backscroll.integrations.langchain import BackscrollMiddleware
from backscroll.integrations.langchain.threads import Place, Threads, place_of
from tests.fakes import FaultyStore, count_quarter
from tests.integrations import world
from tests.integrations.langchain.agents import agent_of, config_of, middleware_of, played
from tests.integrations.langchain.scripted import Scripted, called, faults, without_system

CONFIG = config_of("one")


def test_a_restart_goes_on_where_it_was(tmp_path):
    saver, store = InMemorySaver(), f"sqlite:///{tmp_path}/agent.db"
    model, middleware = Scripted(), middleware_of(store=store, session="shop")
    messages = played(agent_of(model, middleware, checkpointer=saver), CONFIG, turns=1)
    compactions = middleware.conversation("one").usage("scripted/scripted").compactions
    assert middleware.conversation("one").session_id == "shop/one"
    assert compactions > 0
    middleware.close()
    again = middleware_of(store=store, session="shop")
    agent = agent_of(model, again, checkpointer=saver)
    messages = agent.invoke({"messages": [HumanMessage(world.asked(1))]}, CONFIG)["messages"]
    before, after = map(without_system, model.requests[19:21])
    assert [message.content for message in after[: len(before)]] == [message.content for message in before]
    assert len(model.requests) == 2 * world.TURN
    assert faults(model, messages) == []
    again.close()


def test_a_thread_in_two_adapters_is_refused(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    one, other = middleware_of(store=store), middleware_of(store=store)
    model = Scripted(script=lambda step: AIMessage("done"))
    agent_of(model, one, checkpointer=InMemorySaver()).invoke({"messages": [HumanMessage("a")]}, CONFIG)
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        agent_of(model, other, checkpointer=InMemorySaver()).invoke({"messages": [HumanMessage("a")]}, CONFIG)
    named = middleware_of(store=store, agent="writer")
    agent_of(model, named, checkpointer=InMemorySaver()).invoke({"messages": [HumanMessage("a")]}, CONFIG)
    one.close()
    named.close()


def test_a_failing_store_is_an_error_and_the_next_run_goes_on():
    store = FaultyStore()
    model = Scripted(script=lambda step: AIMessage("done"))
    agent = agent_of(model, middleware_of(store=store), checkpointer=InMemorySaver())
    store.fails = [StoreUnavailableError("the disk is full")]
    with pytest.raises(StoreUnavailableError):
        agent.invoke({"messages": [HumanMessage("begin", id="b")]}, CONFIG)
    assert model.requests == []
    found = agent.invoke({"messages": [HumanMessage("go on")]}, CONFIG)["messages"]
    assert [message.content for message in found] == ["begin", "go on", "done"]
    assert [message.content for message in without_system(model.requests[0])] == ["begin", "go on"]


def test_a_store_without_a_thread_is_reported_once(tmp_path):
    model = Scripted(script=lambda step: AIMessage("done"))
    agent = agent_of(model, middleware_of(store=f"sqlite:///{tmp_path}/agent.db"))
    with pytest.warns(BackscrollWarning, match="runs without a thread"):
        agent.invoke({"messages": [HumanMessage("begin")]})
    agent.invoke({"messages": [HumanMessage("begin")]})


@pytest.mark.parametrize("shared", [True, False])
def test_sub_agents_of_one_thread_do_not_mix(shared, tmp_path):
    """An agent calls two others at once in its tools. All have one thread, and each reads only what is its own."""
    store = f"sqlite:///{tmp_path}/agent.db"
    middleware = middleware_of(store=store)
    ended: dict[str, Any] = {}

    @tool
    def ask(who: str) -> str:
        """Ask another agent."""
        model = Scripted()
        inner = middleware if shared else middleware_of(store=store)
        done = agent_of(model, inner).invoke({"messages": [HumanMessage(f"{who}: {world.asked(0)}")]})
        ended[who] = model, done["messages"]
        return str(done["messages"][-1].content)

    calls = [{"id": who, "name": "ask", "args": {"who": who}} for who in ("anna", "bert")]
    outer = Scripted(script=lambda step: AIMessage("", tool_calls=calls) if step == 0 else AIMessage("done"))
    agent = agent_of(outer, middleware, tools=[ask], checkpointer=InMemorySaver())
    found = agent.invoke({"messages": [HumanMessage("begin")]}, CONFIG)["messages"]
    assert [message.content for message in found[2:4]] == [world.text_at(19)] * 2
    for model, messages in ended.values():
        assert len(model.requests) == world.TURN
        assert faults(model, messages) == []
        recalled = [each for each in messages if isinstance(each, ToolMessage) and each.name == "recall"]
        assert [world.order(0) in str(each.content) for each in recalled] == [True]
    assert [each.content for each in without_system(outer.requests[1])[:1]] == ["begin"]
    middleware.close()


def test_keys_hold_thread_agent_names_and_first_message():
    said = [HumanMessage("hi", id="m/1")]
    threads = Threads("writer", 4, {"tokenizer": count_quarter})
    root = place_of("t/1", "model:8-4")
    assert root == Place("t/1", ())
    assert threads._key(root, said) == "t%2F1/writer"
    assert place_of(0, "model:8-4") == Place("0", ())
    nested = place_of("t", "tools:8-4|plan:9|model:7")
    assert nested == Place("t", ("tools", "plan"))
    assert threads._key(nested, said) == "t/writer/tools/plan/m%2F1"
    assert threads._key(place_of(None, "model:1"), said) == "writer/m%2F1"
    assert threads._key(place_of("", ""), []) == "writer"


def test_a_thread_may_be_a_number():
    middleware = middleware_of()
    agent = agent_of(Scripted(script=lambda step: AIMessage("done")), middleware, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": 7}}
    agent.invoke({"messages": [HumanMessage("a")]}, config)
    assert len(agent.invoke({"messages": [HumanMessage("b")]}, config)["messages"]) == 4
    assert middleware.conversation(7).usage("scripted/scripted").messages == 4, "with the system prompt"


def test_conversations_that_are_not_used_are_closed():
    middleware = middleware_of(max_conversations=2)
    model = Scripted(script=lambda step: AIMessage("done"))
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    for name in "abc":
        agent.invoke({"messages": [HumanMessage(name)]}, config_of(name))
    assert len(middleware._threads._stored) == 2
    found = agent.invoke({"messages": [HumanMessage("again")]}, config_of("a"))["messages"]
    assert [message.content for message in found] == ["a", "done", "again", "done"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budgte": 3}, "unknown option `budgte`"),
        ({"cache_marks": "auto"}, "`cache_marks` has no effect in LangChain: .*AnthropicPromptCachingMiddleware"),
        ({"native": object()}, "`native` has no effect in LangChain"),
        ({"agent": 3}, "`agent` must be a text"),
        ({"max_conversations": 0}, "`max_conversations`"),
        ({"store": "redis://nowhere"}, "unknown scheme"),
    ],
)
def test_wrong_options_fail_at_construction(options, words):
    with pytest.raises(ConfigurationError, match=words):
        BackscrollMiddleware(**options)


@pytest.mark.parametrize("loop", [False, True])
def test_recall_answers_a_wrong_reference_in_words(loop):
    import asyncio

    def script(step: int) -> AIMessage:
        if step == 0:
            return AIMessage("", tool_calls=[{"id": "r", "name": "recall", "args": {"ref": "999"}}])
        return called(19)

    agent = agent_of(Scripted(script=script))
    given: Any = {"messages": [HumanMessage("begin")]}
    found = asyncio.run(agent.ainvoke(given)) if loop else agent.invoke(given)
    assert "999" in found["messages"][2].content
    assert found["messages"][2].status == "success"


def test_recall_may_be_left_out():
    assert middleware_of(recall=False).tools == []


def test_recall_is_answered_by_a_process_that_made_no_view(tmp_path):
    """A run that was interrupted before its tools is resumed elsewhere: the tool comes first there."""
    saver, store = InMemorySaver(), f"sqlite:///{tmp_path}/agent.db"
    model, middleware = Scripted(), middleware_of(store=store)
    agent = agent_of(model, middleware, checkpointer=saver)
    agent.invoke({"messages": [HumanMessage(world.asked(0))]}, CONFIG)
    model.script = lambda step: AIMessage("", tool_calls=[{"id": "r", "name": "recall", "args": {"ref": "2"}}])
    stopped = agent_of(model, middleware, checkpointer=saver, interrupt_before=["tools"])
    stopped.invoke({"messages": [HumanMessage("what was the first order?")]}, CONFIG)
    middleware.close()
    model.script = lambda step: AIMessage("done")
    again = middleware_of()  # without the store: all that it knows is the state
    messages = agent_of(model, again, checkpointer=saver).invoke(None, CONFIG)["messages"]
    assert world.order(0) in str(messages[-2].content)
    assert messages[-1].content == "done"
