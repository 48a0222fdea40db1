"""Cut texts into passages, and give those of JSON the names and values around them.

A hit is a few lines and not a whole file. A passage ends at a blank line, a line, or the end of a value, so that JSON
on one line and the arguments of a call are cut as well as printed text. A value deep in a JSON text says little by
itself: its passage is also found by the keys that lead to it and by the plain values next to those, such as the name
of the product whose variants it lists.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

PASSAGE = 800  # characters: about a function or a paragraph, so that many fit in an answer
_ENDS = ("\n", "\\n\\n", "\\n", "}, ", "},", "], ", "],", '", ', '",', ". ", ", ", ",", " ")
_LONGEST_JSON = 200_000  # characters that are read for names and values; a longer text is found by its own words
_LONGEST_VALUE = 80
_NEAR = 200  # characters of the names and values of one object
_CONTEXT = 400  # characters of all that leads to a passage
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|([{\[])|([}\]])|(-?\d[\d.eE+-]*|true|false|null)')


class Passage(NamedTuple):
    """A piece of a text."""

    offset: int
    """Characters from the start of the text."""
    text: str
    context: str = ""
    """Names and values of JSON that lead to it."""


def passages(text: str) -> Iterator[Passage]:
    """Yield pieces of at most `PASSAGE` characters, which joined are the text."""
    if not text:
        return
    starts = [0]
    while (end := end_of(text, starts[-1])) < len(text):
        starts.append(end)
    contexts = _contexts(text, starts) if len(starts) > 1 and _is_json(text) else [""] * len(starts)
    for start, end, context in zip(starts, [*starts[1:], len(text)], contexts, strict=True):
        yield Passage(start, text[start:end], context)


def end_of(text: str, start: int) -> int:
    """Return where the passage ends that begins at `start`."""
    end = start + PASSAGE
    if end >= len(text):
        return len(text)
    blank = text.rfind("\n\n", start + PASSAGE // 3, end)
    if blank > 0:
        return blank + 2
    for mark in _ENDS:
        found = text.rfind(mark, start + PASSAGE // 2, end)
        if found > 0:
            return found + len(mark)
    return end


def _is_json(text: str) -> bool:
    return len(text) <= _LONGEST_JSON and text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


def _contexts(text: str, starts: Sequence[int]) -> list[str]:
    """Return for each start the names and plain values of the objects and lists that are open there."""
    found: list[str] = []
    opened: list[list[str]] = []
    key = ""
    for token in _TOKEN.finditer(text):
        while len(found) < len(starts) and token.start() >= starts[len(found)]:
            found.append(" ".join(word for level in opened for word in level)[:_CONTEXT])
        string, colon, begins, ends, literal = token.groups()
        if colon:
            key = string
            continue
        if begins:
            opened.append([key] if key else [])
        elif ends and opened:
            opened.pop()
        value = string or literal or ""
        if key and opened and 0 < len(value) <= _LONGEST_VALUE and sum(map(len, opened[-1])) < _NEAR:
            opened[-1] += (key, value)
        key = ""
    return found + [""] * (len(starts) - len(found))
