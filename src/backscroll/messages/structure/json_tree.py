"""Read JSON and JSON lines as positions of their values, without making the values.

Reading is linear, needs no recursion, and is bounded: of a long text only the beginning is read. A text is JSON here
if it is strictly JSON as far as it is read, so any part of its values put together is valid JSON again.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

MOST = 262_144
"""Characters of a text that are read. It takes about a tenth of a second."""
DEEPEST = 48  # levels that are looked into: what lies deeper is one value
LINES, OBJECT, ARRAY, STRING, OTHER = "lines", "{", "[", '"', "other"
"""Kinds of nodes. The first node is the text itself, which holds one value, or one per line."""
_REMEMBERED = 32_768  # characters of a text whose tree is remembered; of longer ones the last, for they fill memory
_STRING, _OPEN, _CLOSE, _MARK = 1, 2, 3, 4  # groups of `_TOKEN`; the fifth is another scalar
_PLAIN = r'[^"\\\x00-\x1f]*+'
_TOKEN = re.compile(
    rf'[ \t\r\n]*+(?:("{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*+")|([{{\[])|([}}\]])|([,:])'
    r"|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)\b))",
    re.ASCII,
)
_BLANK = re.compile(r"[ \t\r\n]*+")
_VALUE, _KEY, _FIRST, _COLON, _AFTER = range(5)  # what is expected next; `_FIRST`: a value or the container's end


class JsonTree:
    """The values of a text, in order: of value `n`, `starts[n]` is where its key begins, or it itself without one."""

    __slots__ = ("ends", "kinds", "parents", "read", "starts", "text", "unended", "values")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text: str = text
        self.starts: list[int] = [start]
        self.values: list[int] = [start]
        """Where the value itself begins."""
        self.ends: list[int] = [end]
        self.parents: list[int] = [-1]
        self.kinds: list[str] = [LINES]
        self.read: int = end
        """Up to where the text was read."""
        self.unended: frozenset[int] = frozenset()
        """Containers that go on behind that; empty if all was read."""

    def __len__(self) -> int:
        return len(self.starts)

    def key(self, number: int) -> str:
        """Return the key of a value as it is written, without quotes; empty for an item."""
        start, value = self.starts[number], self.values[number]
        return self.text[start + 1 : self.text.rindex('"', start, value)] if start < value else ""

    def is_leaf(self, number: int) -> bool:
        """Return whether a value has no values in it."""
        return self.kinds[number] in (STRING, OTHER)

    def add(self, start: int, value: int, parent: int, kind: str) -> int:
        """Add a value that is not ended yet, and return its number."""
        self.starts.append(start)
        self.values.append(value)
        self.ends.append(-1)
        self.parents.append(parent)
        self.kinds.append(kind)
        return len(self.starts) - 1

    def after(self, number: int) -> int:
        """Return the first value behind a value and all that is in it."""
        return bisect_left(self.starts, self.ends[number], number + 1)

    def children(self, number: int) -> Iterator[int]:
        """Yield the values directly in one, in time linear in all that is in it."""
        end, parents, starts = self.ends[number], self.parents, self.starts
        for at in range(number + 1, len(self)):
            if starts[at] >= end:
                return
            if parents[at] == number:
                yield at


def json_tree(text: str, start: int = 0, end: int | None = None) -> JsonTree | None:
    """Return the values of `text[start:end]`; None if it is not JSON, nor JSON lines of objects and arrays."""
    end = len(text) if end is None else end
    if not _may_be_json(text, start, end):
        return None
    return _known(text, start, end) if end - start <= _REMEMBERED else _known_long(text, start, end)


def _may_be_json(text: str, start: int, end: int) -> bool:
    """Return whether a text begins and ends as a container or a string does; cheap."""
    first = _BLANK.match(text, start, end)
    begin = first.end() if first else end
    while end > begin and text[end - 1] in " \t\r\n":
        end -= 1
    return end - begin > 1 and text[begin] in '{["' and text[end - 1] in '}]"'


def _read(text: str, start: int, end: int) -> JsonTree | None:
    tree = JsonTree(text, start, end)
    if not _scan(tree, start, end):
        return None
    roots = [kind for kind, parent in zip(tree.kinds, tree.parents, strict=True) if parent == 0]
    return tree if len(roots) == 1 or (roots and all(kind in (OBJECT, ARRAY) for kind in roots)) else None


_known = lru_cache(maxsize=32)(_read)
_known_long = lru_cache(maxsize=2)(_read)
"""Choosing, rendering and counting read the same text one after the other."""


def _scan(tree: JsonTree, at: int, end: int) -> bool:
    """Fill a tree. Return whether the text is JSON as far as it is read."""
    text, stop, match = tree.text, min(end, at + MOST), _TOKEN.match
    open_nodes, open_kinds = [0], [LINES]  # the containers that are not ended: their numbers, -1 if too deep, and kinds
    state, key = _VALUE, -1
    while at < stop and (found := match(text, at, end)) is not None:
        group = found.lastindex or 0
        begin, before, at = found.start(group), at, found.end()
        kind = open_kinds[-1]
        if state == _COLON or group == _MARK:
            after = _after_mark(state, text[begin], kind)
            if after is None:
                return False
            state = after
        elif group == _CLOSE:
            if state not in (_FIRST, _AFTER) or {OBJECT: "}", ARRAY: "]"}.get(kind) != text[begin]:
                return False
            open_kinds.pop()
            number = open_nodes.pop()
            if number >= 0:
                tree.ends[number] = at
            state = _AFTER
        elif state == _KEY or (state == _FIRST and kind == OBJECT):
            if group != _STRING:
                return False
            key, state = begin, _COLON
        elif state == _AFTER and (kind != LINES or text.find("\n", before, begin) < 0):
            return False
        else:
            state = _take(tree, open_nodes, open_kinds, (begin if key < 0 else key, begin, at), group)
            key = -1
    return _finish(tree, open_nodes, state, at, end)


def _after_mark(state: int, mark: str, kind: str) -> int | None:
    """Return what follows a comma or a colon; None if it is out of place."""
    if state == _COLON:
        return _VALUE if mark == ":" else None
    if mark != "," or state != _AFTER or kind == LINES:
        return None
    return _KEY if kind == OBJECT else _VALUE


def _take(tree: JsonTree, open_nodes: list[int], open_kinds: list[str], place: tuple[int, int, int], group: int) -> int:
    """Add a value, or the beginning of a container, and return what is expected next."""
    start, value, at = place
    opened = tree.text[value] if group == _OPEN else ""
    parent, number = open_nodes[-1], -1
    if parent >= 0 and len(open_nodes) <= DEEPEST:
        kind = STRING if group == _STRING else opened if opened and len(open_nodes) < DEEPEST else OTHER
        number = tree.add(start, value, parent, kind)
    if opened:
        open_nodes.append(number)
        open_kinds.append(opened)
        return _FIRST
    if number >= 0:
        tree.ends[number] = at
    return _AFTER


def _finish(tree: JsonTree, open_nodes: list[int], state: int, at: int, end: int) -> bool:
    blank = _BLANK.match(tree.text, at, end)
    at = blank.end() if blank else at
    if at >= end:
        return state == _AFTER and len(open_nodes) == 1
    if at < tree.starts[0] + MOST:
        return False
    if tree.kinds[-1] == OTHER and len(tree) - 1 in open_nodes:  # too deep to be looked into, and not ended
        for column in (tree.starts, tree.values, tree.ends, tree.parents, tree.kinds):
            column.pop()
    lines = len(open_nodes) == 1 or tree.parents.count(0) > 1
    tree.read, tree.unended = at, frozenset(number for number in open_nodes[not lines :] if 0 <= number < len(tree))
    for number in tree.unended:
        tree.ends[number] = at
    return True
