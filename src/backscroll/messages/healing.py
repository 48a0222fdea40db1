"""What providers refuse in one message by itself, and the message without that.

The history keeps each message as it came. A view sends the healed copy. Rules of a dialect are found by the shape of a
block, as everything in this room. Sources: "Errors" and "Handling stop reasons" (Claude Platform Docs), the request
types of openai 3.54, botocore's model of `Converse`, and `Part` of google-genai 2.34.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from backscroll.messages.dialects import CARRIERS, DIALECTS, dialect_of_block, server_call, server_result
from backscroll.messages.dialects.bedrock import BEDROCK
from backscroll.messages.dialects.blocks import EMPTY_RESULT, as_json, is_blank, is_object, is_text
from backscroll.messages.dialects.dialect import Dialect, Heal, text_block
from backscroll.messages.dialects.gemini import GEMINI, is_content
from backscroll.messages.dialects.openai_chat import is_in_chat
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import Block, Message, Part, kind_of
from backscroll.messages.reader import read_message
from backscroll.messages.rewriter import plain, replace, replaceable
from backscroll.messages.same_data import once

EMPTY = "[empty message]"
_LONE = re.compile("[\ud800-\udfff]")
_ARGUMENTS = frozenset(("arguments", "input", "args"))


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


def want_texts(parts: Iterable[Part]) -> bool:
    """Return whether a provider takes only texts as results of these calls: those of chat completions."""
    return any(part.kind == "call" and is_in_chat(part) for part in parts)


def arguments_of(call: Part) -> Any:
    """Return the arguments of a call as an object; as they are where they are none."""
    return json.loads(call.text) if is_object(call.text) else call.text


def _takes_text(call: Part) -> bool:
    """Return whether the arguments of a call may have to be a text: in chat completions, and in items."""
    return is_in_chat(call) or (call.path[0] == "content" and call.path[-1] == "arguments")


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


def healed(message: Message, *, texts: bool = False, alone: Collection[str] = ()) -> Healed:
    """Return a message without what providers refuse.

    Args:
        message: The message as it would be sent.
        texts: Its results must be texts.
        alone: Ids of server tools whose call or result is in no other message of the view.
    """
    rules: dict[HealRule, None] = {}
    if _has_lone(message):
        message, rules["lone_surrogate"] = _encodable(message), None
    message = _without_copies(message, rules)
    healer = _Healer(rules, texts, alone)
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


def _by_kind(*dialects: Dialect) -> dict[str, list[Heal]]:
    """Return what is healed in blocks, by their kind; of two dialects with one kind the first counts."""
    found: dict[str, list[Heal]] = {}
    for dialect in dialects:
        kinds = {kind for heal in dialect.heals for kind in heal.kinds} - found.keys()
        found |= {kind: [heal for heal in dialect.heals if kind in heal.kinds] for kind in kinds}
    return found


_WITH_TYPES = [each for each in DIALECTS if each.typed]
_TYPED = {each.name: _by_kind(each, *_WITH_TYPES) for each in _WITH_TYPES}
"""By the dialect of a block, since two have calls of one kind."""
_BARE = {"content": _by_kind(BEDROCK), "parts": _by_kind(GEMINI)}
_OF_MESSAGES = [heal for dialect in DIALECTS for heal in dialect.heals if not heal.kinds]


class _Healer:
    """Heals one message, and notes the rules that it needed."""

    def __init__(self, rules: dict[HealRule, None], texts: bool, alone: Collection[str]) -> None:
        self._rules, self._texts, self._alone = rules, texts, alone

    def message(self, message: Message) -> Message | None:
        role, given = message["role"], message
        if role in ("tool", "function"):
            return self._answer(message, message.get("content"))
        if type(message.get("content")) is list:
            message = self._with_blocks(message, "content")
        message = self._healed(message, _OF_MESSAGES) or message
        content = message.get("content")
        if content not in (None, [], "") and not is_blank(content):
            return message
        return self._empty(message, role, "content", given)

    def contents(self, message: Message) -> Message | None:
        given = message
        if type(message["parts"]) is list:
            message = self._with_blocks(message, "parts")
            if message["parts"]:
                return message
        return self._empty(message, message["role"], "parts", given)

    def _with_blocks(self, holder: dict[str, Any], key: str) -> dict[str, Any]:
        blocks = holder[key]
        left = self._blocks(blocks, key)
        same = len(left) == len(blocks) and all(one is other for one, other in zip(left, blocks, strict=True))
        return holder if same else {**holder, key: left}

    def _empty(self, message: Message, role: str, key: str, given: Message) -> Message | None:
        """Return a message without content: nothing for a model's, a marker for a user's, which a request may end
        with. The marker has the form of what was given.
        """
        if any(message.get(name) for name in CARRIERS):
            return {**message, key: ""} if message.get(key) == [] else message
        self._rules["empty_text"] = None
        if role != "user":
            return None
        return {**message, key: plain(role, EMPTY, given)[key]}

    def _blocks(self, blocks: Sequence[Any], key: str) -> list[Any]:
        found = []
        for block in blocks:
            if type(block) is not dict:
                found += [] if is_blank(block) else [block]
            elif (sound := self._block(block, key)) is not None:
                found.append(sound)
        return found

    def _block(self, block: Block, key: str) -> Block | None:
        if self._is_alone(block):
            return None
        kind = kind_of(block) if key == "content" else ""
        if kind == "message" and type(block.get("content")) is list:
            block = self._with_blocks(block, "content")
        if kind:
            return self._healed(block, _TYPED[dialect_of_block(block).name].get(kind, ()))
        return self._healed(block, [heal for name in block for heal in _BARE[key].get(name, ())])

    def _healed(self, block: Block, heals: Iterable[Heal]) -> Block | None:
        """Return a block or a message without what these find in it; `None` if nothing of it can be sent."""
        for rule, _, heal in heals:
            sound = heal(block)
            if sound is not block:
                self._rules[rule] = None
            if sound is None:
                return None
            block = sound
        return block

    def _is_alone(self, block: Block) -> bool:
        if not self._alone:
            return False
        known = server_call(block) or server_result(block)
        if known is None or known not in self._alone:
            return False
        self._rules["server_pair"] = None
        return True

    def _answer(self, message: Message, content: Any) -> Message:
        """Heal a message that answers a call as a whole, or holds items that do."""
        if type(content) is list and is_text(content):
            left = self._blocks(content, "content") or ([text_block(EMPTY_RESULT)] if content else [])
            return message if left == content else {**message, "content": left}
        if not self._texts or type(content) is str:
            return message
        self._rules["result_not_text"] = None
        return as_json(message, "content")
