"""What context modules of today fail at: sessions and histories that any module can be put through, by its name."""

import asyncio
from functools import cache
from typing import Any

from amplifier_core import HookResult

from tests.amplifier import shipped
from tests.amplifier.provider import Message, Provider
from tests.amplifier.scripts import Turn, say, use, work
from tests.amplifier.world import Run, World


def session(name: str, turns: list[Turn], window: int = 28_000, **options: Any) -> Run:
    """A session under the module of that name."""
    world = World(f"context-{name}", **{"modules": shipped.MODULES, "provider": Provider(window), **options})
    return world.run(turns)


@cache
def worked(name: str) -> Run:
    """A session of ordinary work, made once for all that look at it."""
    return session(name, work(turns=5, rounds=7))


def resume(name: str, messages: list[Message], config: dict[str, Any] | None = None) -> Run:
    """A host restores a session, and its user asks twice; the provider refuses what is not valid."""

    async def play() -> Run:
        world = World(f"context-{name}", config or {}, Provider(strict=True), modules=shipped.MODULES)
        async with world.open(messages) as live:
            await live.turn(Turn("Are you there?", (say("Yes."),)))
            await live.turn(Turn("And now?", (say("Still."),)))
            return await live.report()

    return asyncio.run(play())


def shown(context: Any, messages: list[Message], budget: int) -> list[Message]:
    """The view of these messages."""

    async def ask() -> Any:
        for message in messages:
            await context.add_message(message)
        return await context.get_messages_for_request(token_budget=budget)

    return asyncio.run(ask())


async def remind(event: str, data: dict[str, Any]) -> HookResult:
    """A hook that adds a message for good."""
    return HookResult(action="inject_context", context_injection="mind the style")


def words(number: int) -> str:
    return "one word after the other " * number


# What tools bring

HUGE = [Turn("Why does it fail?", (use("run_tests", lines=4_800), say("A typo.")))]
"""A log of more than 300,000 characters."""

DENSE = [
    Turn(
        "What is in these files?",
        (*(use("dense", path=f"{number}.bin", lines=80) for number in range(12)), say("Keys.")),
    )
]
"""Text of few characters to a token."""

PICTURES = [
    Turn("Look at the pages.", (*(use("screenshot", path=f"{n}.png", lines=30) for n in range(8)), say("Fine.")))
]
"""Many bytes and few tokens."""

# What contexts are given

CHAT = [{"role": role, "content": words(12)} for _ in range(120) for role in ("user", "assistant")]
"""120 turns of talk."""

DEVELOPER = [
    {"role": "developer", "content": "Answer in French."},
    *({"role": role, "content": words(30)} for _ in range(40) for role in ("user", "assistant")),
]
"""Rules of a developer, and talk."""


def _in_blocks(number: int) -> list[Message]:
    call = {"type": "tool_call", "id": f"c{number}", "name": "run", "input": {}}
    answer = {"role": "tool", "tool_call_id": f"c{number}", "content": words(30)}
    return [{"role": "assistant", "content": [call]}, answer]


CALLS_IN_BLOCKS = [{"role": "user", "content": "go"}, *(one for number in range(30) for one in _in_blocks(number))]
"""Calls that stand in the content only."""

_CALL = {"id": "c1", "tool": "run", "arguments": {}}

NO_CONTENT = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
]
"""A call without words, as the contract writes it."""

ORPHAN = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "", "tool_calls": [_CALL]}]
"""A call that a crash left without its result."""

TOGETHER = [
    {"role": "user", "content": words(80)},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": known, "tool": "run", "arguments": {}} for known in ("a", "b", "c")],
    },
    *({"role": "tool", "tool_call_id": known, "content": words(30)} for known in ("a", "b", "c")),
]
"""Three calls that were made at once."""

TORN = '{"role": "user", "content": "go"}\n{"role": "assistant", "cont'
"""A transcript after a crash."""

REMINDER = {"role": "user", "content": "3 tasks open", "metadata": {"ephemeral": True}}
"""What is to be sent and not to be kept."""
