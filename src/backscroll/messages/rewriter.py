"""Rewriting for a view: replace a part's text, remove blocks, and make the few synthetic messages.

Nothing here changes the given message: containers along the changed path are copied, the rest is shared. The caller
decides *what* to replace.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from backscroll.messages.contents import CALLS, MODEL, answers_in, content_of, held, is_content, response_to
from backscroll.messages.items import PAIRS, answer_of, is_envelope, kind_of
from backscroll.messages.parts import Part, Path, compact
from backscroll.messages.reader import SYSTEM_ROLES, ParsedMessage
from backscroll.messages.recall_lead import LEAD
from backscroll.messages.validation import Message, copy_message

NO_RESULT = "[no result recorded]"
_LONE = re.compile("[\ud800-\udfff]")
_BEDROCK_KEYS = frozenset(("text", "toolUse", "toolResult", "image", "document", "video", "audio", "reasoningContent"))


def replaceable(reading: ParsedMessage, part: Part) -> bool:
    """Return whether a part's text can change without breaking a signature or a call that appears twice."""
    return part.form != "fixed" and not reading.rigid and part.kind != "reasoning"


def replace(message: Message, reading: ParsedMessage, texts: Mapping[int, str]) -> Message:
    """Return the message with new texts for the parts numbered in `texts`. Arguments must be given as JSON text."""
    for number, text in texts.items():
        part = reading.parts[number]
        message = _put(message, part.path, _in_form(part, text))
    return message


def _in_form(part: Part, text: str) -> Any:
    if part.form == "typed":
        return {"type": "text", "text": text}
    if part.form == "input":
        return {"type": "input_text", "text": text}
    if part.form == "bare":
        return {"text": text}
    if part.form == "mapping":
        return json.loads(text)
    if part.form == "output":
        return {"output": text}
    if part.form == "inline":  # a response of Gemini holds media next to its object, and no text
        return {"inlineData": {"mimeType": "text/plain", "data": b64encode(_encodable(text)).decode()}}
    return text


def _encodable(text: str) -> bytes:
    return text.encode("utf-8", "replace")


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
    key = "parts" if is_content(message) else "content"
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
    if like and is_content(like):
        return content_of(role, text)
    content = like.get("content") if like else None
    if type(content) is list and any(map(_is_bedrock, content)):
        return {"role": role, "content": [{"text": text}]}
    return {"role": role, "content": text}


def shape_among(messages: Iterable[Message]) -> Message | None:
    """Return the message whose shape a summary gets: the first one, or a content of Gemini behind system messages."""
    first: Message | None = None
    for message in messages:
        first = message if first is None else first
        if message["role"] not in SYSTEM_ROLES:
            return message if is_content(message) else first
    return first


def must_alternate(message: Message, other: Message) -> bool:
    """Return whether a provider refuses these messages of one role in a row: two of Bedrock, or two of the model of
    Gemini.
    """
    if is_content(message) and is_content(other):
        return bool(message["role"] == MODEL == other["role"])
    contents = (each.get("content") for each in (message, other))
    return any(type(content) is list and any(map(_is_bedrock, content)) for content in contents)


def _is_bedrock(block: Any) -> bool:
    return type(block) is dict and "type" not in block and not _BEDROCK_KEYS.isdisjoint(block)


def answer_missing(
    message: Message, calls: Sequence[Part], results: list[Message], text: Callable[[Part], str] = lambda _: NO_RESULT
) -> list[Message]:
    """Complete the result messages of one round with a placeholder, of the text that `text` returns, for these calls of
    `message`.

    The Responses API and dialects with a tool role get messages behind the recorded ones. Anthropic, Bedrock and Gemini
    require all results of a round in one user message: a block is added to the recorded message, or one message is
    made.
    """
    messages, blocks = list(results), []
    for call in calls:
        said = text(call)
        block = _result_block(message, call, said)
        if block is not None:
            blocks.append(block)
        elif (item := _item_at(message, call.path)) is not None:
            messages.append(answer_of(item, said))
        elif call.path[0] == "function_call":
            # The name within the id: older versions stored a call with its name under `tool`, which its id lacks.
            messages.append({"role": "function", "name": (call.id or "")[len("function:") :], "content": said})
        else:
            messages.append({"role": "tool", "tool_call_id": call.id or "", "content": said})
    if not blocks:
        return messages
    key = "parts" if is_content(message) else "content"
    last = messages[-1] if messages else {}
    content = last.get(key)
    if last.get("role") != "user" or type(content) is not list:
        return [*messages, {"role": "user", key: blocks}]
    at = 1 + max((n for n, block in enumerate(content) if _is_result(block)), default=-1)
    messages[-1] = {**last, key: [*content[:at], *blocks, *content[at:]]}
    return messages


def _item_at(message: Message, path: Path) -> dict[str, Any] | None:
    if path[0] != "content" or not is_envelope(message):
        return None
    found: dict[str, Any] = message["content"][path[1]]
    return found if kind_of(found) in PAIRS else None


def _is_result(block: Any) -> bool:
    if type(block) is not dict:
        return False
    return "toolResult" in block or block.get("type") == "tool_result" or answers_in(block) is not None


def _result_block(message: Message, call: Part, text: str) -> dict[str, Any] | None:
    if call.path[0] == "parts":
        found = held(message["parts"][call.path[1]], CALLS)
        return None if found is None else response_to(found[1], text)
    if call.path[0] != "content":
        return None
    block = message["content"][call.path[1]]
    if "toolUse" in block:
        return {"toolResult": {"toolUseId": call.id or "", "status": "error", "content": [{"text": text}]}}
    if block.get("type") == "tool_use":
        return {"type": "tool_result", "tool_use_id": call.id or "", "content": text, "is_error": True}
    return None  # Amplifier's block-only calls are answered by messages of the tool role
