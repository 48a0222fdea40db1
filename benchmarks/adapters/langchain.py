"""LangChain: the middleware of an agent, and the helper for the nodes of a plain graph."""

import json
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import ExecutionInfo, Runtime

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.langchain import BackscrollMiddleware, LangChainConversation, LangGraphContext
from backscroll.integrations.langchain.models import lane_of
from backscroll.integrations.langchain.threads import Place

THREAD = "bench"


class Scripted(BaseChatModel):
    """Calls the tool in each answer, and ends after so many."""

    laps: Any = None
    answers: int = 0
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        """Know the tools already."""
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        self.laps.lap()
        self.asked += 1
        done = self.asked > self.answers
        call = {"id": f"own{self.asked}", "name": "look", "args": {}}
        answer = AIMessage("done") if done else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look() -> str:
    """Look."""
    return "seen"


class Newest(AgentMiddleware[Any, Any, Any]):
    """Shows the newest messages."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Call the model with them."""
        return handler(request.override(messages=request.messages[-SHOWN:]))


class _LangChain(Adapter):
    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.messages: list[BaseMessage] = []
        self.count = 0
        self.model = Scripted()

    def native(self, message: Message) -> BaseMessage:
        self.count += 1
        known = f"m{self.count}"
        if message["role"] == "tool":
            return ToolMessage(message["content"], tool_call_id=message["tool_call_id"], id=known)
        if message["role"] == "user":
            return HumanMessage(message["content"], id=known)
        call = call_of(message)
        calls = [] if call is None else [{"id": call[0], "name": call[1], "args": json.loads(call[2])}]
        return AIMessage(message["content"] or "", tool_calls=calls, id=known)

    def add(self, natives: Sequence[BaseMessage]) -> None:
        self.messages = [*self.messages, *natives]  # as the reducer of the state does, which makes a new list

    def conversation(self) -> LangChainConversation:
        """Return the conversation."""
        raise NotImplementedError

    def tokens(self) -> int:
        return self.conversation().usage(lane_of(self.model)).used.tokens

    def usage(self) -> Any:
        """Return what a model reports."""
        tokens = self.tokens()
        return {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}


class Middleware(_LangChain):
    """`BackscrollMiddleware.wrap_model_call` with a request of `create_agent`."""

    name = "LangChain, middleware"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.middleware = BackscrollMiddleware(budget=budget, recall=False)
        info = ExecutionInfo(
            checkpoint_id="", checkpoint_ns="model:1", task_id="1", thread_id=THREAD, run_id=None, node_attempt=1
        )
        self.runtime = Runtime(execution_info=info)

    def conversation(self) -> LangChainConversation:
        return self.middleware.conversation(THREAD)

    async def step(self, clock: Clock) -> None:
        messages: Any = self.messages
        request = ModelRequest(
            model=self.model, messages=messages, system_message=SystemMessage(self.system),
            state={"messages": messages}, runtime=self.runtime,
        )  # fmt: skip  # as the framework's

        def send(_: Any) -> ModelResponse[Any]:
            with clock.paused():
                return ModelResponse(result=[AIMessage("", usage_metadata=self.usage())])

        with clock:
            self.middleware.wrap_model_call(request, send)

    async def alone(self, history: Sequence[BaseMessage], steps: int) -> list[float]:
        laps = Laps()
        agent: Any = create_agent(Scripted(laps=laps, answers=steps), [look], middleware=[Newest()])
        agent.invoke({"messages": list(history)}, {"recursion_limit": 10 * steps + 100})
        return laps.seconds


class Graph(_LangChain):
    """`LangGraphContext.view` with the messages of a plain graph, which begin with the system prompt."""

    name = "LangGraph, plain graph"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.context = LangGraphContext(budget=budget)
        self.messages = [SystemMessage(system)]
        self.reported: Any = None
        """The usage in the newest answer, which the state holds at the next step."""

    def add(self, natives: Sequence[BaseMessage]) -> None:
        if self.reported is not None and isinstance(natives[0], AIMessage):
            natives[0].usage_metadata = self.reported
        super().add(natives)

    def conversation(self) -> LangChainConversation:
        return self.context._threads.get(Place(None, ()), self.messages)

    async def step(self, clock: Clock) -> None:
        with clock:
            self.context.view(self.messages, self.model)
        self.reported = self.usage()

    async def alone(self, history: Sequence[BaseMessage], steps: int) -> list[float]:
        laps = Laps()
        model = Scripted(laps=laps, answers=steps)

        def ask(state: Any) -> Any:
            return {"messages": [model.invoke(state["messages"][-SHOWN:])]}

        def goes_on(state: Any) -> str:
            return "tools" if state["messages"][-1].tool_calls else END

        graph = StateGraph(MessagesState)
        graph.add_node("model", ask)
        graph.add_node("tools", ToolNode([look]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", goes_on, ["tools", END])
        graph.add_edge("tools", "model")
        compiled: Any = graph.compile()
        compiled.invoke({"messages": list(history)}, {"recursion_limit": 10 * steps + 100})
        return laps.seconds
