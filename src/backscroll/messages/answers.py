"""The message in a client's response, and which of its fields a request accepts.

A response has more fields than a request may have: the client's own bookkeeping, and a null for every unused field. The
history keeps a message unchanged; a view sends what this module leaves. Sources: the request and response types of
openai 3.54, anthropic 2.12 and google-genai 3.4, and botocore's model of Converse.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.messages.dialects import DIALECTS, dialect_of_block
from backscroll.messages.dialects.anthropic import OF_RESPONSES
from backscroll.messages.dialects.blocks import NULLABLE, differs, each
from backscroll.messages.dialects.gemini import is_content, sendable_content
from backscroll.messages.dialects.openai_chat import OF_ANSWERS, sendable_call
from backscroll.messages.parts import Block, Message

_PLAIN = frozenset(("role", "content"))
"""Keys of nearly every spoken answer, which is sent as it is."""


def message_in(answer: Mapping[Any, Any]) -> object:
    """Return the message in a client's whole response; any other value unchanged.

    Reads OpenAI's chat completion and its choice, a response of OpenAI's Responses API, Bedrock's Converse response
    and its output, and Gemini's response and its candidate. A response of Anthropic is a message itself.

    Raises:
        MessageError: The response holds no message, or several.
    """
    if "role" in answer and not (answer["role"] is None and is_content(answer)):
        return answer
    found = (dialect.response_message(answer) for dialect in DIALECTS)
    return next((message for message in found if message is not None), answer)


def sendable(message: Message) -> Message:
    """Return a message without the fields that only responses have. Unchanged values are shared, not copied.

    Only the model's own messages change. They lose nulls (in the message, its calls and its typed blocks, not in
    arguments), values that a client parsed, OpenAI's annotations, an empty list of calls, and all of a spoken response
    but its id. A whole Anthropic response keeps role, content and the caller's own keys; an item of the Responses API
    loses nulls and `created_by`. A content of Gemini loses nulls in any role.
    """
    if "parts" in message:
        return sendable_content(message)
    if message["role"] != "assistant" or (message.keys() == _PLAIN and type(message["content"]) is str):
        return message
    whole = message.get("type") == "message" and "stop_reason" in message  # Anthropic's
    left = {
        key: _value(key, value)
        for key, value in message.items()
        if _stays(key, value) and (not whole or key in OF_RESPONSES)
    }
    return left if differs(left, message) else message


def _stays(key: str, value: Any) -> bool:
    if value is None:
        return key in NULLABLE
    return key not in OF_ANSWERS and not (key == "tool_calls" and value == [])


def _value(key: str, value: Any) -> Any:
    if key == "content" and type(value) is list:
        return each(value, _block)
    if key == "tool_calls" and type(value) is list:
        return each(value, sendable_call)
    if key == "audio" and type(value) is dict and "id" in value and len(value) > 1:
        return {"id": value["id"]}
    return value


def _block(block: Block) -> Block:
    return dialect_of_block(block).sendable(block)
