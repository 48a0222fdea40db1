"""Pydantic AI: the hooks of the capability, with the framework's contexts of a run and of a request."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.integrations.pydantic_ai.request import lane_of

KEY = "bench"


class Named(FunctionModel):
    """A model whose provider counts: what Pydantic AI's own one for tests reports is a guess."""

    system = "scripted"


def silent(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001  the framework's signature
    """Is never asked."""
    raise AssertionError("the hooks are called without a model")


class PydanticAI(Adapter):
    """`before_model_request`, `get_wrapper_model` and `after_model_request` of `Backscroll`."""

    name = "Pydantic AI"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.capability: Backscroll[Any] = Backscroll(budget=budget)
        self.model = Named(silent, model_name="m")
        self.messages: list[ModelMessage] = []
        self.parameters = ModelRequestParameters(instruction_parts=[InstructionPart(content=system)])
        self.run: Any = None
        self.task: asyncio.Task[Any] | None = None

    def native(self, message: Message) -> ModelMessage:
        text = message["content"]
        if message["role"] == "user":
            return ModelRequest([UserPromptPart(text)])
        if message["role"] == "tool":
            return ModelRequest([ToolReturnPart("tool", text, tool_call_id=message["tool_call_id"])])
        if (call := call_of(message)) is not None:
            return ModelResponse([ToolCallPart(call[1], call[2], tool_call_id=call[0])])
        return ModelResponse([TextPart(text)])

    def add(self, natives: Sequence[ModelMessage]) -> None:
        self.messages += natives

    async def begin(self) -> None:
        await self.close()
        self.context: RunContext[Any] = RunContext(
            deps=None, model=self.model, usage=RunUsage(), messages=self.messages, conversation_id=KEY
        )
        self.run = await self.capability.for_run(self.context)
        opened, self.ended = asyncio.Event(), asyncio.Event()

        async def handler() -> Any:
            opened.set()
            await self.ended.wait()

        self.task = asyncio.create_task(self.run.wrap_run(self.context, handler=handler))
        await opened.wait()

    async def step(self, clock: Clock) -> None:
        request = ModelRequestContext(
            model=self.model, messages=list(self.messages), model_settings=None,
            model_request_parameters=self.parameters,
        )  # fmt: skip  # as the framework's
        with clock:
            sent = await self.run.before_model_request(self.context, request)
            wrapper = self.run.get_wrapper_model(self.model)
            wrapper._accepted()
            with clock.paused():
                usage = RequestUsage(input_tokens=self.tokens(), output_tokens=20)
                response = ModelResponse([TextPart("")], usage=usage)
            await self.run.after_model_request(self.context, request_context=sent, response=response)

    def tokens(self) -> int:
        return self.capability.conversation(KEY).usage(lane_of(self.model)).used.tokens

    async def close(self) -> None:
        if self.task is not None:
            self.ended.set()
            await self.task
            self.task = None

    async def alone(self, history: Sequence[ModelMessage], steps: int) -> list[float]:
        laps = Laps()

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001  the same
            laps.lap()
            if len(laps) >= steps:
                return ModelResponse([TextPart("done")])
            return ModelResponse([ToolCallPart("look", {}, tool_call_id=f"own{len(laps)}")])

        agent: Any = Agent(FunctionModel(answer), tools=[look], capabilities=[Newest()])
        await agent.run("Go on.", message_history=list(history[:-1]))
        return laps.seconds


def look() -> str:
    """Look."""
    return "seen"


class Newest(AbstractCapability[Any]):
    """Shows the newest messages."""

    async def before_model_request(
        self,
        ctx: RunContext[Any],
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Return the request with them."""
        return replace(request_context, messages=request_context.messages[-SHOWN:])
