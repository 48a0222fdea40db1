"""Shorten what a user typed: word for word where it fits, with pasted blocks named."""

import re
from collections.abc import Sequence

from backscroll.messages.prose.lines import READ, cut, first_line
from backscroll.messages.prose.selection import MARK
from backscroll.messages.prose.shortening import short

_PASTED = 400  # characters of a fenced block that is named even where it fits; a shorter one is part of what is asked
_LEAST = 40  # characters in which a paragraph still says something
_BEGINNING = 60  # characters by which what is left out is named
_NAMED = 60 + _BEGINNING  # characters of such a line at most
_LETTERS = 0.5  # of the characters of a typed paragraph; logs, tables and code have more digits and signs
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MACHINE = re.compile(
    r"\s*(?:at [\w.$<>]+\(|File \"|Traceback |\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d|[|│├└>$+]|[\w./-]+:\d+)"
)
"""The beginning of a line that a program wrote."""


def user_words(text: str, room: int) -> str:
    """Return what a user typed in at most `room` characters: word for word if it fits, else the paragraphs that look
    typed, first and last one first. A long block in a fence is named with its size and beginning, and so is what is
    left out.
    """
    if len(text) > 2 * READ:  # the middle is too long to be typed, so it is named
        paragraphs = [*_paragraphs(text[:READ]), text[READ:-READ], *_paragraphs(text[-READ:])]
    else:
        paragraphs = _paragraphs(text)
    whole = "\n\n".join(paragraphs)
    if len(whole) <= room:
        return whole
    kept = _kept(paragraphs, room)
    found = _printed(paragraphs, kept) if kept else short(whole, room)
    return cut(whole, room) if found.startswith(MARK) else found  # its first words are how its user knows it again


def _paragraphs(text: str) -> list[str]:
    """Return a text in paragraphs, with long blocks in fences named."""
    paragraphs: list[list[str]] = [[]]
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            paragraphs[-1].append(line)
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
                paragraphs.append([])
        elif mark:
            fence = mark[1]
            paragraphs.append([line])
        elif line.strip():
            paragraphs[-1].append(line.rstrip())
        else:
            paragraphs.append([])
    written = ["\n".join(lines).strip("\n") for lines in paragraphs if any(map(str.strip, lines))]
    return [_named_if_long(paragraph) for paragraph in written]


def _named_if_long(paragraph: str) -> str:
    if len(paragraph) < _PASTED or not _FENCE.match(paragraph):
        return paragraph
    lines = paragraph.split("\n")
    begins = cut(first_line("\n".join(lines[1:])), _BEGINNING)
    return f"(pasted block, {len(lines):,} lines, begins “{begins}”)"


def _kept(paragraphs: Sequence[str], room: int) -> dict[int, str]:
    """Return the paragraphs that are kept, by position: whole first, then in their beginnings. Each pays for the lines
    that name the gaps it makes.
    """
    last = len(paragraphs) - 1
    order = [0, last, *range(1, last)] if last > 0 else [0]
    kept: dict[int, str] = {}
    left = room - (_NAMED + 1)
    for is_whole in (True, False):
        for position in order:
            if position in kept or left < _LEAST or not (position == 0 or _looks_typed(paragraphs[position])):
                continue
            text = paragraphs[position]
            gaps = sum(0 <= near <= last and near not in kept for near in (position - 1, position + 1)) - 1
            most = left - 1 - gaps * (_NAMED + 1)
            if len(text) > (min(most, room // 2) if is_whole else most):
                text = "" if is_whole else short(text, max(0, min(most, room // 2)))
            if text:
                kept[position] = text
                left = most - len(text)
    return kept


def _looks_typed(paragraph: str) -> bool:
    """Return whether a person may have typed a paragraph: mostly letters, and no line of a program first."""
    if len(paragraph) > READ or _MACHINE.match(paragraph):
        return False
    signs = "".join(paragraph.split())
    return sum(map(str.isalpha, signs)) >= _LETTERS * len(signs)


def _printed(paragraphs: Sequence[str], kept: dict[int, str]) -> str:
    printed: list[str] = []
    gap: list[str] = []
    for position, paragraph in enumerate(paragraphs):
        if position not in kept:
            gap.append(paragraph)
            continue
        printed += [*_gap(gap), kept[position]]
        gap = []
    return "\n".join([*printed, *_gap(gap)])


def _gap(left_out: Sequence[str]) -> list[str]:
    """Return a line that names what is left out, or that itself if it is no longer."""
    if not left_out:
        return []
    size = sum(map(len, left_out))
    named = f"(left out here: {size:,} characters, begins “{cut(first_line(left_out[0]), _BEGINNING)}”)"
    return [named] if size + len(left_out) > len(named) else list(left_out)
