"""What a provider's client answers: the message in it, and of that message what a request takes. Pure.

A client's answer has more than a request may: its own bookkeeping, and a null for every field that was not used. The
history keeps a message as it came, a view sends what is left here. Sources: the request and answer types of openai 3.54
and anthropic 2.12, and botocore's model of Converse.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.errors import MessageError

Message = dict[str, Any]
_OF_ANSWERS = frozenset(("annotations", "parsed"))
"""What OpenAI's client adds to a message, with a value or without, and a request does not know."""
_OF_ANTHROPIC = ("role", "content", "name", "metadata", "cache_control")
"""What is left of a whole answer of Anthropic: two keys of theirs, and a caller's own."""
_NULLABLE = frozenset(("content", "input", "arguments"))
"""Keys whose null says something."""
_OF_CALLS = frozenset(("index", "parsed_arguments"))
_OF_BLOCKS = frozenset(("parsed_output",))
_WRITTEN = frozenset(("input_schema", "input_examples"))
"""JSON that the caller wrote, nulls and all."""


def message_in(answer: Mapping[Any, Any]) -> object:
    """The message in the whole answer of a client; anything else as it is.

    Knows OpenAI's chat completion and its choice, and Bedrock's Converse response and its output. An answer of
    Anthropic is a message itself. Raises `MessageError` for an answer that holds no message, or several.
    """
    if "role" in answer:
        return answer
    choices = answer.get("choices")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        if len(choices) != 1:
            number = len(choices) or "no"
            raise MessageError(
                f"an answer with {number} choices is no message: append that of one, such as answer.choices[0].message"
            )
        if "message" not in choices[0]:
            raise MessageError("a chunk of a stream is no message: append the whole message when the stream has ended")
        return choices[0]["message"]
    if answer.get("object") == "response":
        raise MessageError(
            "an answer of OpenAI's Responses API is not read: convert its items to messages with `role` and `content`"
        )
    inner = answer.get("output", answer)
    if isinstance(inner, Mapping) and isinstance(inner.get("message"), Mapping):
        return inner["message"]
    return answer


def sendable(message: Message) -> Message:
    """A message without what only answers hold; itself where nothing is to be left out, and shared what stays.

    Only the model's own messages are looked at. These lose nulls (in the message, its calls and its typed blocks, not
    in arguments), what a client parsed, OpenAI's annotations, an empty list of calls, of a spoken answer all but its
    id; and of an answer of Anthropic all but role, content and what a caller put there.
    """
    if message["role"] != "assistant":
        return message
    whole = message.get("type") == "message" and "stop_reason" in message  # Anthropic's
    left = {
        key: _value(key, value)
        for key, value in message.items()
        if _stays(key, value) and (not whole or key in _OF_ANTHROPIC)
    }
    return left if _differs(left, message) else message


def _stays(key: str, value: Any) -> bool:
    if value is None:
        return key in _NULLABLE
    return key not in _OF_ANSWERS and not (key == "tool_calls" and value == [])


def _value(key: str, value: Any) -> Any:
    if key == "content" and type(value) is list:
        return _each(value, _block)
    if key == "tool_calls" and type(value) is list:
        return _each(value, _call)
    if key == "audio" and type(value) is dict and "id" in value and len(value) > 1:
        return {"id": value["id"]}
    return value


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """A typed block; those of Bedrock, which have no type, come without nulls."""
    if "type" not in block:
        return block
    left: dict[str, Any] = {}
    for key, value in block.items():
        if key in _OF_BLOCKS or (value is None and key not in _NULLABLE):
            continue
        if key == "citations" and type(value) is list:
            left[key] = _each(value, _citation)
        elif key == "tool_changes":
            left[key] = _without_nulls(value)
        else:
            left["from" if key == "from_" else key] = value  # a key that is no name in Python
    return left if _differs(left, block) else block


def _call(call: dict[str, Any]) -> dict[str, Any]:
    left = {
        key: _call(value) if key == "function" and type(value) is dict else value
        for key, value in call.items()
        if key not in _OF_CALLS and (value is not None or key in _NULLABLE)
    }
    return left if _differs(left, call) else call


def _citation(citation: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in citation.items() if key != "file_id"} if "file_id" in citation else citation


def _without_nulls(value: Any) -> Any:
    if type(value) is list:
        return [_without_nulls(item) for item in value]
    if type(value) is not dict:
        return value
    return {key: item if key in _WRITTEN else _without_nulls(item) for key, item in value.items() if item is not None}


def _each(values: list[Any], of: Any) -> list[Any]:
    left = [of(value) if type(value) is dict else value for value in values]
    return left if any(one is not other for one, other in zip(left, values, strict=True)) else values


def _differs(left: dict[str, Any], given: dict[str, Any]) -> bool:
    return len(left) != len(given) or any(given.get(key, left) is not value for key, value in left.items())
