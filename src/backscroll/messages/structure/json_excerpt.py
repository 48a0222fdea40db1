"""Cut JSON to some of its values. The result is valid JSON: marks inside say how much is left out, and of what kind."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from backscroll.messages.recall_lead import LEAD
from backscroll.messages.structure.json_tree import ARRAY, LINES, OBJECT, STRING, JsonTree, json_tree

Span = tuple[int, int]
KEY = "..."
"""The key of an object's mark."""
_NAMES = 100  # characters of the names of left out keys; more are counted
_HIGH = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")  # the first half of a character that is written as two escapes
_ESCAPE = re.compile(r"\\(?:u....|.)")
_MORE = " more keys"  # after the first mark a number alone says it
_REMEMBERED = 32_768  # characters of a text whose cut is remembered; of longer ones the last, for they fill memory
_CLOSE = {OBJECT: "}", ARRAY: "]"}


def cut_json(text: str, head: int, tail: int, kept: Sequence[Span], ref: str, *, lead: str = LEAD) -> str | None:
    """Cut the JSON in a text to what lies in these ranges. What stays has its numbers, order and characters.

    Args:
        text: The text.
        head: Characters before the JSON; they stay.
        tail: Characters after it, likewise.
        kept: Ranges that stay, as (start, end) in characters, ascending and disjoint. A value stays if it lies in one
            whole; of a string that does not, the part stays that does.
        ref: The reference under which models can recall the whole text.
        lead: What comes between what is left out and the reference: text that a string of JSON can hold as it is.

    Returns:
        The text, with valid JSON between head and tail; None if there is no JSON.
    """
    cut = _known_cut if len(text) <= _REMEMBERED else _known_long_cut
    return cut(text, head, tail, tuple(kept), ref, lead=lead)


def _cut(text: str, head: int, tail: int, kept: Sequence[Span], ref: str, *, lead: str) -> str | None:
    end = len(text) - tail
    tree = json_tree(text, head, end) if head < end else None
    return (
        None
        if tree is None
        else text[:head] + _Writer(tree=tree, kept=kept, end=end, ref=ref, lead=lead).write() + text[end:]
    )


_known_cut = lru_cache(maxsize=64)(_cut)
_known_long_cut = lru_cache(maxsize=2)(_cut)
"""What a compaction cuts is counted first and rendered later."""


class _Open:
    """A container that is being written."""

    __slots__ = ("empty", "like", "number", "omitted", "shown")

    def __init__(self, number: int) -> None:
        self.number = number
        self.omitted: list[int] = []
        """Values left out since the last mark."""
        self.shown: list[str] = []
        """Keys that are written."""
        self.like: object = None
        """The shape of the last item that is written."""
        self.empty = True


class _Writer:
    """Write the values of a tree that stay, with marks for the others."""

    def __init__(self, tree: JsonTree, kept: Sequence[Span], end: int, ref: str, lead: str) -> None:
        self._tree, self._text, self._ref, self._lead_in = tree, tree.text, ref, lead
        self._kept = kept
        self._begins = [start for start, _ in kept]
        self._end = end
        self._out: list[str] = []
        self._named: set[tuple[str, ...]] = set()
        """Shapes of objects whose left out keys a mark has named."""
        self._parts: dict[int, list[Span]] = {}
        """What stays of strings that do not stay whole."""
        self._states = self._choose()

    def write(self) -> str:
        """Return the JSON."""
        tree = self._tree
        open_nodes = [_Open(0)]
        number = 1
        while number < len(tree):
            while tree.parents[number] != open_nodes[-1].number:
                self._close(open_nodes.pop())
            around, state = open_nodes[-1], self._states.get(number)
            if state is None:
                around.omitted.append(number)
                number = tree.after(number)
                continue
            self._lead(around, number)
            if state == "open":
                self._out.append(self._text[tree.starts[number] : tree.values[number] + 1])
                open_nodes.append(_Open(number))
                number += 1
                continue
            self._out.append(
                self._text[tree.starts[number] : tree.ends[number]] if state == "whole" else self._string(number)
            )
            number = tree.after(number)
        while open_nodes:
            self._close(open_nodes.pop())
        return "".join(self._out)

    def _choose(self) -> dict[int, str]:
        """Return which values are written: `whole`, in `part` (a string), or `open` (a container of such)."""
        tree, states = self._tree, dict[int, str]()
        number = 1
        while number < len(tree):
            state = self._state(number)
            parent = number if state else 0
            while parent > 0 and parent not in states:
                states[parent] = state if parent == number else "open"
                parent = tree.parents[parent]
            number = tree.after(number) if state in ("whole", "part") else number + 1
        if len(tree) > 1 and tree.kinds[1] in (OBJECT, ARRAY) and tree.after(1) == len(tree):
            states.setdefault(1, "open")  # the one value of the text, which is the place of the first mark
        return states

    def _state(self, number: int) -> str:
        """Return how a value is written by what it is itself; empty if it is not, unless for something in it."""
        tree = self._tree
        start, value, kind = tree.starts[number], tree.values[number], tree.kinds[number]
        at = bisect_right(self._begins, value) - 1
        first, last = self._kept[at] if at >= 0 else (value, value)
        if last >= tree.ends[number] and number not in tree.unended:
            return "whole"
        if kind == STRING and (parts := list(self._within(number))):
            self._parts[number] = parts
            return "part"
        is_key_kept = first <= start < value and last > start + len(tree.key(number)) + 1
        return "open" if kind in _CLOSE and is_key_kept else ""

    def _within(self, number: int) -> Iterator[Span]:
        """Yield what stays of a string, between its quotes, cut at characters and not within an escape."""
        start, end = self._tree.values[number] + 1, self._tree.ends[number] - 1
        found = self._kept[max(0, bisect_right(self._begins, start) - 1) : bisect_left(self._begins, end)]
        inside = [(max(first, start), min(last, end)) for first, last in found if first < end and last > start]
        if inside:
            escapes = [each.start() for each in _ESCAPE.finditer(self._text, start, min(end, inside[-1][1] + 6))]
            for pair in inside:
                first, last = (_outside(self._text, escapes, each) for each in pair)
                if first < last:
                    yield first, last

    def _string(self, number: int) -> str:
        """Write a string in part."""
        tree, text = self._tree, self._text
        start, end = tree.values[number] + 1, tree.ends[number] - 1
        out = [text[tree.starts[number] : start]]
        ranges = [(start, start), *self._parts[number], (end, end)]
        for (_, before), (after, last) in pairwise(ranges):
            if before < after:
                mark = f"[... {after - before:,} characters left out{self._recall()} ...]" if self._ref else "[...]"
                out += ["" if before == start or out[-1].endswith("\\n") else "\\n", mark, "\\n" if after < end else ""]
            out.append(text[after:last])
        return "".join([*out, '"'])

    def _lead(self, around: _Open, number: int) -> None:
        """Write what separates a value from the one before, with a mark for items left out between."""
        tree = self._tree
        kind = tree.kinds[around.number]
        if around.omitted and kind != OBJECT:
            self._mark(around)
        self._separate(around, number)
        if kind == OBJECT:
            around.shown.append(tree.key(number))
        around.like = _shape(tree, number)

    def _separate(self, around: _Open, number: int) -> None:
        """Write the comma or line end before a value, and the blanks as they are."""
        start = at = self._tree.starts[number]
        while at > 0 and self._text[at - 1] in " \t\r\n":
            at -= 1
        blanks = self._text[max(at, self._tree.starts[0]) : start]
        if self._tree.kinds[around.number] == LINES:
            comma = ""
            blanks = blanks.rpartition("\n")[2] if around.empty else blanks if "\n" in blanks else f"\n{blanks}"
        else:
            comma = "" if around.empty else ","
            blanks = "" if around.empty and "\n" not in blanks else blanks
        self._out.append(f"{comma}{blanks}")
        around.empty = False

    def _close(self, around: _Open) -> None:
        """Write the mark of what is left out at the end, and the end."""
        tree, number = self._tree, around.number
        if around.omitted or number in tree.unended:
            self._mark(around)
        if tree.kinds[number] == LINES:
            return
        at = tree.ends[number] - 1
        first = at
        while self._text[first - 1] in " \t\r\n":
            first -= 1
        blanks = self._text[first:at] if number not in tree.unended else ""
        self._out.append(f"{blanks}{_CLOSE[tree.kinds[number]]}")

    def _mark(self, around: _Open) -> None:
        """Write what is left out of a container."""
        tree, omitted = self._tree, around.omitted
        self._separate(around, omitted[-1] if omitted else around.number)
        if tree.kinds[around.number] == OBJECT:
            key = KEY
            while key in around.shown:
                key += "."
            names, ref = self._of_keys(around), self._recall()
            count = "" if ref or not names.endswith(_MORE) else names.removesuffix(_MORE)
            self._out.append(f'"{key}": {count}' if count.isdecimal() else f'"{key}": "{names}{ref}"')
        else:
            self._out.append(f'"... {self._of_items(around)}{self._recall()}"')
        around.omitted = []

    def _of_items(self, around: _Open) -> str:
        count = len(around.omitted)
        if not count or (around.number in self._tree.unended and self._behind(around)):
            return "the rest left out"
        if self._alike(around):
            return f"{count:,} more like this"
        what = "line" if self._tree.kinds[around.number] == LINES else "item"
        return f"{count:,} {what}{'' if count == 1 else 's'} left out"

    def _behind(self, around: _Open) -> bool:
        """Return whether these are the last values of a container, so what was not read follows them."""
        return not around.omitted or self._tree.after(around.omitted[-1]) == len(self._tree)

    def _alike(self, around: _Open) -> bool:
        return around.like is not None and all(_shape(self._tree, each) == around.like for each in around.omitted)

    def _of_keys(self, around: _Open) -> str:
        tree = self._tree
        if around.number in tree.unended:
            return "the rest left out"
        keys = [tree.key(each) for each in around.omitted]
        if len(keys) > 1 and tree.kinds[around.omitted[0]] in (OBJECT, ARRAY) and self._alike(around):
            return f"{len(keys):,} more like this"
        shape = (*around.shown, *keys)
        names = ", ".join(keys)
        if len(names) > _NAMES or shape in self._named:
            return f"{len(keys)}{_MORE}"
        self._named.add(shape)
        return f"left out: {names}"

    def _recall(self) -> str:
        """Return the reference, for the first mark only."""
        if not self._ref:
            return ""
        stays = sum(min(last, self._end) - max(first, self._tree.starts[0]) for first, last in self._kept)
        found = f"; {max(0, self._end - self._tree.starts[0] - stays):,} characters in all{self._lead_in}{self._ref}"
        self._ref = ""
        return found


def _shape(tree: JsonTree, number: int) -> object:
    """Return what two values have in common that look alike: the kind, and an object's keys."""
    kind = tree.kinds[number]
    return (kind, tuple([tree.key(child) for child in tree.children(number)])) if kind == OBJECT else kind


def _outside(text: str, escapes: Sequence[int], at: int) -> int:
    """Return the position at or before `at` that is in none of these escapes, and between no two that are one
    character.
    """
    number = bisect_left(escapes, at) - 1
    if number >= 0 and at < escapes[number] + (6 if text[escapes[number] + 1] == "u" else 2):
        at = escapes[number]
        number -= 1
    first = escapes[number] if number >= 0 else at
    return first if first + 6 == at and _HIGH.match(text, first) and text.startswith("\\u", at) else at
