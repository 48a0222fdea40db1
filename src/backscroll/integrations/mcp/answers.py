"""Frame what was found as quotations, bound it in tokens, and say how to go on.

What is quoted was said by others, and may hold instructions. So each quotation has a line before and after it that its
text does not hold, and a first line that says what it is.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.recall.pages import RecallResult

LEAST = 1_000
"""Tokens of the smallest page. The longest names of sessions fit into it, with room for a text."""
_ECHOED = 300  # characters of arguments that are repeated in the call that goes on
_SLACK = 8  # tokens by which a whole may exceed the sum of its parts

Count = Callable[[str], int]


def quotation(text: str) -> str:
    """Return a text between two lines that it does not hold."""
    fence = "~~~"
    while fence in text:
        fence += "~"
    return f"{fence}\n{text}\n{fence}"


def call(tool: str, arguments: Mapping[str, Any], offset: int | None = None) -> str:
    """Return the call of a tool as a model would write it; with `offset`, the one that goes on."""
    named = {key: value for key, value in arguments.items() if value not in (None, "") and key != "offset"}
    text = json.dumps(named if offset is None else {**named, "offset": offset}, ensure_ascii=False)
    if offset is not None and len(text) > _ECHOED:
        return f"{tool} with the same arguments and offset {offset}"
    return f"{tool} {text}"


class Item(NamedTuple):
    """One item of a list."""

    head: str
    text: str | None = None
    """What is quoted below the head."""

    def __str__(self) -> str:
        return self.head if self.text is None else f"{self.head}\n{quotation(self.text)}"


def listed(
    head: str, items: Sequence[Item], offset: int, more: Callable[[int], str], *, most: int, count: Count
) -> str:
    """Return items from number `offset` on, as many as fit into `most` tokens, but at least one, which may be cut.

    Raises:
        ConfigurationError: There are fewer items.
    """
    if offset and offset >= len(items):
        raise ConfigurationError(f"`offset` is {offset}, but there are only {len(items)} results: start from 0")
    room = most - count(head) - count(more(len(items))) - _SLACK
    shown: list[str] = []
    for item in items[offset:]:
        room -= count(str(item)) + 1
        if room < 0:
            break
        shown.append(str(item))
    if not shown and items:
        room += count(str(items[offset])) + 1
        shown = [_shortened(items[offset], room, count)]
    end = offset + len(shown)
    return "\n".join([head, *shown, *([more(end)] if end < len(items) else [])])


def quoted(
    head: str, page: Callable[[int], RecallResult], more: Callable[[int | str], str], *, most: int, count: Count
) -> str:
    """Return a page of a text as a quotation, so that all fits into `most` tokens.

    Args:
        head: What the text is.
        page: Returns the page of at most so many tokens.
        more: Returns the call that goes on at a character, or with a reference.
        most: Tokens of the whole answer.
        count: Counts tokens.
    """
    limit = most - count(head) - count(more(10**9)) - 4 * _SLACK
    while True:
        found = page(max(1, limit))
        end = found.next_ref or found.next_offset
        foot = [] if end is None else [more(end)]
        answer = "\n".join([head, quotation(str(found)), *foot])
        if limit <= 1 or count(answer) <= most:
            return answer
        limit = limit * 9 // 10


def _shortened(item: Item, most: int, count: Count) -> str:
    """Return an item of at most so many tokens; a quotation still ends with its fence."""
    if item.text is None:
        return cut(item.head, most, count)
    text = item.text
    while len(text) > 1 and count(str(item)) + _SLACK > most:
        text = text[: len(text) * 9 // 10]
        item = Item(item.head, text)
    return str(item)


def cut(text: str, most: int, count: Count) -> str:
    """Return the beginning of a text that has at most so many tokens."""
    while len(text) > 1 and (tokens := count(text) + _SLACK) > most:
        text = text[: max(1, min(len(text) * most // tokens, len(text) - 1))]
    return text
