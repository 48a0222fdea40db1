"""The structure of texts that consist of lines: what kind of lines they are, and under which headings.

A heading is a line without which others say less: a table's header, the file and the hunk of a diff, the folder of a
listing, the file above matches, the element around XML, the entry of a log that a stack trace belongs to.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

TABLE, CSV, COLUMNS, DIFF, LOG, GREP, LISTING, TREE, MARKUP = (
    "table", "csv", "columns", "diff", "log", "grep", "listing", "tree", "markup",
)  # fmt: skip
NOUNS = {TABLE: "rows", CSV: "rows", COLUMNS: "rows", GREP: "matches", LISTING: "entries", TREE: "entries"}
"""What lines of a kind are called when they are counted; others are lines."""
_SAMPLE = 200  # lines by which a kind is recognized
_FEWEST = 5  # lines below which a text has no kind
_MOST = 0.8  # share of these that must look like the kind
_SEPARATOR = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?")
_COLUMN = re.compile(r"[A-Za-z_][\w .()%/:-]{0,39}")
_HUNK = re.compile(r"@@ -\d")
_FILE = re.compile(r"diff --git |Index: |--- (?:a/|/)|\*\*\* (?:Add|Update|Delete) File: ")
_TIME = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d)|"
    r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b"
)
_MATCH = re.compile(r"[\w./@+~-]*[./][\w./@+~-]*[:-]\d+[:-]")
_NUMBERED = re.compile(r"\s*\d+[:-]")
_PATH = re.compile(r"(?:[\w.@+~-]+/)*[\w.@+~ -]+\.?[\w/]*:?")
_NAMED = re.compile(r"[\w@+~-]*[./][\w./@+~ -]*:?")
_FOLDER = re.compile(r"[\w./@+~-]*[./][\w./@+~-]*:")
_ENTRY = re.compile(r"[dlcbps-][rwxsStT-]{9}[+@.]?\s")
_BRANCH = re.compile(r"[ │|]*(?:├──|└──|\|--|`--)\s?")
_TAG = re.compile(r"\s*<[/!?A-Za-z]")
_OPENING = re.compile(r"\s*<[A-Za-z][^>]*[^/]>\s*$|\s*<[A-Za-z][^>]*$")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9 _()%/-]*?(?:\s{2,}[A-Z][A-Z0-9 _()%/-]*)+\s*")
_VARIES = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F-]{8,}\b|\d+|\"[^\"]*\"|'[^']*'|(?<=[=/])[\w./:@-]+")


class Outline(NamedTuple):
    """The kind of a text, and the heading of each of its lines."""

    kind: str
    headings: Sequence[int]
    """For each line the number of its heading; -1 without one."""


def outline(lines: Sequence[str]) -> Outline | None:
    """Return what these lines, in order, are; None if nothing is known of them."""
    some = [line for line in lines[:_SAMPLE] if line and not line.isspace()]
    if len(some) < _FEWEST:
        return None
    for kind, looks in _KINDS:
        if looks(some):
            return Outline(kind, _HEADINGS.get(kind, _first_line)(lines))
    return None


def template(line: str) -> str:
    """Return a line of a log without what varies: times, numbers, ids, values."""
    return _VARIES.sub("#", line)


def _share(some: Sequence[str], pattern: re.Pattern[str]) -> float:
    return len(list(filter(None, map(pattern.match, some)))) / len(some)


def _is_table(some: Sequence[str]) -> bool:
    rows = sum(line.lstrip().startswith("|") for line in some)
    return rows >= _MOST * len(some) and any(_SEPARATOR.fullmatch(line.rstrip()) for line in some[:5])


def _is_csv(some: Sequence[str]) -> bool:
    for comma in "\t,;|":
        counts = [line.count(comma) for line in some]
        usual = counts[0]
        if usual >= (1 if comma == "\t" else 2) and counts.count(usual) >= _MOST * len(counts):
            names = [name.strip(' "') for name in some[0].split(comma)]
            return all(map(_COLUMN.fullmatch, names))
    return False


def _is_columns(some: Sequence[str]) -> bool:
    return _CAPITALS.fullmatch(some[0]) is not None and sum("  " in line for line in some) >= _MOST * len(some)


def _is_diff(some: Sequence[str]) -> bool:
    return any(map(_HUNK.match, some)) and sum(line[0] in "+- @" for line in some) >= len(some) / 2


def _is_log(some: Sequence[str]) -> bool:
    return _share(some, _TIME) >= 1 / 2


def _is_grep(some: Sequence[str]) -> bool:
    if _share(some, _MATCH) >= _MOST:
        return True
    under = sum(_NUMBERED.match(line) is not None for line in some)
    paths = sum(_NUMBERED.match(line) is None and _NAMED.fullmatch(line) is not None for line in some)
    return paths > 0 and under > 0 and under + paths >= len(some) * 0.95


def _is_listing(some: Sequence[str]) -> bool:
    found = sum(
        _ENTRY.match(line) is not None or ("/" in line and _PATH.fullmatch(line.strip()) is not None) for line in some
    )
    return found >= _MOST * len(some) or (
        any(map(_FOLDER.fullmatch, some)) and all(_PATH.fullmatch(line.strip()) for line in some)
    )


def _is_tree(some: Sequence[str]) -> bool:
    return _share(some, _BRANCH) >= _MOST


def _is_markup(some: Sequence[str]) -> bool:
    return _TAG.match(some[0]) is not None and _share(some, _TAG) >= _MOST


def _first_line(lines: Sequence[str]) -> list[int]:
    """The header of a table."""
    return [-1, *([0] * (len(lines) - 1))]


def _under(lines: Sequence[str], is_heading: Callable[[str], bool]) -> list[int]:
    """Each line is under the last heading before it."""
    found, last = [], -1
    for number, line in enumerate(lines):
        last = number if (heads := is_heading(line)) else last
        found.append(-1 if heads else last)
    return found


def _of_diff(lines: Sequence[str]) -> list[int]:
    found, file, hunk = [], -1, -1
    for number, line in enumerate(lines):
        if _HUNK.match(line):
            found.append(file)
            hunk = number
        elif _FILE.match(line):
            known = line.startswith("---") and file >= 0 and hunk < file  # `diff --git` named it before
            found.append(file if known else -1)
            file, hunk = (file if known else number), -1
        else:
            found.append(hunk if hunk >= 0 else file)
    return found


def _of_log(lines: Sequence[str]) -> list[int]:
    return _under(lines, lambda line: _TIME.match(line) is not None)


def _of_grep(lines: Sequence[str]) -> list[int]:
    return _under(lines, lambda line: _NUMBERED.match(line) is None and _NAMED.fullmatch(line) is not None)


def _of_listing(lines: Sequence[str]) -> list[int]:
    return _under(lines, lambda line: _FOLDER.fullmatch(line.rstrip()) is not None)


def _by_depth(lines: Sequence[str], depth: Callable[[str], int], heads: Callable[[str], bool]) -> list[int]:
    """Each line is under the last one before it that is less deep and may have others under it."""
    found: list[int] = []
    around: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        deep = depth(line)
        while around and around[-1][0] >= deep:
            around.pop()
        found.append(around[-1][1] if around else -1)
        if heads(line):
            around.append((deep, number))
    return found


def _of_tree(lines: Sequence[str]) -> list[int]:
    return _by_depth(lines, lambda line: found.end() if (found := _BRANCH.match(line)) else 0, lambda _: True)


def _of_markup(lines: Sequence[str]) -> list[int]:
    return _by_depth(lines, lambda line: len(line) - len(line.lstrip()), lambda line: _OPENING.match(line) is not None)


_KINDS = (
    (DIFF, _is_diff), (TABLE, _is_table), (TREE, _is_tree), (GREP, _is_grep), (LOG, _is_log), (LISTING, _is_listing),
    (COLUMNS, _is_columns), (CSV, _is_csv), (MARKUP, _is_markup),
)  # fmt: skip
"""In the order in which they are tried: what is recognized by more comes first."""
_HEADINGS = {
    DIFF: _of_diff, LOG: _of_log, GREP: _of_grep, LISTING: _of_listing, TREE: _of_tree, MARKUP: _of_markup,
}  # fmt: skip
