"""`server-pair`: the call of a server's tool without its result, or its result without the call.

Sources: Anthropic's error "tool use with id ... was found without a corresponding ... block" and its page on
`pause_turn`; `toolCall` and `toolResponse` of Gemini. An open call at the very end makes the provider go on.
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each
from backscroll.evaluation.lint.same import blocks_of


def _parted(row: Row) -> Iterator[Fault]:
    waiting: dict[str, int] = {}
    for at, (message, reading) in enumerate(zip(row.messages, row.readings, strict=True)):
        if reading.role == "user" and not reading.results:
            for left, place in waiting.items():
                yield Fault(place, left, f"the call {left:.30} of a server's tool has no result")
            waiting = {}
        parts = message.get("parts")
        for block in (*blocks_of(message.get("content")), *(parts if isinstance(parts, list) else ())):
            if (called := _id(block, ("server_tool_use", "mcp_tool_use"), "toolCall", "id")) is not None:
                waiting[called] = at
            elif (known := _answered(block)) is not None and waiting.pop(known, None) is None:
                yield Fault(at, known, f"the result {known:.30} of a server's tool has no call before it")


def _answered(block: Any) -> str | None:
    kind = str(block.get("type")) if isinstance(block, dict) else ""
    return _id(block, (kind,) if kind.endswith("_tool_result") else (), "toolResponse", "tool_use_id")


def _id(block: Any, kinds: tuple[str, ...], key: str, name: str) -> str | None:
    if not isinstance(block, dict):
        return None
    if block.get("type") in kinds:
        return str(block.get(name))
    return str(block[key].get("id")) if isinstance(block.get(key), dict) else None


RULES = (
    Rule(
        "server-pair",
        "error",
        "Keep the call and the result of a server's tool together, and leave both out where one is lost.",
        each(_parted),
        ("server_pair",),
    ),
)
