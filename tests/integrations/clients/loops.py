"""An agent's loop over a client, as users write it, and a model that calls tools, also `recall`."""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from backscroll import AsyncContextManager, ContextManager
from backscroll.evaluation.fake_providers import Reply, reply
from backscroll.integrations.clients import stream_with_retry, with_retry

REFERENCE = re.compile(r"\[ref:(\d+)[\].]")
LINES = "".join(f"line {number}: nothing of note happened here\n" for number in range(24))


def scripted() -> Callable[[Any], Reply]:
    """A model that reads files, three at once in each fourth answer, and recalls what was left out."""
    answered = 0

    def answer(request: Any) -> Reply:
        nonlocal answered
        answered += 1
        found = REFERENCE.findall(json.dumps(request, default=str))
        if found and answered % 7 == 0:
            return reply(thinking="I forgot.", calls=[("recall", {"ref": found[-1]})])
        if answered % 5 == 0:
            return reply(f"Answer {answered}.", thinking="Enough." if answered % 2 else ())
        paths = [f"file{answered}-{number}" for number in range(3 if answered % 4 == 0 else 1)]
        return reply(thinking="Read on.", calls=[("read", {"path": path}) for path in paths])

    return answer


class Loop:
    """The loop. It is written once for both managers and both kinds of clients.

    Args:
        api: One of `apis.OF_ALL`.
        context: The manager.
        url: Where its provider is.
        is_streamed: Whether answers are streamed.
    """

    def __init__(self, api: Any, context: ContextManager | AsyncContextManager, url: str, *, is_streamed: bool) -> None:
        self.api, self.context, self.is_streamed = api, context, is_streamed
        self.client = api.client(url, is_async=isinstance(context, AsyncContextManager))
        definition, self.recall = context.recall_tool(api.format)
        self.tools = [api.tool, definition]
        self.recalled: list[str] = []
        self.cached: list[tuple[int, int]] = []
        self.calls: list[Any] = []
        """Calls that wait for their results."""

    async def run(self, requests: int) -> None:
        """Make so many requests."""
        for number in range(requests):
            if self.calls:
                results = [(call, name, await self.result(name, asked)) for call, name, asked in self.calls]
                await settled(self.context.append(*self.api.results(results)))
            else:
                say = self.api.shown if number % 20 == 5 else self.api.said
                said = say(f"Question {number}. {LINES[:600]}")
                await settled(self.context.append(said | {"metadata": {"number": number}}))
            response = await self.ask()
            self.context.observe_response(response)
            await settled(self.context.append(response))
            self.cached.append(self.api.cached(response))
            self.calls = self.api.calls(response)

    async def ask(self) -> Any:
        """Send one request."""
        api, client, tools = self.api, self.client, self.tools
        if not self.is_streamed:
            return await settled(with_retry(self.context, lambda view: api.send(client, view, tools), tools=tools))
        stream: Any = await settled(
            stream_with_retry(self.context, lambda view: api.open(client, view, tools), tools=tools)
        )
        await self.read(stream)
        return stream.response

    async def read(self, stream: Any) -> list[Any]:
        """Read a stream to its end."""
        if isinstance(self.context, AsyncContextManager):
            return [event async for event in stream]
        return list(stream)

    async def result(self, name: str, arguments: dict[str, Any]) -> str:
        """Run a tool."""
        if name == "recall":
            self.recalled.append(await settled(self.recall(**arguments)))
            return self.recalled[-1]
        return f"{arguments['path']}\n{LINES}"


async def settled(value: Any) -> Any:
    """A value, or what an awaitable comes to."""
    return await value if inspect.isawaitable(value) else value
