"""Our own module for tests, mounted by itself on a coordinator of amplifier-core.

@awaited
async def test_of_a_single_context():
    async with mounted({"max_tokens": 20_000}) as ours:
        await ours.context.add_message({"role": "user", "content": "go"})
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from amplifier_core.testing import MockCoordinator

from amplifier_module_context_backscroll import mount
from backscroll.integrations.amplifier import hooks as signals
from tests.integrations.amplifier.provider import Message

NAME = "context-backscroll"
ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "amplifier_module_context_backscroll"


class AmplifierHarness:
    """Our context on a coordinator of its own, with every event that it emits."""

    def __init__(self, coordinator: Any) -> None:
        self.coordinator = coordinator
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.cleanup: Callable[[], Awaitable[None]]
        for name in signals.ALL:
            coordinator.hooks.register(name, self._heard, name="test")

    async def _heard(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    @property
    def context(self) -> Any:
        return self.coordinator.get("context")

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """What came with an event, each time."""
        return [data for name, data in self.events if name == event]

    async def add(self, *messages: Message) -> None:
        """Adds one message after the other, as loops do."""
        for message in messages:
            await self.context.add_message(message)

    async def view(self, budget: int | None = None, provider: Any = None) -> list[Message]:
        return await self.context.get_messages_for_request(budget, provider)

    async def kept(self) -> list[Message]:
        return await self.context.get_messages()


@asynccontextmanager
async def mounted(config: dict[str, Any] | None = None, coordinator: Any = None) -> AsyncIterator[AmplifierHarness]:
    """Our module as the kernel mounts it, without a session."""
    ours = AmplifierHarness(coordinator or MockCoordinator())
    ours.cleanup = await mount(ours.coordinator, config)
    try:
        yield ours
    finally:
        await ours.cleanup()


def awaited(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """An async test as one that pytest runs."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))  # type: ignore[arg-type]  # every such test is a coroutine

    return run


def say(role: str, content: Any, **more: Any) -> Message:
    return {"role": role, "content": content, **more}


def chat(rounds: int, text: str) -> list[Message]:
    """A user and an assistant who say so much, in turns; no two messages are the same."""
    return [
        {"role": role, "content": f"{role} {number}: {text}"}
        for number in range(rounds)
        for role in ("user", "assistant")
    ]


def call(*ids: str, tool: str = "read_file", content: Any = "", **arguments: Any) -> Message:
    """An assistant message with calls, as loops write them beside the content."""
    calls = [{"id": known, "tool": tool, "arguments": arguments} for known in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(known: str, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": known, "content": content}


def rounds(numbers: Iterable[int], text: str) -> list[Message]:
    """Calls and their results."""
    return [
        message
        for number in numbers
        for message in (call(f"c{number}", path=f"part_{number}.py"), result(f"c{number}", f"{number}: {text}"))
    ]
