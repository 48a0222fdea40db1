"""Find lines that an edit removed from a text, from the arguments of any tool's call.

Two shapes are known, because tools agree on them across frameworks: a pair of arguments for the old and the new text,
at any depth, and a unified diff or patch inside any argument. What a call removes that writes a whole file is found by
earlier results (`overwritten.py`).
"""

import json
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from backscroll.compaction.digest.terms import pieces
from backscroll.compaction.sampling import READ

_PAIRS = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("oldString", "newString"),
    ("old_content", "new_content"),
    ("old", "new"),
    ("search", "replace"),
)
OLD = frozenset(old for old, _ in _PAIRS)
"""Arguments with a text that is no longer true once the call is done."""
_PATCH = ("@@", "*** Update File", "--- a/")
_MARKS = (*(f'"{old}"' for old, _ in _PAIRS), *_PATCH)
_LEAST = 8  # characters: shorter lines (a brace, `else:`) do not identify their place


def removed_lines(arguments: str) -> set[str]:
    """Return the lines that a call with these arguments (JSON text) removed from a text; none if it is no edit, or too
    long to parse.
    """
    if len(arguments) > READ or not any(mark in arguments for mark in _MARKS):
        return set()
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return set()
    removed: set[str] = set()
    added: set[str] = set()
    for found in _mappings(value):
        for old, new in _PAIRS:
            if type(found.get(old)) is str and type(found.get(new)) is str:
                removed |= _lines(found[old])
                added |= _lines(found[new])
        for text in found.values():
            if type(text) is str and "\n" in text and any(mark in text for mark in _PATCH):
                for line in text.splitlines():
                    if not line.startswith(("---", "+++")):
                        (removed if line[:1] == "-" else added if line[:1] == "+" else set()).update(_lines(line[1:]))
    return removed - added


def fingerprint(line: str) -> int:
    """Return what a digest keeps of a removed line, which is too long to be kept itself: its CRC-32."""
    return crc32(line.encode("utf-8", "surrogatepass"))


def written_values(arguments: str) -> list[str]:
    """Return the texts in a call's arguments (JSON text), without those that the call itself replaces. Arguments too
    long to parse are returned as one text.
    """
    if len(arguments) > READ:
        return [arguments]
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return [arguments]
    texts: list[str] = []
    waiting = [("", value)]
    while waiting:
        name, node = waiting.pop()
        if type(node) is dict:
            waiting.extend(reversed(node.items()))
        elif type(node) is list:
            waiting.extend((name, inner) for inner in reversed(node))
        elif type(node) is str and name not in OLD:
            texts.append(_after(node) if any(mark in node for mark in _PATCH) else node)
    return texts


def _after(patch: str) -> str:
    """Return the text after a patch, without its marks."""
    lines = (line for line in patch.splitlines() if not line.startswith("-"))
    return "\n".join(line[1:] if line[:1] == "+" else line for line in lines)


def without_old(value: Any) -> Any:
    """Remove arguments that the call itself replaces, at any depth."""
    if type(value) is dict:
        return {name: without_old(inner) for name, inner in value.items() if name not in OLD}
    if type(value) is list:
        return [without_old(inner) for inner in value]
    return value


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            yield node
            waiting.extend(node.values())
        elif type(node) is list:
            waiting.extend(node)


def _lines(text: str) -> set[str]:
    return {piece for piece in pieces(text) if len(piece) >= _LEAST}
