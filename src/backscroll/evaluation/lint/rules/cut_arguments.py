"""`cut-arguments`: arguments of calls that are half a text, because an answer was cut off.

Sources: Anthropic's error "Input should be a valid dictionary", Bedrock's "Provide a json object for the field and try
again", and reports of converters and servers that parse the arguments of chat. An empty text is none: OpenAI sends one
for tools without parameters.
"""

import json
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each
from backscroll.evaluation.lint.same import blocks_of
from backscroll.evaluation.transcript import Message


def _cut(row: Row) -> Iterator[Fault]:
    for at, message in enumerate(row.messages):
        for call, arguments in _calls(message):
            if isinstance(arguments, str) and arguments.strip() and not _is_json(arguments):
                yield Fault(at, call, f"the arguments of the call {call:.30} are cut off")


def _calls(message: Message) -> Iterator[tuple[str, Any]]:
    """Yield id and arguments of each call. A text where the shape takes an object cannot be right."""
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        inner = call.get("function") if isinstance(call, dict) else None
        if isinstance(inner, dict):
            yield str(call.get("id")), inner.get("arguments")
    parts = message.get("parts")
    for block in [message, *blocks_of(message.get("content")), *(parts if isinstance(parts, list) else ())]:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "function_call":
            yield str(block.get("call_id")), block.get("arguments")
        elif block.get("type") == "tool_use":
            yield str(block.get("id")), _half(block.get("input"))
        for key, known, name in (("toolUse", "toolUseId", "input"), ("functionCall", "name", "args")):
            if isinstance(held := block.get(key), dict):
                yield str(held.get(known)), _half(held.get(name))


def _half(given: Any) -> Any:
    return "{" + given if isinstance(given, str) else given


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


RULES = (
    Rule(
        "cut-arguments",
        "error",
        "Send `{}` as the arguments, and a result that says that the call was cut off and not run.",
        each(_cut),
        ("cut_arguments",),
    ),
)
