"""Shapes that a new message must have, so that it can be sent later. Checked once, when a message is added.

A message of another shape would count as almost nothing, and models could not read it. A call without id or name can
never be answered, so a provider would reject every later request. Stored messages are not checked again.
"""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.dialects import CARRIERS, DIALECTS, blocks_key, dialect_of_block
from backscroll.messages.dialects.blocks import described, is_text
from backscroll.messages.dialects.dialect import nothing
from backscroll.messages.dialects.openai_chat import is_in_chat
from backscroll.messages.dialects.response_items import is_envelope
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import Message, Part, kind_of
from backscroll.messages.reader import read_message

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_OUTPUT = "append an item of OpenAI's Responses API with its `type` and without a `role`, or the whole response"
_CHECKS = [(each.detects, each.check) for each in DIALECTS if each.detects is not None and each.check is not nothing]


def read_new(message: Message) -> ParsedMessage:
    """Read an accepted message that will be added.

    Raises:
        MessageError: No dialect has its shape.
    """
    reading = read_message(message)
    check_shape(message, reading)
    return reading


def check_shape(message: Message, reading: ParsedMessage) -> None:
    """Check a message's shape.

    Raises:
        MessageError: No dialect has this shape; the error describes it.
    """
    role = message["role"]
    if type(message.get("content")) is not str:
        for detects, check in _CHECKS:
            if detects(message):
                check(message)
        if blocks_key(message) != "content":
            _check_calls(reading)
            return
    if role not in ROLES:
        allowed = ", ".join(ROLES)
        raise MessageError(f"the message has the role {role!r:.40}, which no dialect has: use one of {allowed}")
    if "content" not in message and not any(message.get(key) for key in CARRIERS):
        hint = f": {_OUTPUT}" if "output" in message else ""
        keys = ", ".join(sorted(map(repr, message.keys() - {"role"}))) or "nothing else"
        raise MessageError(f"the {role} message has no `content`, only {keys:.200}{hint}")
    _check_content(message, role)
    _check_calls(reading)
    if "function_call" in message:
        _check_function_call(message["function_call"])
    _check_answer(message, role, reading)


def _check_content(message: Message, role: str) -> None:
    content: Any = message.get("content")
    if content is None or type(content) in (str, list) or role in ("tool", "function"):
        return  # a tool may return any value
    raise MessageError(
        f"the content of the {role} message is {described(content)}: give a text or a list of content blocks"
    )


def _check_calls(reading: ParsedMessage) -> None:
    for part in reading.parts:
        if part.kind != "call" or (part.id and part.name):
            continue
        where = "".join(f"[{key!r}]" for key in part.path)
        missing = "no `id`, so that no result can answer it" if not part.id else "no tool's `name`"
        raise MessageError(f"the call at message{where} has {missing}: give every call an id and a name")


def _check_function_call(call: object) -> None:
    """Check OpenAI's older call, which its `name` identifies; only Amplifier's calls have it under `tool`."""
    if type(call) is dict and not (type(call.get("name")) is str and call["name"]):
        raise MessageError("the call at message['function_call'] has no tool's `name`: give the name of the function")


def _check_answer(message: Message, role: str, reading: ParsedMessage) -> None:
    """Check that a result names its call; nothing could match it otherwise."""
    if role == "function" and not message.get("name"):
        raise MessageError("the function message has no `name`: give the name of the function that it answers")
    named = type(message.get("tool_call_id")) is str and message["tool_call_id"]
    if role == "tool" and not named and not (reading.parts and all(part.id for part in reading.parts)):
        raise MessageError("the tool message has no `tool_call_id`: give the id of the call that it answers")


# -- what a provider would refuse at every later request --
# Hosts with shapes of their own (Amplifier, Gemini) may write any value. Sources: the request types of openai 3.54 and
# anthropic 2.12, and botocore's model of `Converse`.


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
        if (fault := dialect_of_block(block).refuses(block)) is not None:
            key, value = fault
            raise MessageError(not_text(f"`{key}` of the block at content[{number}]", value))


def answers_with_value(message: Message, reading: ParsedMessage) -> bool:
    """Return whether a whole message is a result, and one that is no text."""
    return reading.role == "tool" and not is_text(message.get("content"))


def check_value(message: Message, reading: ParsedMessage, calls: Sequence[Part]) -> None:
    """Check a result that is no text against the calls that it may answer.

    Raises:
        MessageError: It answers a call in the shape of chat completions. Hosts with other calls may append any value.
    """
    answered = {name for name, _ in reading.results}
    if any(part.id in answered and is_in_chat(part) for part in calls):
        raise MessageError(not_text("the content of the tool message", message.get("content")))


def _value(message: Message, path: tuple[str | int, ...]) -> Any:
    node: Any = message
    for key in path:
        node = node[key]
    return node
