"""Canonical JSON, and the running hash over everything that precedes a place in a request.

"Preserved thinking" (Claude Platform Docs) and "Keep the prefix unchanged" (OpenAI) say what the prefix of a model's
reasoning holds. Neither says how a change of whitespace, of a string into one block, or of the order of tools counts:
here each is a change.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any

MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Keys that control caching and are no part of any prefix."""

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))

_WRITTEN_BY_THE_MODEL = frozenset({"input", "input_schema", "parameters", "args"})
"""Keys whose values are free-form JSON, in which a key of `MARKS` is data."""


def canonical(value: Any, without: Collection[str] = MARKS) -> Any:
    """Return a JSON value without the keys of `without`, at any depth."""
    if isinstance(value, dict):
        return {
            key: item if key in _WRITTEN_BY_THE_MODEL and not isinstance(item, list) else canonical(item, without)
            for key, item in value.items()
            if key not in without
        }
    return [canonical(item, without) for item in value] if isinstance(value, list | tuple) else value


def as_text(value: Any) -> str:
    """Return JSON with sorted keys and no whitespace. The key order and the formatting of a request do not count."""
    return _ENCODER.encode(value)


def fingerprint(*values: Any) -> str:
    """Return the SHA-256 of values as hexadecimal text."""
    return hashlib.sha256(as_text(values).encode("utf-8", "surrogatepass")).hexdigest()


def count_bytes(text: str) -> int:
    """Return the tokens that the fakes bill for a text by default: its UTF-8 bytes divided by four, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


class PrefixChain:
    """The running hash over what precedes each block of a request.

    The border of a message, which has its role, is hashed with its first block. A message that holds nothing but
    reasoning, which no prefix contains, so leaves no trace.
    """

    def __init__(self, start: str) -> None:
        self.value: str = start
        self._border: tuple[str, Any] | None = None

    def begin(self, role: str, extras: Any = None) -> None:
        """Begin a message; `extras` are its other fields, such as `clear_at`."""
        self._border = (role, extras)

    def add(self, block: Any, definition: Any = None) -> None:
        """Hash a block, and the definition of a tool that it refers to."""
        self.value = fingerprint(self.value, self._border, canonical(block), canonical(definition))
        self._border = None
