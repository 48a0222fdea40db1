"""An agent on LiteLLM: its loop of calls and tools, for callers with an event loop and without one."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import litellm

from backscroll.integrations.litellm import BackscrollHandler
from backscroll.integrations.litellm.translation import as_dict
from tests.fakes import count_quarter
from tests.integrations.litellm.provider import Provider
from tests.integrations.world import BUDGET, STEPS, SYSTEM, asked, order

ORDER = {
    "type": "function",
    "function": {"name": "order", "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}}},
}


def handler_of(**options: Any) -> BackscrollHandler:
    """A handler at the budget of the world; `budget=None`: by the model's window."""
    chosen = {"tokenizer": count_quarter, "budget": BUDGET, **options}
    return BackscrollHandler(**{name: value for name, value in chosen.items() if value is not None})


@contextmanager
def installed(handler: BackscrollHandler) -> Any:
    """A handler among LiteLLM's callbacks."""
    before = list(litellm.callbacks)
    litellm.callbacks = [handler]
    try:
        yield handler
    finally:
        litellm.callbacks = before
        for registry in (litellm.input_callback, litellm.success_callback, litellm.failure_callback):
            registry[:] = [each for each in registry if each is not handler]
        for registry in (litellm._async_success_callback, litellm._async_failure_callback):
            registry[:] = [each for each in registry if each is not handler]


class Agent:
    """An agent with a history of its own; `model` names its script.

    Args:
        handler: Answers its calls of `recall`.
        provider: Where its model is.
        model: The name of its model, after the provider's.
        session: Its session. `None`: calls name none.
        named: Further arguments of each call.
    """

    def __init__(
        self,
        handler: BackscrollHandler,
        provider: Provider,
        model: str = "small-1",
        session: str | None = "s",
        **named: Any,
    ) -> None:
        self.handler, self.provider, self.model, self.session = handler, provider, model, session
        self.named = {"litellm_session_id": session, **named} if session else named
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        self.seen: list[list[dict[str, Any]]] = []
        """Of each call, the history that it was made with."""
        self.recalled: list[str] = []
        self.objects = True
        """Whether answers are kept as LiteLLM's objects, else as dicts."""

    def call(self) -> dict[str, Any]:
        """The arguments of the next call."""
        self.seen.append([as_dict(message) for message in self.messages])
        return {
            "model": f"openai/{self.model}",
            "messages": self.messages,
            "tools": [ORDER, self.handler.recall_tool],
            "api_base": self.provider.url,
            "api_key": "none",
            **self.named,
        }

    def steps(self, number: int = STEPS) -> Generator[dict[str, Any], Any, None]:
        """Yield the arguments of each call; send the answer's message back."""
        turn = 0
        for _ in range(number):
            if as_dict(self.messages[-1])["role"] in ("system", "assistant"):
                self.messages.append({"role": "user", "content": asked(turn)})
                turn += 1
            message = yield self.call()
            self.messages.append(message if self.objects else as_dict(message))
            for call in message.tool_calls or ():
                self.messages.append(self.result(call))

    def result(self, call: Any) -> dict[str, Any]:
        """The tool's message for a call."""
        if call.function.name == "recall":
            said = self.handler.answer_recall_now(call, self.session or "")
            self.recalled.append(said["content"])
            return said
        number = int(call.function.arguments.partition(": ")[2].strip("}"))
        return {"role": "tool", "tool_call_id": call.id, "content": order(number)}

    def faults(self) -> Any:
        """What the model got and what it represents."""
        return zip(self.provider.requests(self.model), self.seen, strict=True)


def run(agent: Agent, number: int = STEPS, complete: Any = None, **more: Any) -> Agent:
    """Make so many calls without an event loop."""
    complete = complete or agent.handler.completion
    steps = agent.steps(number)
    call = next(steps)
    try:
        while True:
            call = steps.send(message_of(complete(**call, **more), more))
    except StopIteration:
        return agent


async def run_async(agent: Agent, number: int = STEPS, complete: Any = None, **more: Any) -> Agent:
    """Make so many calls in an event loop."""
    complete = complete or agent.handler.acompletion
    steps = agent.steps(number)
    call = next(steps)
    try:
        while True:
            response = await complete(**call, **more)
            if more.get("stream"):
                response = [chunk async for chunk in response]
            call = steps.send(message_of(response, more))
    except StopIteration:
        return agent


def ran(agent: Agent, number: int = STEPS, complete: Any = None, **more: Any) -> Agent:
    """Run `run_async` in an event loop of its own."""
    return asyncio.run(run_async(agent, number, complete, **more))


def message_of(response: Any, more: dict[str, Any]) -> Any:
    """The message of a response or of a stream's chunks."""
    if more.get("stream"):
        response = litellm.stream_chunk_builder(list(response))
    return response.choices[0].message
