"""Strands Agents: the hooks of a real agent, with the copies that its event loop hands to middleware."""

import json
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from typing import Any

from strands import Agent, tool
from strands.hooks import AfterModelCallEvent, BeforeInvocationEvent, MessageAddedEvent
from strands.middleware import InvokeModelStage
from strands.middleware.stages import InvokeModelContext
from strands.models.model import Model

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.strands import ContextManagerPlugin


class Scripted(Model):
    """Calls the tool in each answer, and ends after so many."""

    def __init__(self, budget: int = 0, laps: Laps | None = None, answers: int = 0) -> None:
        self.config: dict[str, Any] = {"model_id": "scripted"} | ({"context_window_limit": budget} if budget else {})
        self.laps, self.answers = Laps() if laps is None else laps, answers

    def update_config(self, **given: Any) -> None:
        """As the interface has it."""
        self.config.update(given)

    def get_config(self) -> Any:
        """As the interface has it."""
        return self.config

    async def structured_output(self, *given: Any, **named: Any) -> AsyncIterator[Any]:  # type: ignore[override]  # not asked for
        """Is never asked for."""
        raise AssertionError("no structured output in a benchmark")
        yield

    async def stream(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Yield the events of one message."""
        self.laps.lap()
        done = len(self.laps) >= self.answers
        call = {"toolUse": {"name": "look", "toolUseId": f"own{len(self.laps)}"}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {} if done else call}}
        yield {"contentBlockDelta": {"delta": {"text": "done"} if done else {"toolUse": {"input": "{}"}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if done else "tool_use"}}


@tool
def look() -> str:
    """Look."""
    return "seen"


async def newest(context: InvokeModelContext) -> InvokeModelContext:
    """Show the newest messages."""
    return context.replace(messages=context.messages[-SHOWN:])


class Strands(Adapter):
    """`ContextManagerPlugin`, by the events of the agent's hooks and the conversation's `view_for`."""

    name = "Strands"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.plugin = ContextManagerPlugin("auto")
        self.agent: Any = Agent(
            model=Scripted(budget), plugins=[self.plugin], context_manager=False, callback_handler=None,
            system_prompt=system,
        )  # fmt: skip  # one list
        self.context = self.plugin.conversation(self.agent)
        self.copies: list[Any] = []
        self.new: list[Any] = []

    def native(self, message: Message) -> Any:
        text = message["content"]
        if message["role"] == "tool":
            result = {"toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": text or " "}]}
            return {"role": "user", "content": [{"toolResult": result}]}
        if (call := call_of(message)) is None:
            return {"role": message["role"], "content": [{"text": text}]}
        use = {"toolUseId": call[0], "name": call[1], "input": json.loads(call[2])}
        return {"role": "assistant", "content": [{"toolUse": use}]}

    def add(self, natives: Sequence[Any]) -> None:
        self.new = list(natives)
        self.agent.messages += natives
        self.copies = [*self.copies, *deepcopy(self.new)]  # its event loop copies all of them for each request

    async def begin(self) -> None:
        event = BeforeInvocationEvent(agent=self.agent, invocation_state={}, messages=None)
        await self.agent.hooks.invoke_callbacks_async(event)

    async def step(self, clock: Clock) -> None:
        agent, hooks = self.agent, self.agent.hooks
        added = [MessageAddedEvent(agent=agent, message=each) for each in self.new[-2:]]
        asked = InvokeModelContext(
            agent=agent, messages=self.copies, system_prompt=deepcopy(agent._system_prompt_content),
            tool_specs=agent.tool_registry.get_all_tool_specs(), tool_choice=None, invocation_state={},
            model=agent.model,
        )  # fmt: skip  # as its event loop
        with clock:
            for event in added:
                await hooks.invoke_callbacks_async(event)
            await self.context.view_for(asked)
            with clock.paused():
                answered = self._answer()
            await hooks.invoke_callbacks_async(answered)

    def _answer(self) -> AfterModelCallEvent:
        tokens = self.tokens()
        usage = {"inputTokens": tokens, "outputTokens": 20, "totalTokens": tokens + 20}
        message: Any = {"role": "assistant", "content": [], "metadata": {"usage": usage}}
        response = AfterModelCallEvent.ModelStopResponse(stop_reason="tool_use", message=message)
        return AfterModelCallEvent(agent=self.agent, invocation_state={}, stop_response=response)

    def tokens(self) -> int:
        return self.plugin.usage(self.agent).used.tokens

    async def alone(self, history: Sequence[Any], steps: int) -> list[float]:
        laps = Laps()
        agent: Any = Agent(model=Scripted(0, laps, steps), tools=[look], context_manager=False, callback_handler=None)
        agent.messages = list(history[:-1])
        agent.add_middleware(InvokeModelStage.Input, newest)
        await agent.invoke_async("Go on.")
        return laps.seconds
