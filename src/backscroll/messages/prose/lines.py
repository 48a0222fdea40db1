"""Take one line of a text: its first one that says something, or the beginning that fits; and take its marks off."""

import re

READ = 20_000
"""Characters that are read at either end of a longer text. What leads a text and what ends it is there; reports of
recorded sessions have at most 14,000. More only costs time.
"""
FIRST_LINE = 90  # characters: a heading or the beginning of a sentence; 40 cut sentences in half, 160 fill two rows
_MARKUP = "#*>-=`~_|\"' \t"
BULLET = re.compile(r"\s*(?:[-*•+]|\(?\d{1,3}[.)]|[✓✅❌✗☐☑])\s+")
_MARKS = re.compile(
    r"(?<![^\s(\[\"'>|-])\*{2,}(?=[^\s/*.])|(?<=[^\s/*])\*{2,}(?![^\s.,:;!?)\]\"'|-])",
)
"""Marks of emphasis at the beginning and the end of words, but neither `2**10` nor `src/**/*.py`."""
_SHORTEST = 4  # characters: less is a bracket or a number


def first_line(text: str) -> str:
    """Return the first line that says something, without its markup, of at most 90 characters; of a text without one
    its beginning.
    """
    for line in text[:READ].splitlines():
        bare = line.strip().strip(_MARKUP)
        if len(bare) >= _SHORTEST and not bare.startswith("<"):
            return cut(bare, FIRST_LINE)
    return cut(text[:READ].strip(), FIRST_LINE)  # tags, or a few signs: what there is


def cut(text: str, room: int) -> str:
    """Return a text as one line of at most `room` characters, with "…" at the end of one that goes on."""
    line = " ".join(text.split())
    if len(line) <= room:
        return line
    return line[: room - 1].rstrip() + "…" if room > 0 else ""


def tidy(line: str) -> str:
    """Return a line without marks of emphasis, its white space as single spaces."""
    return " ".join(_MARKS.sub("", line).split())
