"""Which lines an edit took out of a file, and which it put in. Reads the arguments of tool calls; knows no tool by name.

Three shapes are understood, since tools agree on them across frameworks: a pair of arguments for the old and the new
text, at any depth; a unified diff or patch inside any argument; and, of no use here, everything else.
"""

import json
from collections.abc import Iterator
from typing import Any

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
"""Arguments that hold a text which is no longer true once the call is done."""
_PATCH = ("@@", "*** Update File", "--- a/", "--- ")
_LEAST = 8  # characters: shorter lines (a brace, `else:`) say nothing about where they stand


class Change:
    """The lines that one call removed and added."""

    __slots__ = ("added", "removed")

    def __init__(self) -> None:
        self.removed: set[str] = set()
        self.added: set[str] = set()

    def note(self, old: str, new: str) -> None:
        """Takes in one replacement."""
        before, after = _lines(old), _lines(new)
        self.removed |= before - after
        self.added |= after - before


def change_of(arguments: str) -> Change | None:
    """What the call with these arguments (JSON text) changed; None where it is no edit."""
    if not any(f'"{old}"' in arguments for old, _ in _PAIRS) and not any(mark in arguments for mark in _PATCH[:3]):
        return None
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    change = Change()
    for found in _mappings(value):
        for old, new in _PAIRS:
            if type(found.get(old)) is str and type(found.get(new)) is str:
                change.note(found[old], found[new])
        for text in found.values():
            if type(text) is str and text.find("\n") > 0 and any(mark in text for mark in _PATCH):
                _read_patch(text, change)
    change.removed -= change.added
    return change if change.removed else None


def written_values(arguments: str) -> list[str]:
    """The texts in a call's arguments (JSON text), without those that the call itself replaces."""
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
            texts.append(node)
    return texts


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
    return {line for raw in text.splitlines() if len(line := raw.strip()) >= _LEAST}


def _read_patch(text: str, change: Change) -> None:
    for line in text.splitlines():
        if line.startswith(("---", "+++")) or len(line) <= _LEAST:
            continue
        if line[0] == "-":
            change.removed.add(line[1:].strip())
        elif line[0] == "+":
            change.added.add(line[1:].strip())
