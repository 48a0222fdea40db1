"""The OpenAI Agents SDK: a managed model, called as the SDK's runner calls a model."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Agent, ModelResponse, ModelSettings, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model, ModelTracing
from agents.run_config import CallModelData, ModelInputData
from agents.testing import assistant_message, function_call

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.openai_agents import managed

set_tracing_disabled(True)


class Reporting(Model):
    """Answers with the usage of the request."""

    model = "scripted"

    def __init__(self, adapter: "OpenAIAgents") -> None:
        self.adapter = adapter
        self.clock = Clock()

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """Answer."""
        with self.clock.paused():
            usage = Usage(requests=1, input_tokens=self.adapter.tokens(), output_tokens=20)
            call = function_call("look", {}, call_id=f"answer{id(usage)}")
            return ModelResponse(output=[call], usage=usage, response_id=None)

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """Is never asked for."""
        raise AssertionError("no streams in this benchmark")
        yield


class Scripted(Reporting):
    """Calls the tool in each answer, and ends after so many."""

    def __init__(self, laps: Laps, answers: int) -> None:
        self.laps, self.answers = laps, answers

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """Answer."""
        self.laps.lap()
        done = len(self.laps) >= self.answers
        item = assistant_message("done") if done else function_call("look", {}, call_id=f"own{len(self.laps)}")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)


@function_tool
def look() -> str:
    """Look."""
    return "seen"


def newest(data: CallModelData[Any]) -> ModelInputData:
    """Show the newest items."""
    return ModelInputData(input=data.model_data.input[-SHOWN:], instructions=data.model_data.instructions)


class OpenAIAgents(Adapter):
    """`managed(model).get_response`."""

    name = "OpenAI Agents"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.inner = Reporting(self)
        self.model = managed(self.inner, budget=budget)
        self.items: list[Any] = []

    def native(self, message: Message) -> Any:
        if message["role"] == "tool":
            known = message["tool_call_id"]
            return {"type": "function_call_output", "call_id": known, "output": message["content"]}
        if (call := call_of(message)) is not None:
            return {"type": "function_call", "call_id": call[0], "name": call[1], "arguments": call[2]}
        return {"role": message["role"], "content": message["content"]}

    def add(self, natives: Sequence[Any]) -> None:
        self.items = [*self.items, *natives]  # the runner makes a new list for each request

    async def step(self, clock: Clock) -> None:
        self.inner.clock = clock
        with clock:
            await self.model.get_response(
                self.system, self.items, ModelSettings(), [], None, [], ModelTracing.DISABLED,
                previous_response_id=None, conversation_id=None, prompt=None,
            )  # fmt: skip  # as in the signature

    def tokens(self) -> int:
        return self.model.conversation.usage(self.inner.model).used.tokens

    async def alone(self, history: Sequence[Any], steps: int) -> list[float]:
        laps = Laps()
        agent: Any = Agent(name="own", model=Scripted(laps, steps), tools=[look])
        config = RunConfig(call_model_input_filter=newest)
        await Runner.run(agent, list(history), max_turns=steps + 10, run_config=config)
        return laps.seconds
