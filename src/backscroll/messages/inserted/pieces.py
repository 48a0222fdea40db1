"""Split a user's text into what was typed, what was pasted and what a host inserted."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from backscroll.messages.inserted.shapes import SHAPES

LONG = 4_000  # characters of distinct sentences: more is not typed at once
_READ = 262_144  # characters of a text that is read: a longer one is not typed
_SHORT = 600  # characters of a paragraph at either end of such a text that may have been typed
_MANY = 25  # distinct lines without an empty line between: such a block is pasted
_REMEMBERED = 20_000  # characters of a text that is worth caching

_WRAPPERS = tuple((shape, shape.pattern) for shape in SHAPES if shape.form.endswith("tag"))
_TAG = re.compile(rf"<(/?)({'|'.join(pattern for _, pattern in _WRAPPERS)})(?=[\s>])[^<>]*>")
_LINES = tuple(
    (shape, re.compile(rf"^[ \t]*(?:{shape.pattern})[ \t]*$", re.MULTILINE))
    for shape in SHAPES
    if not shape.form.endswith("tag")
)
_FIELD = re.compile(r"\s*<([A-Za-z][\w-]*)>(.*?)</\1>\s*", re.DOTALL)
_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\"?[ \t]{0,3}#{1,6} \S")
_QUOTED = re.compile(r"[ \t]{0,3}>")
_MACHINE = re.compile(
    r"\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\s*\[?\d{1,2}:\d\d:\d\d|"  # the time of a log
    r"\s*\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b[\]:| ]|"
    r"\s*Traceback \(most recent|\s+File \".*\", line \d+|\s+at [\w.$<>]+\(|\s*--- (?:FAIL|PASS|SKIP)|(?:FAIL|ok)\s*$|"
    r"(?:diff --git|@@ |index [0-9a-f]{6,}|\+\+\+ |--- \S+/)|[+-](?: {2,}|\t)\S|"  # a diff
    r"\s*[\w./-]+\.\w{1,5}:\d+(?::\d+)?:|\s*\$ \S|"  # a compiler or grep, a shell
    r"={3,}|-{3,}\s*$|\s*\|.*\|\s*$|\s*</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|"  # a rule, a table, markup
    r"\s*\d+[:|\t].*[(){};=]|.*(?:[)\]}\"'];|\{)\s*$|\s*[}\])]+[;,]?\s*$|\s*\"[\w-]+\": "  # code, JSON
)
_INTRODUCES = re.compile(
    r"\b(?:feedback|comments?|reviews?|errors?|output|logs?|messages?|plan|issues?|spec|says?|said|wrote|results?|"
    r"tickets?|e?mail|report|docs?|document|readme|file|text|page|transcript|trace|diff|code|snippet|items|suggestions?)\b"
    r"[^.!?]*:\s*$",
    re.IGNORECASE,
)
"""A line that announces what is pasted behind it."""
_SECTION = re.compile(r"[A-Z][\w ,'()/-]{2,60}:\s*$")
_SECTIONS = 3  # lines of that kind from which a text is a document
Rank = Literal["typed", "pasted", "inserted"]
_RANKS: dict[str, Rank] = {"typed tag": "typed", "loose tag": "pasted", "document": "pasted"}


class Piece(NamedTuple):
    """A part of a text and who is behind it."""

    rank: Rank
    text: str
    name: str = ""
    """The shape by which a host inserted it. A line that says no more than its shape has no text."""


def pieces_of(text: str) -> tuple[Piece, ...]:
    """Return a text in pieces, in order: together they are all of it but its wrappers. Of a text that is too long to be
    read the ends count as pasted.
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
            found += _by_look(piece.text) if piece.rank == "typed" else [piece]
    return tuple(piece for piece in found if piece.text.strip() or piece.name)


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
        yield Piece("typed", text[at : found.start()])
        if not ends:
            yield Piece("pasted", text[found.start() :])
            return
        yield _enclosed(text[found.end() : ends[-1].start()], found[2])
        at = ends[-1].end()
    yield Piece("typed", text[at:])


def _enclosed(text: str, tag: str) -> Piece:
    shape = next(shape for shape, pattern in _WRAPPERS if re.fullmatch(pattern, tag))
    return Piece(_RANKS.get(shape.form, "inserted"), text, shape.name)


def _by_lines(text: str) -> Iterator[Piece]:
    """Yield the lines that hosts insert without tags, and the text around them."""
    matches = sorted(
        ((found.start(), found.end(), shape) for shape, pattern in _LINES for found in pattern.finditer(text)),
        key=lambda each: (each[0], -each[1]),
    )
    at = 0
    for start, end, shape in matches:
        if start < at:
            continue
        if start > at:
            yield Piece("typed", text[at:start])
        at = end if shape.form == "line" else len(text)
        yield Piece(_RANKS.get(shape.form, "inserted"), "" if shape.form == "line" else text[start:at], shape.name)
    if at < len(text):
        yield Piece("typed", text[at:])


def _by_look(text: str) -> Iterator[Piece]:
    """Yield what a person may have typed, and what looks pasted, in runs of lines."""
    if len(text) > _SHORT and text.strip()[:1] == text.strip()[-1:] == '"':  # the argument of a command
        yield Piece("pasted", text)
        return
    lines = text.split("\n")
    pasted = _looks_pasted(lines)
    if len(text) > LONG and _distinct(lines, pasted) > LONG:
        pasted = _all_but_ends(lines, pasted)
    start = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or pasted[at] != pasted[start]:
            yield Piece("pasted" if pasted[start] else "typed", "\n".join(lines[start:at]))
            start = at


def _distinct(lines: Sequence[str], pasted: Sequence[bool]) -> int:
    """Return how many characters the different sentences have that do not look pasted."""
    left = (line for line, gone in zip(lines, pasted, strict=True) if not gone)
    return sum(map(len, {sentence for line in left for sentence in line.split(". ")}))


def _sections(lines: Sequence[str]) -> int:
    """Return where the sections of a document begin; the number of lines if it has too few."""
    found = [at for at, line in enumerate(lines) if _SECTION.match(line)]
    return found[0] if len(found) >= _SECTIONS else len(lines)


def _looks_pasted(lines: Sequence[str]) -> list[bool]:
    """Return of each line whether it looks pasted: fences, documents, quotations, and blocks of machines' lines."""
    found = [False] * len(lines)
    machines: list[int] = []
    fence, document = "", _sections(lines)
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence or mark:
            found[at] = True
            fence = "" if mark and fence and mark[1].startswith(fence) else fence or (mark[1] if mark else "")
        elif at == document or _HEADING.match(line):
            found[at:] = [True] * (len(lines) - at)
            break
        elif _QUOTED.match(line):
            found[at] = True
        elif _MACHINE.match(line):
            machines.append(at)
        elif _INTRODUCES.search(line) and any(each.strip() for each in lines[at + 1 :]):
            found[at + 1 :] = [True] * (len(lines) - at - 1)
            break
    if machines:
        end = _end_of_block(lines, machines[-1])
        found[machines[0] : end] = [True] * (end - machines[0])
    return _with_dense(lines, found)


def _with_dense(lines: Sequence[str], found: list[bool]) -> list[bool]:
    """Add blocks of more distinct lines than a person types without an empty one."""
    start = 0
    while start < len(lines):
        end = _end_of_block(lines, start)
        if len(set(lines[start:end])) > _MANY:
            found[start:end] = [True] * (end - start)
        start = end + 1
    return found


def _end_of_block(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


def _all_but_ends(lines: Sequence[str], pasted: Sequence[bool]) -> list[bool]:
    """Return the same where only the first and the last paragraph may be typed, if they are short and of one line."""
    said = [at for at, line in enumerate(lines) if line.strip()]
    typed = {at for at in (said[0], said[-1]) if _is_alone(lines, at) and len(lines[at]) <= _SHORT}
    return [gone or at not in typed for at, gone in enumerate(pasted)]


def _is_alone(lines: Sequence[str], at: int) -> bool:
    return not any(lines[near].strip() for near in (at - 1, at + 1) if 0 <= near < len(lines))
