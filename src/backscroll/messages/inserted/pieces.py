"""Split a user's text into what was typed, what was pasted and what a host inserted."""

import re
from collections.abc import Iterator
from functools import lru_cache

from backscroll.messages.inserted.looks import runs_of
from backscroll.messages.inserted.piece import Piece, Rank, with_commands
from backscroll.messages.inserted.quotations import quoted_lines
from backscroll.messages.inserted.shapes import SHAPES, Shape

_READ = 262_144  # characters of a text that is read: a longer one is not typed
_REMEMBERED = 20_000  # characters of a text that is worth caching

_WRAPPERS = tuple((shape, shape.pattern) for shape in SHAPES if shape.form.endswith("tag"))
_TAG = re.compile(rf"<(/?)({'|'.join(dict.fromkeys(pattern for _, pattern in _WRAPPERS))})(?=[\s>])[^<>]*>")
_LINES = tuple(
    (shape, re.compile(rf"^[ \t]*(?:{shape.pattern})[ \t]*$", re.MULTILINE))
    for shape in SHAPES
    if shape.form in ("line", "rest", "document")
)
_ANY_LINE = re.compile("|".join(pattern.pattern for _, pattern in _LINES), re.MULTILINE)
"""One look at a text in place of one for each shape: nearly all texts have no such line."""
_ENDINGS = tuple((shape, re.compile(rf"(?:{shape.pattern})\s*\Z")) for shape in SHAPES if shape.form == "ending")
_END = 2_000  # characters at the end of a text in which such an ending is
_FIELD = re.compile(r"\s*<([A-Za-z][\w-]*)>(.*?)</\1>\s*", re.DOTALL)
_RANKS: dict[str, Rank] = {"typed tag": "typed", "loose tag": "pasted", "document": "pasted", "ending": "pasted"}


def pieces_of(text: str) -> tuple[Piece, ...]:
    """Return a text in pieces, in order: together they are all of it but its wrappers. The arguments of a command are
    with its name. Of a text that is too long to be read the ends count as pasted.
    """
    if len(text) > _READ:
        return (Piece("pasted", f"{text[:_REMEMBERED]}\n{text[-_REMEMBERED:]}"),)
    return _known_pieces(text) if len(text) <= _REMEMBERED else _pieces(text)


def without_field_tags(text: str) -> str:
    """Return the values of an inserted text that is nothing but fields, such as `<status>completed</status>`, one below
    the other. Any other text stays as it is, because its tags may be code.
    """
    values: list[str] = []
    at = 0
    while at < len(text):
        field = _FIELD.match(text, at)
        if field is None:
            return text
        values.append(field[2])
        at = field.end()
    return "\n".join(values)


def _pieces(text: str) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for outer in _unwrapped(text):
        for piece in _by_lines(outer.text) if outer.rank == "typed" else [outer]:
            found += _by_look(piece.text, outer.name) if piece.rank == "typed" else [piece]
    return tuple(with_commands([piece for piece in found if piece.text.strip() or piece.rank == "inserted"]))


def _by_look(text: str, name: str) -> Iterator[Piece]:
    for is_pasted, run in runs_of(text, quoted_lines):
        yield Piece("pasted" if is_pasted else "typed", run, name)


_known_pieces = lru_cache(maxsize=256)(_pieces)


def _unwrapped(text: str) -> Iterator[Piece]:
    """Yield what tags of hosts enclose, and what is outside. A tag ends at the last end of its kind before the next one
    begins, so that an end within a file ends nothing. Without an end it reaches to the end of the text.
    """
    tags = list(_TAG.finditer(text)) if "<" in text else []
    at = 0
    for number, found in enumerate(tags):
        if found[1] or found.start() < at:
            continue
        ends: list[re.Match[str]] = []
        for later in tags[number + 1 :]:
            if later[2] == found[2]:
                if not later[1]:
                    break
                ends.append(later)
        shape = _shape_of(text, found)
        if not ends and shape.form == "typed tag":
            continue  # a word in angle brackets
        yield Piece("typed", text[at : found.start()])
        if not ends:
            yield Piece("pasted", text[found.start() :])
            return
        yield Piece(_RANKS.get(shape.form, "inserted"), text[found.end() : ends[-1].start()], shape.name)
        at = ends[-1].end()
    yield Piece("typed", text[at:])


def _shape_of(text: str, tag: re.Match[str]) -> Shape:
    """Return the shape of a tag: the first one whose name it has, and whose beginning if that must be known."""
    return next(
        shape for shape in _named(tag[2]) if not shape.begins or re.compile(shape.begins).match(text, tag.start())
    )


@lru_cache(maxsize=256)  # a text may have thousands of tags of one name
def _named(tag: str) -> tuple[Shape, ...]:
    return tuple(shape for shape, pattern in _WRAPPERS if re.fullmatch(pattern, tag))


def _by_lines(text: str) -> Iterator[Piece]:
    """Yield the lines that hosts insert without tags, and the text around them."""
    ending = next((shape for shape, pattern in _ENDINGS if pattern.search(text, max(0, len(text) - _END))), None)
    if ending is not None:
        yield Piece(_RANKS[ending.form], text, ending.name)
        return
    if not _ANY_LINE.search(text):
        yield Piece("typed", text)
        return
    matches = sorted(
        ((found.start(), found.end(), shape) for shape, pattern in _LINES for found in pattern.finditer(text)),
        key=lambda each: (each[0], -each[1]),
    )
    rests = [start for start, _, shape in matches if shape.form == "rest"]
    at = 0
    for start, end, shape in matches:
        if start < at:
            continue
        if start > at:
            yield Piece("typed", text[at:start])
        at = end if shape.form == "line" else len(text)
        if shape.form == "document":
            at = next((rest for rest in rests if rest > start), at)
        yield Piece(_RANKS.get(shape.form, "inserted"), "" if shape.form == "line" else text[start:at], shape.name)
    if at < len(text):
        yield Piece("typed", text[at:])
