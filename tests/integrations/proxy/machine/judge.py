"""What may have arrived at the provider for a request of a client. It uses no code of the library."""

import json
import re
from typing import Any

from tests.integrations.proxy.machine.apis import REASONING, Message, dumped, unmarked
from tests.integrations.proxy.machine.talk import Request, names_in

QUOTED = 24  # characters at the beginning that identify a quote

_SHOWN = re.compile(r"\[ref:|left out|<summary>|\[user\]|shortened")
"""What only the library writes."""
_SPACE = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")
_read = json.JSONDecoder().raw_decode
Spelled = tuple[Any, str]


def problems(request: Request, arrived: bytes, *, marks: bool, is_short: bool) -> list[str]:
    """What is wrong with a view; empty if nothing is.

    Args:
        request: What the client sent.
        arrived: The bytes that arrived.
        marks: Whether the client sets marks for a cache: they may be elsewhere.
        is_short: Whether the provider refused more.
    """
    text = arrived.decode()
    head, tail = f"{request.head}[", f"]{request.tail}"
    if not (text.startswith(head) and text.endswith(tail)):
        return ["something else than the messages changed"]
    view = items(text[len(head) : len(text) - len(tail)])
    given = [item for each in request.texts for item in items(each)]
    found = [*_newest(view, given, is_short=is_short), *_bytes(view, given, marks=marks), *_reasoning(view, given)]
    if strange := names_in(text) - names_in("".join(request.texts)):
        found.append(f"words of another conversation: {sorted(strange)}")
    return found


def items(text: str) -> list[Spelled]:
    """The items of a list without its brackets, each with its text."""
    found: list[Spelled] = []
    at = 0
    while at < len(text):
        value, end = _read(text, at)
        found.append((value, text[at:end]))
        at = _past(text, end)
    return found


def _past(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found
    return found.end()


def blocks_of(text: str) -> list[Spelled]:
    """The blocks of a message's content, each with its text."""
    found = re.search(r'"content"\s*:\s*\[', text)
    if found is None:
        return []
    at, blocks = found.end(), []
    while text[at] != "]":
        value, end = _read(text, at)
        blocks.append((value, text[at:end]))
        at = _past(text, end)
    return blocks


def _newest(view: list[Spelled], given: list[Spelled], *, is_short: bool) -> list[str]:
    """The system prompt and what the user said last are there, and the newest message is last. Its results may be cut,
    and all of it where the provider refused more. A hand-over may quote what the user said.
    """
    wanted = [item for item, _ in given if item.get("role") in ("system", "developer")]
    said = [] if is_short else [item for item, _ in given if _is_said(item)]
    wanted += said[-1:]
    there = {dumped(unmarked(item)) for item, _ in view}
    missing = [each for each in wanted if dumped(unmarked(each)) not in there]
    if missing and missing[-1] in said[-1:] and _is_quoted(missing[-1], view):
        missing.pop()
    found = [f"missing: {dumped(each)[:80]}" for each in missing]
    if not is_short and _answers(view[-1][0]) != _answers(given[-1][0]):
        found.append("the newest message is not last")
    return found


def _is_quoted(item: Message, view: list[Spelled]) -> bool:
    """Whether a summary has the beginning of what the user said. Signs do not count: quotes escape some."""
    begins = "".join(filter(str.isalnum, " ".join(_texts(item))))[:QUOTED]
    quotes = [text for other, _ in view for text in _texts(other) if "<summary>" in text]
    return bool(begins) and any(begins in "".join(filter(str.isalnum, text)) for text in quotes)


def _texts(item: Message) -> list[str]:
    content = item.get("content")
    blocks = content if isinstance(content, list) else []
    return [content] if isinstance(content, str) else [block["text"] for block in blocks if "text" in block]


def _answers(item: Message) -> list[str]:
    """The calls that a message answers; its words, if it answers none."""
    content = item.get("content")
    blocks = [block.get("tool_use_id") for block in content] if isinstance(content, list) else []
    found = [each for each in (item.get("tool_call_id"), item.get("call_id"), *blocks) if each]
    return found or [dumped(unmarked(item))]


def _is_said(item: Message) -> bool:
    if item.get("role") != "user":
        return False
    content = item["content"]
    return isinstance(content, str) or any(block["type"] == "text" for block in content)


def _bytes(view: list[Spelled], given: list[Spelled], *, marks: bool) -> list[str]:
    """What is shown whole has the client's bytes and order; what is not was written by the library, and shows it."""
    texts = [text for _, text in given]
    equal = {dumped(unmarked(item)) for item, _ in given}
    bare = {dumped(_without_id(item)) for item, _ in given}
    blocks = [block for _, text in given for block in blocks_of(text)]
    known = {text for _, text in blocks}
    marked = {dumped(unmarked(block)) for block, _ in blocks if block != unmarked(block)}
    alike = {dumped(unmarked(block)) for block, _ in blocks}
    found, at = [], 0
    for item, text in view:
        if text in texts[at:]:
            at = texts.index(text, at) + 1
            continue
        if dumped(unmarked(item)) in equal and not marks:
            found.append(f"spelled in another way: {text[:80]}")
        if item.get("type") and dumped(_without_id(item)) in bare:
            continue  # its reasoning left the view, and its id would demand that
        inner = blocks_of(text)
        for block, spelled in inner:
            is_alike = dumped(unmarked(block)) in alike
            may_differ = marks and (block != unmarked(block) or dumped(unmarked(block)) in marked)
            if is_alike and spelled not in known and not may_differ:
                found.append(f"block spelled in another way: {spelled[:80]}")
            if not is_alike and not _SHOWN.search(spelled):
                found.append(f"block of nobody: {spelled[:200]}")
        if not inner and dumped(unmarked(item)) not in equal and not _SHOWN.search(text):
            found.append(f"message of nobody: {text[:200]}")
    return found


def _without_id(item: Message) -> Message:
    """An item of a response as a client may write it: no id, and a text as it is."""
    content = item.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text")) for part in content)
    return {key: value for key, value in item.items() if key not in ("id", "status")} | {"content": content}


def _reasoning(view: list[Spelled], given: list[Spelled]) -> list[str]:
    """Reasoning is unchanged and in order, each before what it was before."""
    own, shown = _thoughts(given), _thoughts(view)
    order = [seal for seal in own if seal in shown]
    found = [f"changed or moved: {seal[:40]}" for seal, about in shown.items() if own.get(seal) != about]
    return found if order == list(shown) else [*found, "reasoning in another order"]


def _thoughts(messages: list[Spelled]) -> dict[str, tuple[str, set[str]]]:
    """The text of each reasoning by its seal, and the calls or words that it is with."""
    found: dict[str, tuple[str, set[str]]] = {}
    for at, (item, text) in enumerate(messages):
        if item.get("type") == "reasoning":
            following = (each for each, _ in messages[at + 1 :] if each.get("type") not in REASONING)
            found[item["encrypted_content"]] = (text, names_in(next(following, "")))
        for block, spelled in blocks_of(text):
            if block.get("type") in REASONING:
                found[block.get("signature") or block["data"]] = (spelled, names_in(item))
    return found
