"""A client of the SDK that asks a server in the same process."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Iterable, Iterator
from typing import Any

from hypothesis import strategies as st
from mcp.client import Client

from backscroll import ContextManager
from backscroll.integrations.mcp import Archive, make_server
from backscroll.ports import Store
from backscroll.tokens.engines import resolve

COUNT = resolve("auto").count
NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=60).filter(
    lambda name: name.strip() and len(name.encode()) <= 255
)
PATIENCE = 60.0
"""Seconds: tests wait until everything is indexed, so that their answers are complete."""


class Session:
    """Calls of one client, one after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: Client) -> None:
        self._loop, self._client = loop, client

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """The text of an answer, and whether it is an error."""
        found = self._loop.run_until_complete(self._client.call_tool(tool, arguments))
        content: Any
        (content,) = found.content
        return content.text, found.is_error

    def text(self, tool: str, **arguments: Any) -> str:
        text, failed = self.call(tool, **arguments)
        assert not failed, text
        return text

    def error(self, tool: str, **arguments: Any) -> str:
        text, failed = self.call(tool, **arguments)
        assert failed, text
        return text

    def at_once(self, tool: str, *arguments: dict[str, Any]) -> list[tuple[str, bool]]:
        """The answers to calls that are made at once, as `call` returns them."""
        calls = (self._client.call_tool(tool, each) for each in arguments)
        found = self._loop.run_until_complete(asyncio.wait_for(_together(calls), PATIENCE))
        return [(each.content[0].text, each.is_error) for each in found]

    def do(self, method: str, *arguments: Any) -> Any:
        """What another method of the client returns."""
        return self._loop.run_until_complete(getattr(self._client, method)(*arguments))


async def _together(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*calls)


@contextlib.contextmanager
def asking(archive: Archive | Store, page_tokens: int = 4_000, **options: Any) -> Iterator[Session]:
    """A client of a server over an archive, or over a store all of which it shows."""
    archive = archive if isinstance(archive, Archive) else Archive(archive, patience=PATIENCE)
    loop = asyncio.new_event_loop()
    client = Client(make_server(archive, page_tokens), **options)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def connected() -> None:  # the SDK wants to leave in the task that entered
        async with client:
            begun.set()
            await ended.wait()

    task = loop.create_task(connected())
    try:
        waiting = loop.create_task(begun.wait())
        loop.run_until_complete(asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED))
        yield Session(loop, client)
    finally:
        ended.set()
        loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def user(text: str, **noted: Any) -> dict[str, Any]:
    """A user's message; `noted` is what an import noted with it."""
    return {"role": "user", "content": text, **({"metadata": {"log": noted}} if noted else {})}


def stored(store: Store, session: str, *messages: dict[str, Any]) -> None:
    with ContextManager(store=store, session=session, tokenizer="estimate") as context:
        context.append(*messages)


def quotations(answer: str) -> list[str]:
    """What an answer quotes."""
    return [found[2] for found in re.finditer(r"^(~~~+)\n(.*?)\n\1$", answer, re.DOTALL | re.MULTILINE)]
