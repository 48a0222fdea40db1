"""Microsoft Agent Framework: the middleware of a run, with the framework's contexts of a session and of a call."""

from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    SessionContext,
)
from agent_framework import Message as Native

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.agent_framework import BackscrollProvider

LANE = "scripted/small"


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Calls the tool in each answer, and ends after so many."""

    OTEL_PROVIDER_NAME = "scripted"

    def __init__(self, laps: Laps | None = None, answers: int = 0) -> None:
        super().__init__(middleware=[Newest()] if answers else [])
        self.model = "small"
        self.laps, self.answers = Laps() if laps is None else laps, answers
        self.function_invocation_configuration["max_iterations"] = answers + 10

    def _inner_get_response(self, **_: Any) -> Any:
        return self._answer()

    async def _answer(self) -> ChatResponse:
        self.laps.lap()
        done = len(self.laps) >= self.answers
        known = f"own{len(self.laps)}"
        content = Content.from_text("done") if done else Content.from_function_call(known, "look", arguments="{}")
        return ChatResponse(messages=[Native("assistant", [content])])


def look() -> str:
    """Look."""
    return "seen"


class Newest(ChatMiddleware):
    """Shows the newest messages, and gives back all of them."""

    async def process(self, context: ChatContext, call_next: Any) -> None:
        """Call the model with them."""
        given = context.messages
        context.messages = list(given[-SHOWN:])
        try:
            await call_next()
        finally:
            context.messages = given


class AgentFramework(Adapter):
    """`ViewMiddleware.process`, of a run that `BackscrollProvider.before_run` has begun."""

    name = "Agent Framework"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.provider = BackscrollProvider(budget=budget)
        self.client = Scripted()
        self.history = InMemoryHistoryProvider()
        self.agent = Agent(self.client, system, name="bench", context_providers=[self.history, self.provider])
        self.session = AgentSession()
        self.messages: list[Native] = []
        self.middleware: Any = None

    def native(self, message: Message) -> Native:
        text = message["content"]
        if message["role"] == "tool":
            return Native("tool", [Content.from_function_result(message["tool_call_id"], result=text)])
        if (call := call_of(message)) is not None:
            return Native("assistant", [Content.from_function_call(call[0], call[1], arguments=call[2])])
        return Native(message["role"], [Content.from_text(text)])

    def add(self, natives: Sequence[Native]) -> None:
        self.messages = [*self.messages, *natives]

    async def begin(self) -> None:
        context = SessionContext(
            session_id=self.session.session_id,
            input_messages=self.messages[-1:],
            context_messages={self.history.source_id: self.messages[:-1]},
        )
        await self.provider.before_run(agent=self.agent, session=self.session, context=context)
        [self.middleware] = context.middleware[self.provider.source_id]

    async def step(self, clock: Clock) -> None:
        options = {"model": "small", "instructions": self.system}
        context = ChatContext(client=self.client, messages=self.messages, options=options)

        async def send() -> None:
            with clock.paused():
                tokens = self.tokens()
                usage: Any = {"input_token_count": tokens, "output_token_count": 20, "total_token_count": tokens + 20}
                context.result = ChatResponse(messages=[Native("assistant", [])], usage_details=usage)

        with clock:
            await self.middleware.process(context, send)

    def tokens(self) -> int:
        return self.provider.conversation(self.session, self.agent).usage(LANE).used.tokens

    async def alone(self, history: Sequence[Native], steps: int) -> list[float]:
        laps = Laps()
        agent: Any = Agent(Scripted(laps, steps), name="own", tools=[look])
        session = AgentSession()
        session.state["in_memory"] = {"messages": list(history[:-1])}
        await agent.run("Go on.", session=session)
        return laps.seconds
