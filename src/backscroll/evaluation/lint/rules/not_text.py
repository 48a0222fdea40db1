"""`result-not-text`: results and arguments of a type that the API refuses.

Sources: OpenAI's error "Invalid type for 'messages[2].content': expected one of a string or array of objects",
Anthropic's "Input should be a valid string", and Gemini's "protobuf.Struct".
"""

from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.rows import Fault, Row, each
from backscroll.evaluation.lint.same import blocks_of
from backscroll.evaluation.transcript import Message


def _not_text(row: Row) -> Iterator[Fault]:
    chat = {call for message in row.messages for call, _ in _chat_calls(message)}
    for at, message in enumerate(row.messages):
        for call, arguments in _chat_calls(message):
            if isinstance(arguments, dict | list):
                yield Fault(at, call, f"the arguments of the call {call:.30} are no text")
        answered = str(message.get("tool_call_id")) if message.get("role") == "tool" else None
        if answered is not None and answered in chat and not _is_taken(message.get("content")):
            yield Fault(at, answered, f"the result of {answered:.30} is neither a text nor a list of blocks")
        for call, content in _in_blocks(message):
            if content is not None and not _is_taken(content):
                yield Fault(at, call, f"the result of {call:.30} is neither a text nor a list of blocks")
        for name, response in _responses(message):
            if not isinstance(response, dict | None):
                yield Fault(at, name, f"the response of {name:.30} is no object")


def _chat_calls(message: Message) -> list[tuple[str, Any]]:
    listed = message.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    return [(str(call.get("id")), call["function"].get("arguments")) for call in calls if _is_function(call)]


def _is_function(call: dict[str, Any]) -> bool:
    return isinstance(call.get("function"), dict)


def _is_taken(content: Any) -> bool:
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def _in_blocks(message: Message) -> Iterator[tuple[str, Any]]:
    for block in blocks_of(message.get("content")):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield str(block.get("tool_use_id")), block.get("content")


def _responses(message: Message) -> Iterator[tuple[str, Any]]:
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else ():
        held = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(held, dict):
            yield str(held.get("name")), held.get("response")


RULES = (
    Rule(
        "result-not-text",
        "error",
        "Send what a tool returned as text: `json.dumps` makes one of a structure.",
        each(_not_text),
        ("result_not_text",),
    ),
)
