"""Plain graphs of LangGraph: a node that calls a model with a view, and the hook of the older agent."""

import asyncio
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition

from backscroll import BudgetError, ConfigurationError
from backscroll.integrations.langchain import LangGraphContext, RequestTooLarge
from tests.fakes import count_quarter
from tests.integrations import world
from tests.integrations.langchain.agents import config_of, order, played
from tests.integrations.langchain.scripted import Scripted, called, faults, strangers, tokens_of, without_system

pytestmark = pytest.mark.frameworks

CONFIG = config_of("one")
SYSTEM = SystemMessage(world.SYSTEM)


def context_of(**options: Any) -> LangGraphContext:
    """Our context at the world's budget."""
    return LangGraphContext(**{"budget": world.BUDGET, "tokenizer": count_quarter, **options})


def graph_of(model: Scripted, context: LangGraphContext, *, ways: str = "invoke", checkpointer: Any = None) -> Any:
    """The usual graph of a model and its tools."""
    tools = [order, context.recall_tool]
    bound = model.bind_tools(tools)

    def answer(state: MessagesState) -> Any:
        messages = [SYSTEM, *state["messages"]]
        if ways == "view":
            return {"messages": [bound.invoke(context.view(messages, bound))]}
        return {"messages": [context.invoke(bound, messages)]}

    async def aanswer(state: MessagesState) -> Any:
        messages = [SYSTEM, *state["messages"]]
        if ways == "view":
            return {"messages": [await bound.ainvoke(await context.aview(messages, bound))]}
        return {"messages": [await context.ainvoke(bound, messages)]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", RunnableLambda(answer, aanswer))
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", tools_condition)
    graph.add_edge("tools", "answer")
    return graph.compile(checkpointer=checkpointer)


def check(model: Scripted, messages: list[Any], *, turns: int) -> None:
    """What holds for each run of the world."""
    assert len(model.requests) == turns * world.TURN
    assert faults(model, messages) == []
    assert max(map(tokens_of, model.requests)) <= world.BUDGET
    assert all(request[0] is SYSTEM for request in model.requests)
    recalled = [
        message.content for message in messages if isinstance(message, ToolMessage) and message.name == "recall"
    ]
    assert [world.order(0) in text for text in recalled] == [True] * turns
    assert not any("<summary>" in str(message.content) for message in messages)


@pytest.mark.parametrize("ways", ["invoke", "view"])
def test_steps_of_a_graph(ways):
    model = Scripted()
    messages = played(graph_of(model, context_of(), ways=ways), None, turns=1)
    check(model, messages, turns=1)
    assert strangers(model, messages) == []


def test_steps_with_a_thread_in_an_event_loop():
    model, context = Scripted(), context_of()
    graph = graph_of(model, context, checkpointer=InMemorySaver())

    async def run() -> Any:
        found: Any = None
        for turn in range(1):
            found = await graph.ainvoke({"messages": [HumanMessage(world.asked(turn))]}, CONFIG)
        return found["messages"]

    messages = asyncio.run(run())
    check(model, messages, turns=1)
    assert context.conversation("one").usage("scripted/scripted").compactions > 0
    context.close()


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("loop", [False, True])
def test_the_hook_of_the_older_agent_leaves_the_state_whole(loop):
    model, context = Scripted(), context_of()
    tools = [order, context.recall_tool]
    hook = context.pre_model_hook(model.bind_tools(tools))
    agent: Any = create_react_agent(model, tools, prompt=SYSTEM, pre_model_hook=hook, checkpointer=InMemorySaver())

    async def run() -> Any:
        return [await agent.ainvoke({"messages": [HumanMessage(world.asked(turn))]}, CONFIG) for turn in range(1)][-1]

    messages = asyncio.run(run())["messages"] if loop else played(agent, CONFIG, turns=1)
    check(model, messages, turns=1)


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_a_rejection_is_answered_by_a_shorter_request():
    model, context = Scripted(window=1_800), context_of()
    messages = played(graph_of(model, context), None, turns=1)
    assert model.rejected
    assert faults(model, messages) == []
    error = KeyError("no such thing")
    model.failures = [error]
    with pytest.raises(KeyError) as caught:
        graph_of(model, context).invoke({"messages": [*messages, HumanMessage("go on")]})
    assert caught.value is error


def test_messages_that_never_fit_are_our_error():
    context = context_of(budget=100, strategies=None)
    long: list[Any] = [SystemMessage("word " * 4_000), HumanMessage("hi")]
    with pytest.raises(RequestTooLarge):
        context.invoke(Scripted(), long)
    with pytest.raises(BudgetError):
        context.view(long, Scripted())
    with pytest.raises(ContextOverflowError):
        asyncio.run(context.ainvoke(Scripted(), long))


def test_it_works_outside_of_a_graph():
    model = Scripted(script=lambda step: called(19))
    context = context_of()
    history: list[Any] = [SYSTEM, HumanMessage("begin")]
    history.append(context.invoke(model, history))
    history.append(HumanMessage("go on"))
    assert context.view(history, model) == history
    assert isinstance(history[2], AIMessage)
    assert without_system(model.requests[0]) == [HumanMessage("begin")]


def test_a_changed_system_prompt_keeps_the_plan():
    model, context = Scripted(), context_of()
    messages = played(graph_of(model, context), None, turns=1)
    first = context.view([SYSTEM, *messages], model)
    other = context.view([SystemMessage("You are another agent."), *messages], model)
    assert other[0].content == "You are another agent."
    assert [message.content for message in other[1:]] == [message.content for message in first[1:]]


def test_wrong_options_fail_at_construction():
    with pytest.raises(ConfigurationError, match="unknown option"):
        LangGraphContext(budgte=3)
    with pytest.raises(ConfigurationError, match="native"):
        LangGraphContext(native=object())


def test_no_warning_is_left():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        played(graph_of(Scripted(), context_of()), None, turns=1)


def test_without_thread_and_ids_no_user_finds_what_another_said():
    context, model = context_of(), Scripted(script=lambda step: AIMessage("Noted."))
    context.invoke(model, [HumanMessage("The door code is 4711.")])
    history = [HumanMessage("I am another user.")]
    context.invoke(model, history)
    runtime = SimpleNamespace(config={}, state={"messages": history})
    recall: Any = context.recall_tool
    assert "4711" not in recall.func(runtime=runtime, query="door code")
    assert "another user" in recall.func(runtime=runtime, ref="0")


class Waiting(Scripted):
    """Answers after a while, so that calls at once wait for it together."""

    async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> Any:
        answer = self._generate(messages)
        await asyncio.sleep(0.01 * len(self.requests))
        return answer


def test_the_count_of_one_call_is_not_taken_for_that_of_another():
    context, model = context_of(budget=20_000), Waiting(script=lambda step: AIMessage("Fine."))
    begin = [HumanMessage("begin", id="1")]

    async def node(state: MessagesState) -> Any:
        both = [[*begin, HumanMessage("word " * 4_000, id="2")], [*begin, HumanMessage("word", id="3")]]
        for _ in range(3):  # a wrong count is reported as a warning
            await asyncio.gather(*(context.ainvoke(model, messages) for messages in both))
        return {"messages": [await context.ainvoke(model, both[1])]}

    graph: Any = StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    asyncio.run(graph.ainvoke({"messages": begin}, CONFIG))
    assert context.conversation("one").usage("waiting/scripted").used.source == "measured"
