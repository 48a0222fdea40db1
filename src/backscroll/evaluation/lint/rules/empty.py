"""`empty-content`: messages that say nothing, which providers refuse.

Sources: error texts of Anthropic ("all messages must have non-empty content except for the optional final assistant
message", "text content blocks must contain non-whitespace text", "thinking.signature: Field required") and
OpenAI's reference of chat (an assistant message needs content or calls).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.same import blocks_of
from backscroll.evaluation.lint.talk import Talk
from backscroll.evaluation.transcript import Message

_INSTEAD = (
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
    "parts",
    "reasoning_content",
    "output_config",
    "ephemeral",
)
"""Keys that carry something without a `content`."""


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    found: dict[str, tuple[Place, int]] = {}
    rows: list[tuple[int | None, Sequence[Message], str, str]] = [
        (each.number, each.messages, each.list_name, each.shape) for each in talk.requests
    ] or [(None, talk.messages, "messages", "")]
    for number, messages, list_name, shape in rows:
        for at, message in enumerate(messages):
            last = at == len(messages) - 1
            for where, what in _faults(message, shape, last=last):
                place, count = found.get(what, (Place(f"{list_name}[{at}]{where}", number), 0))
                found[what] = (place, count + 1)
    for what, (place, count) in found.items():
        yield Found(place, what, count=count, severity="error" if talk.requests else "warning")


def _faults(message: Message, shape: str, *, last: bool) -> Iterator[tuple[str, str]]:
    role = message.get("role")
    if role is None or shape in ("responses", "gemini") or any(message.get(name) for name in _INSTEAD):
        return
    blocks: list[Any] = blocks_of(message.get("content"))
    final = last and role in ("assistant", "model")
    strict = shape == "anthropic"  # other APIs take an empty text
    if role == "assistant" and not final and not blocks and (strict or message.get("content") != ""):
        yield "", "an assistant message is empty"
    if role == "user" and strict and not blocks:
        yield "", "a user message is empty"
    if shape == "anthropic":
        for at, block in enumerate(blocks):
            if isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text", "")).strip():
                yield f".content[{at}]", "a block of text is empty"
            if isinstance(block, dict) and block.get("type") == "thinking" and not block.get("signature"):
                yield f".content[{at}]", "a block of thinking has no signature"


RULES = (
    Rule(
        "empty-content",
        "error",
        "Leave the message or the block out, or write what happened.",
        _check,
        ("empty_text",),
    ),
)
