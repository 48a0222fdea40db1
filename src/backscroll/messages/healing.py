"""What providers refuse in one message by itself, and the message without that.

The history keeps each message as it came. A view sends the healed copy. Rules of a dialect are found by the shape of a
block, as everything in this room. Sources: "Errors" and "Handling stop reasons" (Claude Platform Docs), the request
types of openai 3.54, botocore's model of `Converse`, and `Part` of google-genai 2.34.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from backscroll.messages.contents import CALLS, RESPONSES, held, is_content
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.items import is_envelope, kind_of
from backscroll.messages.parts import Part, compact
from backscroll.messages.reader import ParsedMessage, read_message
from backscroll.messages.rewriter import plain, replace, replaceable
from backscroll.messages.same_data import ABOVE, once, same_json
from backscroll.messages.server_tools import server_call, server_result
from backscroll.messages.validation import Message

EMPTY = "[empty message]"
EMPTY_RESULT = "[empty result]"
_IN_CHAT = (("function", "arguments"), ("function_call", "arguments"))
"""Where a call's arguments are in OpenAI's chat completions, which takes texts only. Gemini's are `args`."""
_LONE = re.compile("[\ud800-\udfff]")
_TEXTS = frozenset(("text", "input_text", "output_text"))
_ARGUMENTS = frozenset(("arguments", "input", "args"))
_SIGNATURES = ("thoughtSignature", "thought_signature")


class Healed(NamedTuple):
    """A message as a provider takes it."""

    message: Message | None
    """`None`: nothing of it can be sent."""
    rules: tuple[HealRule, ...]
    """The rules that changed it; empty for nearly every message, which is then the given one."""


def encodable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate; two that make a character become it."""
    if text.isascii() or not _LONE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_complete(part: Part) -> bool:
    """Return whether a call's arguments are what its dialect takes: an object, or the JSON text of one."""
    if part.form in ("mapping", "string") or part.path[-1] not in _ARGUMENTS:
        return True
    if part.form == "fixed":
        return part.text.startswith("{") or (part.path[-1] == "args" and not part.text)
    return is_object(part.text)


def is_in_chat(call: Part) -> bool:
    """Return whether a call has the shape of OpenAI's chat completions."""
    return call.path[-2:] in _IN_CHAT


def _takes_text(call: Part) -> bool:
    """Return whether the arguments of a call may have to be a text: in chat completions, and in items."""
    return is_in_chat(call) or (call.path[0] == "content" and call.path[-1] == "arguments")


def is_object(text: str) -> bool:
    """Return whether a text is the JSON of an object."""
    text = text.strip()
    return text.startswith("{") and text.endswith("}") and _parses(text)


_scan = json.JSONDecoder().raw_decode
"""Made once, and without the steps of `json.loads` around it, which take twice as long for most arguments."""


def _parses(text: str) -> bool:
    """Return whether a text without blanks around it is JSON."""
    try:
        return _scan(text)[1] == len(text)
    except (ValueError, RecursionError):
        return False


def is_suspect(reading: ParsedMessage) -> bool:
    """Return whether a message may need healing. Called for every message, so it must be cheap."""
    kind: str = ""
    for part in reading.parts:
        text, kind = part.text, part.kind
        if not text.isascii() and _LONE.search(text):
            return True
        if kind == "text":
            if not text or text.isspace():
                return True
        elif kind == "result":
            odd = part.form in ("value", "fixed") or not text or text.isspace() or "structured" in text
            if odd or type(part.path[-1]) is int or part.path[-2:] == ("toolResult", "content"):
                return True
        elif kind == "call":
            if not is_complete(part) or (part.form in ("mapping", "fixed") and _takes_text(part)):
                return True
        elif kind == "reasoning" and part.form == "string" and part.path[0] == "content":
            return True
    return not kind or kind == "reasoning" or bool(reading.serves or reading.served)


def _without_copies(message: Message, rules: dict[HealRule, None]) -> Message:
    """Return the message with one copy of data that a result holds twice."""
    reading = read_message(message)
    texts = {
        number: text
        for number, part in enumerate(reading.parts)
        if part.kind == "result" and replaceable(reading, part) and (text := once(part.text)) != part.text
    }
    if not texts:
        return message
    rules["data_twice"] = None
    return replace(message, reading, texts)


def healed(message: Message, *, chat: bool = False, alone: Collection[str] = ()) -> Healed:
    """Return a message without what providers refuse.

    Args:
        message: The message as it would be sent.
        chat: Its results answer calls in the shape of OpenAI's chat completions, which takes texts only.
        alone: Ids of server tools whose call or result is in no other message of the view.
    """
    rules: dict[HealRule, None] = {}
    if _has_lone(message):
        message, rules["lone_surrogate"] = _encodable(message), None
    message = _without_copies(message, rules)
    healer = _Healer(rules, chat, alone)
    found = healer.contents(message) if is_content(message) else healer.message(message)
    if found is not None and not rules:
        return Healed(message, ())
    return Healed(found, tuple(rules))


def _has_lone(value: Any) -> bool:
    if type(value) is str:
        return not value.isascii() and _LONE.search(value) is not None
    if type(value) is list:
        return any(map(_has_lone, value))
    return type(value) is dict and any(_has_lone(key) or _has_lone(held) for key, held in value.items())


def _encodable(value: Any) -> Any:
    if type(value) is str:
        return encodable(value)
    if type(value) is list:
        return list(map(_encodable, value))
    if type(value) is dict:
        return {encodable(key): _encodable(held) for key, held in value.items()}
    return value


def is_text(value: Any) -> bool:
    """Return whether a value is a text, or a list of blocks."""
    return type(value) is str or (type(value) is list and all(type(block) is dict for block in value))


def _blank(text: Any) -> bool:
    return type(text) is str and (not text or text.isspace())


class _Healer:
    """Heals one message, and notes the rules that it needed."""

    def __init__(self, rules: dict[HealRule, None], chat: bool, alone: Collection[str]) -> None:
        self._rules, self._chat, self._alone = rules, chat, alone

    def message(self, message: Message) -> Message | None:
        role, content, given = message["role"], message.get("content"), message
        if role in ("tool", "function"):
            message = self._answer(message, content)
            content = message.get("content")
        elif type(content) is list:
            message, content = self._blocks_of(message, content, "content")
        if role in ("tool", "function"):
            return message
        message = self._calls(message)
        if content not in (None, [], "") and not _blank(content):
            return message
        return self._empty(message, role, "content", given)

    def contents(self, message: Message) -> Message | None:
        parts = message["parts"]
        message, left = self._blocks_of(message, parts if type(parts) is list else [], "parts")
        return message if left else self._empty(message, message["role"], "parts", message)

    def _blocks_of(self, message: Message, blocks: list[Any], key: str) -> tuple[Message, list[Any]]:
        left = self._blocks(blocks, key)
        while key == "content" and left and kind_of(left[-1]) == "reasoning" and is_envelope({"content": left}):
            left = left[:-1]
            self._rules["reasoning_alone"] = None
        same = len(left) == len(blocks) and all(one is other for one, other in zip(left, blocks, strict=True))
        return (message, blocks) if same else ({**message, key: left}, left)

    def _empty(self, message: Message, role: str, key: str, given: Message) -> Message | None:
        """Return a message without content: nothing for a model's, a marker for a user's, which a request may end
        with. The marker has the form of what was given.
        """
        if message.get("tool_calls") or any(message.get(name) for name in _CARRIES):
            return {**message, key: ""} if message.get(key) == [] else message
        self._rules["empty_text"] = None
        if role != "user":
            return None
        return {**message, key: plain(role, EMPTY, given)[key]}

    # -- blocks --

    def _blocks(self, blocks: Sequence[Any], key: str) -> list[Any]:
        found = []
        for block in blocks:
            if type(block) is not dict:
                if not _blank(block):
                    found.append(block)
                continue
            sound = self._part(block) if key == "parts" else self._block(block)
            if sound is not None:
                found.append(sound)
        return found

    def _block(self, block: dict[str, Any]) -> dict[str, Any] | None:
        kind = kind_of(block)
        if self._is_alone(block):
            return None
        if kind in _TEXTS or (not kind and "text" in block):
            return self._unless(_blank(block.get("text")), block, "empty_text")
        if kind == "thinking":
            unsigned = not block.get("signature") and not {"content", "visibility"} & block.keys()
            return self._unless(unsigned, block, "empty_text")
        if kind in ("tool_use", "tool_call"):
            return self._with_object(block, "input") if "input" in block or kind == "tool_use" else block
        if kind == "tool_result":
            return block if "output" in block and "content" not in block else self._result(block, _text_block)
        if kind == "function_call":
            return self._with_json(block)
        if kind == "message":
            content = block.get("content")
            left = self._blocks(content, "content") if type(content) is list else content
            if left in ([], None) or _blank(left):
                return self._unless(condition=True, block=block, rule="empty_text")
            return block if left == content else {**block, "content": left}
        if kind in ("function_call_output", "custom_tool_call_output") and not is_text(block.get("output")):
            return self._as_json(block, "output")
        return block if kind else self._bedrock(block)

    def _bedrock(self, block: dict[str, Any]) -> dict[str, Any]:
        if type(use := block.get("toolUse")) is dict:
            sound = self._with_object(use, "input")
            return block if sound is use else {**block, "toolUse": sound}
        if type(result := block.get("toolResult")) is dict:
            sound = self._result(result, _bare_text)
            return block if sound is result else {**block, "toolResult": sound}
        return block

    def _part(self, part: dict[str, Any]) -> dict[str, Any] | None:
        """Heal a part of a content of Gemini. An empty text may carry a signature."""
        if self._is_alone(part):
            return None
        if "text" in part and _blank(part["text"]) and not any(part.get(key) for key in _SIGNATURES):
            return self._unless(condition=True, block=part, rule="empty_text")
        if (found := held(part, CALLS)) is not None and type(found[1].get("args")) not in (dict, type(None)):
            self._rules["cut_arguments"] = None
            return {**part, found[0]: {**found[1], "args": {}}}
        if (found := held(part, RESPONSES)) is not None and type(found[1].get("response")) is not dict:
            self._rules["result_not_text"] = None
            return {**part, found[0]: {**found[1], "response": {"result": found[1].get("response")}}}
        return part

    def _is_alone(self, block: dict[str, Any]) -> bool:
        if not self._alone:
            return False
        known = server_call(block) or server_result(block)
        if known is None or known not in self._alone:
            return False
        self._rules["server_pair"] = None
        return True

    def _unless(self, condition: bool, block: dict[str, Any], rule: HealRule) -> dict[str, Any] | None:
        if condition:
            self._rules[rule] = None
        return None if condition else block

    # -- calls --

    def _with_object(self, call: dict[str, Any], key: str) -> dict[str, Any]:
        if type(call.get(key)) is dict:
            return call
        self._rules["cut_arguments"] = None
        return {**call, key: {}}

    def _with_json(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return a call with its arguments as the JSON text of an object."""
        arguments = call.get("arguments")
        if type(arguments) is dict:
            return self._as_json(call, "arguments")
        if type(arguments) is str and is_object(arguments):
            return call
        self._rules["cut_arguments"] = None
        return {**call, "arguments": "{}"}

    def _calls(self, message: Message) -> Message:
        """Heal calls outside the content. Hosts with calls of their own shape keep objects as arguments."""
        calls = message.get("tool_calls")
        if type(calls) is list:
            sound = [self._listed(call) if type(call) is dict else call for call in calls]
            if any(one is not other for one, other in zip(sound, calls, strict=True)):
                message = {**message, "tool_calls": sound}
        legacy = message.get("function_call")
        if type(legacy) is dict and (sound_call := self._with_json(legacy)) is not legacy:
            message = {**message, "function_call": sound_call}
        return message

    def _listed(self, call: dict[str, Any]) -> dict[str, Any]:
        if type(inner := call.get("function")) is dict:
            sound = self._with_json(inner)
            return call if sound is inner else {**call, "function": sound}
        arguments = call.get("arguments")
        if "custom" not in call and type(arguments) is str and not _parses(arguments.strip()):
            self._rules["cut_arguments"] = None
            return {**call, "arguments": {} if "tool" in call else "{}"}  # Amplifier's calls hold objects
        return call

    # -- results --

    def _answer(self, message: Message, content: Any) -> Message:
        """Heal a message that answers a call as a whole, or holds items that do."""
        if type(content) is list and is_text(content):
            left = self._blocks(content, "content") or ([_text_block(EMPTY_RESULT)] if content else [])
            return message if left == content else {**message, "content": left}
        return self._as_json(message, "content") if self._chat and type(content) is not str else message

    def _as_json(self, holder: dict[str, Any], key: str) -> dict[str, Any]:
        self._rules["result_not_text"] = None
        value = holder.get(key)
        return {**holder, key: "" if value is None else compact(value)}

    def _result(self, result: dict[str, Any], text_block: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        """Heal a result in a block."""
        content = result.get("content")
        if content is None and text_block is _bare_text:  # Bedrock requires a list
            self._rules["empty_text"] = None
            return {**result, "content": [text_block(EMPTY_RESULT)]}
        if content is None or (type(content) is str and text_block is _text_block):
            return result
        if type(content) is not list:
            self._rules["result_not_text"] = None
            text = content if type(content) is str else compact(content)
            return {**result, "content": text if text_block is _text_block else [text_block(text)]}
        left: list[Any] = []
        for block in content:
            if type(block) is dict:
                if _blank(block.get("text", " x")):
                    self._rules["empty_text"] = None
                elif any(same_json(_data(other), _data(block)) for other in left):
                    self._rules["data_twice"] = None
                    left.append(text_block(ABOVE))
                else:
                    left.append(block)
            elif not _blank(block):
                self._rules["result_not_text"] = None
                left.append(text_block(block if type(block) is str else compact(block)))
        if len(left) == len(content) and all(one is other for one, other in zip(left, content, strict=True)):
            return result
        return {**result, "content": left or [text_block(EMPTY_RESULT)]}


def _data(block: Any) -> str:
    """Return the text of a block, or the JSON of a block of Bedrock."""
    text = block.get("text", "")
    return compact(block["json"]) if "json" in block else text if type(text) is str else ""


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _bare_text(text: str) -> dict[str, Any]:
    return {"text": text}


_CARRIES = ("function_call", "refusal", "reasoning_content", "thinking_block", "audio")
"""Keys that carry what a message without content says."""
