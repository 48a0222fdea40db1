"""When two pieces of a request are the same for a provider: as JSON, without marks for the cache."""

import json
from collections.abc import Sequence
from typing import Any

MARK = "cache_control"
"""Anthropic's mark, on a block or a tool."""
POINT = "cachePoint"
"""Bedrock's mark, a block by itself."""


def bare(value: Any) -> Any:
    """Return a value without marks for the prompt cache, which no provider counts as a change."""
    if isinstance(value, dict):
        return {key: bare(each) for key, each in value.items() if key != MARK}
    if isinstance(value, list):
        return [bare(each) for each in value if not (isinstance(each, dict) and POINT in each)]
    return value


def key(value: Any) -> str:
    """Return a text that is equal for equal values."""
    return json.dumps(bare(value), sort_keys=True, separators=(",", ":"))


def first_difference(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Return the index of the first item or character that differs; the length of the shorter one if none does."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def blocks_of(content: Any) -> list[Any]:
    """Return the blocks of a content; a text is one block."""
    if isinstance(content, list):
        return content
    return [] if content is None or content == "" else [{"type": "text", "text": content}]
