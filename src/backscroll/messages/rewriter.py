"""Rewriting for a view: replace a part's text, remove blocks, and make the few synthetic messages.

Nothing here changes the given message: containers along the changed path are copied, the rest is shared. The caller
decides *what* to replace.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from backscroll.messages.copying import copy_message
from backscroll.messages.dialects import DIALECTS, blocks_key, dialect_of, dialect_of_block
from backscroll.messages.dialects.openai_chat import OPENAI_CHAT, result_message
from backscroll.messages.dialects.response_items import is_envelope
from backscroll.messages.dialects.responses import RESPONSES
from backscroll.messages.parsed_message import SYSTEM_ROLES, ParsedMessage
from backscroll.messages.parts import Message, Part, Path, compact
from backscroll.messages.recall_lead import LEAD

NO_RESULT = "[no result recorded]"
_LONE = re.compile("[\ud800-\udfff]")


def replaceable(reading: ParsedMessage, part: Part) -> bool:
    """Return whether a part's text can change without breaking a signature or a call that appears twice."""
    return part.form != "fixed" and not reading.rigid and part.kind != "reasoning"


def replace(message: Message, reading: ParsedMessage, texts: Mapping[int, str]) -> Message:
    """Return the message with new texts for the parts numbered in `texts`. Arguments must be given as JSON text."""
    for number, text in texts.items():
        part = reading.parts[number]
        made = part.form(text) if callable(part.form) else json.loads(text) if part.form == "mapping" else text
        message = _put(message, part.path, made)
    return message


def _put(node: Any, path: Sequence[str | int], value: Any) -> Any:
    if not path:
        return value
    copy = node.copy()
    copy[path[0]] = _put(node[path[0]], path[1:], value) if len(path) > 1 else value  # the last key may be missing
    return copy


def block_at(message: Message, path: Path) -> Any:
    """Return a copy of the value at a path."""
    node: Any = message
    for key in path:
        node = node[key]
    return copy_message({"block": node})["block"]


def leave_out(message: Message, blocks: Iterable[Path]) -> Message | None:
    """Return the message without these content blocks, or None if nothing would remain. The path () means all of it."""
    gone = set(blocks)
    if () in gone:
        return None
    key = blocks_key(message)
    rest = [block for number, block in enumerate(message[key]) if (key, number) not in gone]
    return {**message, key: rest} if not all(_is_marker(block) for block in rest) else None


def _is_marker(block: Any) -> bool:
    return type(block) is dict and block.keys() <= {"cachePoint"}


def clip_text(
    text: str, head: int, tail: int, ref: str, between: Sequence[tuple[int, int]] = (), *, lead: str = LEAD
) -> str:
    """Cut a text to its first `head` and last `tail` characters, with a note between that names the reference.

    Args:
        text: The text.
        head: Characters kept at its start.
        tail: Characters kept at its end.
        ref: The reference under which models can recall the whole text.
        between: Ranges that stay as well, as (start, end) in characters, ascending and disjoint.
        lead: What comes between what is left out and the reference.
    """
    end = len(text) - tail
    if end <= head:
        return text
    kept = [text[:head]]
    left_out = end - head - sum(stop - start for start, stop in between)
    kept.append(f"[... {left_out:,} characters left out{lead}{ref} ...]")
    for start, stop in between:
        kept += [text[start:stop], "[...]"]
    return "\n".join([*kept, text[end:]])


def clip_arguments(text: str, head: int, tail: int, ref: str, lead: str = LEAD) -> str:
    """Clip the long strings in JSON arguments, which stay valid JSON. Unparsable arguments and those without a long
    string stay unchanged.
    """
    try:
        whole = json.loads(text)
        value = _clip_values(whole, head, tail, ref, lead)
        if value == whole:
            return text
    except (ValueError, RecursionError):  # invalid JSON, or nested too deep to walk
        return text
    clipped = compact(value)
    # A lone surrogate cannot be encoded: if it was escaped before, escape it again.
    escape = not clipped.isascii() and _LONE.search(clipped) and not _LONE.search(text)
    return json.dumps(value, separators=(",", ":")) if escape else clipped


def _clip_values(value: Any, head: int, tail: int, ref: str, lead: str) -> Any:
    if type(value) is str:
        return clip_text(value, head, tail, ref, lead=lead) if len(value) > head + tail + 80 else value
    if type(value) is list:
        return [_clip_values(item, head, tail, ref, lead) for item in value]
    if type(value) is dict:
        return {key: _clip_values(item, head, tail, ref, lead) for key, item in value.items()}
    return value


def mask_arguments(note: str) -> str:
    """Replace a call's arguments by one note, in a JSON object."""
    return compact({"left_out": note})


def plain(role: str, text: str, like: Message | None) -> Message:
    """Make a message of one text, in the block form of `like`, a message of the same history."""
    dialect = OPENAI_CHAT if like is None else dialect_of(like)
    return dialect.make_message(role, text)


def shape_among(messages: Iterable[Message]) -> Message | None:
    """Return the message whose shape a summary gets: the first one, or the one behind system messages that a
    request holds apart.
    """
    first: Message | None = None
    for message in messages:
        first = message if first is None else first
        if message["role"] not in SYSTEM_ROLES:
            return message if dialect_of(message).system_apart else first
    return first


def must_alternate(message: Message, other: Message) -> bool:
    """Return whether a provider refuses these messages of one role in a row: two of Bedrock, or two of the model of
    Gemini.
    """
    return any(alternates(message, other) for alternates in _ALTERNATE)


_ALTERNATE = tuple(each.alternates for each in DIALECTS if each.alternates is not None)


def answer_missing(
    message: Message, calls: Sequence[Part], results: list[Message], text: Callable[[Part], str] = lambda _: NO_RESULT
) -> list[Message]:
    """Complete the result messages of one round with a placeholder, of the text that `text` returns, for these calls of
    `message`.

    The Responses API and dialects with a tool role get messages behind the recorded ones. Anthropic, Bedrock and Gemini
    require all results of a round in one user message: a block is added to the recorded message, or one message is
    made.
    """
    key = blocks_key(message)
    messages, blocks = list(results), list[Message]()
    for call in calls:
        made = _result(message, call, text(call))
        (messages if "role" in made else blocks).append(made)
    if not blocks:
        return messages
    last = messages[-1] if messages else {}
    content = last.get(key)
    if last.get("role") != "user" or type(content) is not list:
        return [*messages, {"role": "user", key: blocks}]
    at = 1 + max((n for n, block in enumerate(content) if _is_result(block)), default=-1)
    messages[-1] = {**last, key: [*content[:at], *blocks, *content[at:]]}
    return messages


def _result(message: Message, call: Part, text: str) -> Message:
    """Return the block or the message that answers a call."""
    if call.path[0] not in ("content", "parts"):
        return result_message(call, text)
    block = message[call.path[0]][call.path[1]]
    dialect = dialect_of_block(block, str(call.path[0]))
    if dialect is RESPONSES and not is_envelope(message):
        return result_message(call, text)  # LangChain lists calls as items among other blocks
    if dialect.make_result is None:
        return result_message(call, text)  # so hosts answer their blocks
    return dialect.make_result(block, str(call.id or ""), text)


def _is_result(block: Any) -> bool:
    return any(each.answer(block) is not None for each in DIALECTS)
