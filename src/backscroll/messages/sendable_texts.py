"""What a dialect forbids in one new message: values where it takes text, and reasoning alone. A provider refuses these
at every later request.

Hosts with shapes of their own (Amplifier, Gemini) may write any value. Sources: the request types of openai 3.54 and
anthropic 2.12, and botocore's model of `Converse`.
"""

from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.healing import is_in_chat, is_text
from backscroll.messages.items import is_envelope, is_item, kind_of
from backscroll.messages.reader import ParsedMessage
from backscroll.messages.validation import Message


def not_text(what: str, value: Any) -> str:
    """Return the message of the error for a value that is no text."""
    return f"{what} is {value!r:.60}, and its provider takes a text: pass json.dumps(value), which models read as well"


def check_texts(message: Message, reading: ParsedMessage) -> None:
    """Check a new message by itself.

    Raises:
        MessageError: It holds a value that its dialect takes as text only, or ends with reasoning.
    """
    if reading.calls:
        for part in reading.parts:
            if part.kind == "call" and part.form == "mapping" and is_in_chat(part):
                raise MessageError(not_text(f"`arguments` of the call {part.id!r}", _value(message, part.path)))
    content = message.get("content")
    if type(content) is not list:
        return
    if is_envelope(message) and kind_of(content[-1]) == "reasoning":
        raise MessageError(
            "the items end with a reasoning item, and OpenAI refuses reasoning without the item that followed it: "
            "append all items of a response in one call, as context.append(response) or "
            "context.append(*response.output)"
        )
    for number, block in enumerate(content):
        if (fault := _fault(block)) is not None:
            key, value = fault
            raise MessageError(not_text(f"`{key}` of the block at content[{number}]", value))


def _fault(block: Any) -> tuple[str, Any] | None:
    """Return the key and value in a block that its dialect does not take; `None` if it is sound."""
    kind = kind_of(block)
    if kind == "function_call" and is_item(block):
        return ("arguments", block.get("arguments")) if type(block.get("arguments")) is dict else None
    if kind == "function_call_output":
        return None if is_text(block.get("output")) else ("output", block.get("output"))
    if kind == "tool_result" and "content" in block:
        content = block["content"]
        return None if content is None or is_text(content) else ("content", content)
    inner = block.get("toolResult") if type(block) is dict and not kind else None
    if type(inner) is dict and "content" in inner:
        content = inner["content"]
        return None if type(content) is list and is_text(content) else ("content", content)
    return None


def _value(message: Message, path: tuple[str | int, ...]) -> Any:
    node: Any = message
    for key in path:
        node = node[key]
    return node
