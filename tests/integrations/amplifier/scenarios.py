"""What contexts are given: talk, calls of every shape, what a crash leaves, and what is not to be kept."""

from typing import Any

from tests.integrations.amplifier.provider import Message


def words(number: int) -> str:
    return "one word after the other " * number


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

NO_CONTENT: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
]
"""A call without words, as the contract writes it."""

ORPHAN: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "", "tool_calls": [_CALL]},
]
"""A call that a crash left without its result."""

TOGETHER: list[dict[str, Any]] = [
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
