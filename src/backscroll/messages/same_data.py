"""The same data twice inside one result, as tools of MCP return it: as `structuredContent`, and as JSON in a text of
`content`. One copy is enough for a model. Source: "Structured content" in the specification of MCP, 2025-06-18.
"""

import json
from collections.abc import Callable
from typing import Any

from backscroll.messages.parts import Block, compact

_KEY = "structuredContent"
_KEYS = (_KEY, "structured_content")
NAMED = f"[the same data as {_KEY}]"
ABOVE = "[the same data as above]"
SHORTEST = 40
"""Characters of a copy that is worth a word in its place. With fewer, the word saves nothing."""


def once(text: str) -> str:
    """Return the JSON text of a result with each copy of its structured content replaced by a word; any other text
    unchanged.
    """
    if _KEY not in text and _KEYS[1] not in text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found = _once(value)
    return text if found is value else compact(found)


def _same_json(one: str, other: str) -> bool:
    """Return whether two long texts are JSON of the same value."""
    if min(len(one), len(other)) < SHORTEST or one.lstrip()[:1] not in ("{", "["):
        return False
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


def _once(value: Any) -> Any:
    held = next((value[key] for key in _KEYS if key in value), None) if type(value) is dict else None
    content = value.get("content") if held is not None else None
    if type(content) is not list:
        return value
    texts = [block.get("text") if type(block) is dict else None for block in content]
    whole = compact(held)
    copies = [type(text) is str and _same_json(whole, text) for text in texts]
    if not any(copies):
        return value
    blocks = [{**block, "text": NAMED} if copy else block for block, copy in zip(content, copies, strict=True)]
    return {**value, "content": blocks}


def without_copies(result: Block, text_of: Callable[[str], Block]) -> Block:
    """Return a result with a few words in place of a block that has the data of an earlier one."""
    content = result.get("content")
    if type(content) is not list or len(content) < 2:
        return result
    left: list[Any] = []
    for block in content:
        is_copy = type(block) is dict and any(
            _same_json(_data(other), _data(block)) for other in left if type(other) is dict
        )
        left.append(text_of(ABOVE) if is_copy else block)
    return (
        result if all(one is other for one, other in zip(left, content, strict=True)) else {**result, "content": left}
    )


def _data(block: Any) -> str:
    """Return the text of a block, or the JSON of a block of Bedrock."""
    text = block.get("text", "")
    return compact(block["json"]) if "json" in block else text if type(text) is str else ""
