"""Split a text into pieces that can stay by themselves, with what has to stay with each.

A piece of JSON is a value with its key, or a short container.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backscroll.messages.structure.json_tree import ARRAY, STRING, JsonTree, json_tree

JSON = "json"
SHORT = 60  # characters up to which a container is one piece: its values say more together
LONG = 240  # characters of a string above which it is split
_NEAR_END = 400  # characters in which a text around JSON begins or ends
_OVERHEAD = 12  # characters that a container takes beyond its key and its values, most of them for its mark
_BETWEEN = 2  # characters between two values
_BEGIN = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_END = re.compile(r"[\]}](?=[ \t\r]*(?:\n|\Z))")
_LINE = re.compile(r"[^\\]*+(?:\\[^n][^\\]*+)*+(?:\\n|\Z)", re.DOTALL)
_NAMES = re.compile(
    r"(?:.*[_-])?(?:id|uuid|key|name|title|status|state|type|kind|error|message|code|path|url|total|count)|[a-z]+(?:Id|Name|Type|Status)",
)
_NAME = 60  # characters of a value that names something
_DIGIT = re.compile(r"\d")


class Frame(NamedTuple):
    """What a piece is in: a container of JSON, or the lines under a heading."""

    parent: int
    """Number of the frame around it; -1 without one."""
    size: int
    """Characters that it takes once anything in it stays."""
    heading: tuple[int, int] | None = None
    """The line that stays then. `None`: a container, which is written anyway."""


class Piece(NamedTuple):
    """A part of a text that can stay by itself."""

    start: int
    end: int
    frame: int = -1
    """Number of the frame that it is in; -1 without one."""
    sign: str = ""
    """What it is in its text, such as `items.price`: pieces with the same sign say the same of different things."""
    names: bool = False
    """It says what something is, or how that went: an id, a name, a status, an error."""


class Pieces(NamedTuple):
    """The pieces of a text, and what stays around them."""

    kind: str
    head: int
    """Characters at the beginning that are not split."""
    tail: int
    """Characters at the end, likewise."""
    frames: Sequence[Frame]
    pieces: Sequence[Piece]


def json_within(text: str) -> tuple[int, int, JsonTree] | None:
    """Find JSON that makes up a text but for some characters before and after it, with their numbers."""
    tree = json_tree(text)
    if tree is not None:
        return 0, 0, tree
    first = _BEGIN.search(text, 0, _NEAR_END)
    if first is None:
        return None
    ends = [found.start() + 1 for found in _END.finditer(text, max(first.end(), len(text) - _NEAR_END))]
    if not ends or (first.start() == 0 and ends[-1] == len(text)):
        return None
    tree = json_tree(text, first.start(), ends[-1])
    return None if tree is None else (first.start(), len(text) - ends[-1], tree)


def pieces_of(text: str) -> Pieces | None:
    """Return the pieces of a text; None if it has no structure that is known here."""
    found = json_within(text)
    if found is None:
        return None
    head, tail, tree = found
    frames, pieces = _of_json(tree)
    return Pieces(kind=JSON, head=head, tail=tail, frames=frames, pieces=pieces)


def _of_json(tree: JsonTree) -> tuple[list[Frame], list[Piece]]:
    frames: list[Frame] = []
    of_node, paths = {0: -1}, {0: ""}
    pieces: list[Piece] = []
    number, last = 1, len(tree)
    while number < last:
        start, end, parent = tree.starts[number], tree.ends[number], tree.parents[number]
        key, path, frame = "", paths[parent], of_node[parent]
        if start < tree.values[number]:
            key = tree.key(number)
            path = f"{path}.{'*' if _DIGIT.search(key) else key}" if key else path
        if tree.kinds[number] == STRING and end - start > LONG:
            pieces += [Piece(*span, frame, path) for span in _of_string(tree, number)]
            number += 1
        elif tree.is_leaf(number) or _is_row(tree, number):
            names = end - tree.values[number] <= _NAME and _NAMES.fullmatch(key) is not None
            pieces.append(Piece(start=start, end=end, frame=frame, sign=path, names=names))
            number = tree.after(number)
        else:
            of_node[number], paths[number] = len(frames), path
            if _DIGIT.search(key):  # an id, which may say enough by itself
                pieces.append(Piece(start, start + len(key) + 2, len(frames), f"{path}.", names=True))
                frames.append(Frame(frame, _OVERHEAD))
            else:
                frames.append(Frame(frame, tree.values[number] - start + _OVERHEAD))
            number += 1
    return frames, pieces


def _is_row(tree: JsonTree, number: int) -> bool:
    """Return whether a container is one piece: a short one, or a list that has no containers in it."""
    size = tree.ends[number] - tree.starts[number]
    if number in tree.unended or size > LONG or not tree.parents[number]:
        return False
    if size <= SHORT:
        return True
    inside = range(number + 1, tree.after(number))
    return tree.kinds[number] == ARRAY and all(tree.is_leaf(each) for each in inside)


def _of_string(tree: JsonTree, number: int) -> Iterator[tuple[int, int]]:
    """Yield the lines in a long string, and long ones in pieces."""
    at, end = tree.values[number] + 1, min(tree.ends[number] - 1, tree.read)
    for found in _LINE.finditer(tree.text, at, end):
        first, last = found.span()
        while last - first > LONG:
            stop = tree.text.rfind(" ", first + LONG // 2, first + LONG) + 1 or first + LONG
            yield first, stop
            first = stop
        if first < last:
            yield first, last


def at_ends(found: Pieces, head: int, tail: int) -> list[tuple[int, int]]:
    """Return the first and the last pieces of a text: with what they are in, about so many characters of each."""
    framed: set[int] = set()
    kept: dict[int, tuple[int, int]] = {}
    last = len(found.pieces)
    for room, numbers in ((head, range(last)), (tail, range(last - 1, -1, -1))):
        left = room
        for number in numbers:
            piece = found.pieces[number]
            new = [frame for frame in frames_of(found, piece.frame) if frame not in framed]
            left -= piece.end - piece.start + _BETWEEN + sum(found.frames[frame].size for frame in new)
            if left < 0 or number in kept:
                break
            framed.update(new)
            kept[number] = piece.start, piece.end
    return [kept[number] for number in sorted(kept)]


def frames_of(found: Pieces, frame: int) -> Iterator[int]:
    """Yield a frame and those around it, innermost first."""
    while frame >= 0:
        yield frame
        frame = found.frames[frame].parent


def next_pieces(found: Pieces, number: int) -> Iterator[Piece]:
    """Yield the values that name something next to one in its container, if all in that are short together."""
    frame, pieces = found.pieces[number].frame, found.pieces
    if found.kind != JSON or frame < 0:
        return
    first = last = number
    while first > 0 and pieces[first - 1].frame == frame and pieces[number].end - pieces[first].start <= LONG:
        first -= 1
    while last + 1 < len(pieces) and pieces[last + 1].frame == frame and pieces[last].end - pieces[first].start <= LONG:
        last += 1
    if pieces[last].end - pieces[first].start <= LONG:
        yield from (piece for piece in pieces[first : last + 1] if piece.names)


def joined(text: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join ascending spans of JSON between which there is nothing but a comma and blanks."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and not text[found[-1][1] : start].strip(" \t\r\n,"):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)
