"""The message in a client's response, and which of its fields a request accepts.

A response has more fields than a request may have: the client's own bookkeeping, and a null for every unused field. The
history keeps a message unchanged; a view sends what this module leaves. Sources: the request and response types of
openai 3.54, anthropic 2.12 and google-genai 3.4, and botocore's model of Converse.
"""

from collections.abc import Mapping
from operator import is_
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.contents import MODEL, is_content
from backscroll.messages.items import is_item

Message = dict[str, Any]
_FREE = frozenset(("args", "response"))
"""Keys of Gemini's calls and responses under which a model or a tool writes any JSON."""
_OF_ANSWERS = frozenset(("annotations", "parsed"))
"""Fields that OpenAI's client adds to a message, with or without a value, and a request rejects."""
_OF_ANTHROPIC = ("role", "content", "name", "metadata", "cache_control")
"""Fields that stay of a whole Anthropic response: two of theirs, and the caller's own."""
_PLAIN = frozenset(("role", "content"))
"""Keys of nearly every spoken answer, which is sent as it is."""
_NULLABLE = frozenset(("content", "input", "arguments"))
"""Keys whose null has a meaning."""
_OF_CALLS = frozenset(("index", "parsed_arguments"))
_OF_BLOCKS = frozenset(("parsed_output", "parsed"))
_WRITTEN = frozenset(("input_schema", "input_examples"))
"""JSON written by the caller, whose nulls stay."""
_OF_ITEMS = frozenset(("created_by", "parsed_arguments"))
_NULLABLE_OF = {"image_generation_call": ("result",), "code_interpreter_call": ("code", "outputs")}
"""Keys of items that a request requires, also with a null."""
_WRITTEN_IN_ITEMS = frozenset(("arguments", "input", "tools", "error"))
"""JSON written by a model or the caller, and errors, whose nulls a request requires."""


def message_in(answer: Mapping[Any, Any]) -> object:
    """Return the message in a client's whole response; any other value unchanged.

    Reads OpenAI's chat completion and its choice, a response of OpenAI's Responses API, Bedrock's Converse response
    and its output, and Gemini's response and its candidate. A response of Anthropic is a message itself.

    Raises:
        MessageError: The response holds no message, or several.
    """
    if "role" in answer and not (answer["role"] is None and is_content(answer)):
        return answer
    choices = answer.get("choices")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        if len(choices) != 1:
            number = len(choices) or "no"
            raise MessageError(
                f"a response with {number} choices is no message: append one, such as response.choices[0].message"
            )
        if "message" not in choices[0]:
            raise MessageError("a chunk of a stream is no message: append the whole message once the stream has ended")
        return choices[0]["message"]
    if answer.get("object") == "response":
        return _envelope_of(answer)
    if answer.get("object") == "response.compaction":
        raise MessageError(
            "a compacted response holds several messages: append its items, context.append(*compacted.output)"
        )
    if "candidates" in answer or "parts" in answer or "content" in answer:
        return _content_in(answer)
    inner = answer.get("output", answer)
    if isinstance(inner, Mapping) and isinstance(inner.get("message"), Mapping):
        return inner["message"]
    return answer


def _content_in(answer: Mapping[Any, Any]) -> object:
    """Return the content of Gemini's response or candidate. Without a role, a content alone is the user's."""
    if is_content(answer):
        return {**answer, "role": "user"}
    candidates = answer.get("candidates", [answer])
    if not isinstance(candidates, list) or len(candidates) != 1:
        number = len(candidates) if isinstance(candidates, list) else "no"
        raise MessageError(
            f"a response with {number or 'no'} candidates is no message: append one, such as "
            "response.candidates[0].content"
        )
    content = candidates[0].get("content") if isinstance(candidates[0], Mapping) else None
    if not isinstance(content, Mapping) or not is_content(content):
        if "candidates" not in answer:
            return answer
        reason = candidates[0].get("finishReason", candidates[0].get("finish_reason"))
        raise MessageError(
            f"the response has no content (it finished with {reason!r:.60}), so there is nothing to append"
        )
    return {**content, "role": content.get("role") or MODEL}


def _envelope_of(answer: Mapping[Any, Any]) -> Message:
    """Return all items of a response as one message."""
    items = answer.get("output")
    if not isinstance(items, list) or all(
        isinstance(item, Mapping) and item.get("type") == "reasoning" for item in items
    ):
        held = "only reasoning" if items else "no items"
        raise MessageError(
            f"the response holds {held} (its status is {answer.get('status')!r:.40}), so there is nothing to append: "
            "ask again without it"
        )
    return {"role": "assistant", "content": items}


def sendable(message: Message) -> Message:
    """Return a message without the fields that only responses have. Unchanged values are shared, not copied.

    Only the model's own messages change. They lose nulls (in the message, its calls and its typed blocks, not in
    arguments), values that a client parsed, OpenAI's annotations, an empty list of calls, and all of a spoken response
    but its id. A whole Anthropic response keeps role, content and the caller's own keys; an item of the Responses API
    loses nulls and `created_by`. A content of Gemini loses nulls in any role.
    """
    if "parts" in message:
        return _content(message)
    if message["role"] != "assistant" or (message.keys() == _PLAIN and type(message["content"]) is str):
        return message
    whole = message.get("type") == "message" and "stop_reason" in message  # Anthropic's
    left = {
        key: _value(key, value)
        for key, value in message.items()
        if _stays(key, value) and (not whole or key in _OF_ANTHROPIC)
    }
    return left if _differs(left, message) else message


def _content(message: Message) -> Message:
    """Leave out the nulls that google-genai dumps, in any role. JSON of the model and of tools stays as it is."""
    parts = message["parts"]
    if type(parts) is not list:
        return message
    left = {
        key: _each(parts, _part) if key == "parts" else value for key, value in message.items() if value is not None
    }
    return left if _differs(left, message) else message


def _part(part: dict[str, Any]) -> dict[str, Any]:
    left = {
        key: _part(value)
        if type(value) is dict and key not in _FREE
        else _each(value, _part)
        if key == "parts"
        else value
        for key, value in part.items()
        if value is not None
    }
    return left if _differs(left, part) else part


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
    """Clean a typed block or an item. Bedrock's blocks have no type and no nulls."""
    if "type" not in block:
        return block
    if is_item(block):
        return _item(block)
    left: dict[str, Any] = {}
    for key, value in block.items():
        if key in _OF_BLOCKS or (value is None and key not in _NULLABLE):
            continue
        if key == "citations" and type(value) is list:
            left[key] = _each(value, _citation)
        elif key == "tool_changes":
            left[key] = _without_nulls(value)
        else:
            left["from" if key == "from_" else key] = value  # no identifier of Python may be `from`
    return left if _differs(left, block) else block


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """Clean an item of the Responses API. No identifier of Python may be `async`, so its client writes `async_`."""
    nullable = _NULLABLE_OF.get(item["type"], ())
    left = {
        "async" if key == "async_" else key: _value_of_item(key, value)
        for key, value in item.items()
        if key not in _OF_ITEMS and (value is not None or key in nullable)
    }
    return left if _differs(left, item) else item


def _value_of_item(key: str, value: Any) -> Any:
    if key == "content" and type(value) is list:
        return _each(value, _block)
    clean = value if key in _WRITTEN_IN_ITEMS else _without_nulls(value)
    return value if clean == value else clean


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
    return values if all(map(is_, left, values)) else left


def _differs(left: dict[str, Any], given: dict[str, Any]) -> bool:
    return left.keys() != given.keys() or not all(map(is_, left.values(), given.values()))
