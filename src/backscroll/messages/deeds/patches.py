"""The edits in a patch, file by file: patches of `apply_patch`, unified diffs, and blocks that search and replace."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.messages.deeds.texts import bounded

BEGIN = "*** Begin Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete|Move) (?:File|to): (.{1,1000})")
_HOW = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_BEFORE = re.compile(r"--- (?:a/)?([^\t\n]{1,1000})")
_BEHIND = re.compile(r"\+\+\+ (?:b/)?([^\t\n]{1,1000})")
_NOWHERE = "/dev/null"
_SEARCH, _MIDDLE, _REPLACE = (
    re.compile(r"(?:<{3,}|-{3,}) ?SEARCH"),
    re.compile(r"={5,}"),
    re.compile(r"[>+]{3,} ?REPLACE"),
)


class FileEdit(NamedTuple):
    """What a patch does to one file."""

    path: str
    how: str
    """`created`, `edited` or `deleted`."""
    old: str
    new: str


def is_patch(text: str) -> bool:
    """Return whether a text is a patch."""
    beginning = text[:2_000].lstrip()
    return beginning.startswith((BEGIN, "diff --git ", "--- a/", "--- /dev/null\n", "*** Update File: "))


def edits_in(patch: str) -> list[FileEdit]:
    """Return the edits of a patch in order, one a file and section."""
    return [_edit(path, how, lines) for path, how, lines in _sections(patch) if path]


def _sections(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield path, kind of change and lines of each file of a patch."""
    path, how, lines = "", "", list[str]()
    before = ""
    for line in patch.split("\n"):
        if (found := _FILE.match(line)) and found.group(1) != "Move":
            yield path, how, lines
            path, how, lines = found.group(2).strip(), _HOW[found.group(1)], []
        elif found:
            path = found.group(2).strip()
        elif header := _BEFORE.fullmatch(line.rstrip()):
            before = header.group(1)
        elif before and (header := _BEHIND.fullmatch(line.rstrip())):
            yield path, how, lines
            path, how, lines = *_of_headers(before, header.group(1)), []
            before = ""
        else:
            lines.append(line)
    yield path, how, lines


def _of_headers(before: str, behind: str) -> tuple[str, str]:
    if behind == _NOWHERE:
        return before, "deleted"
    return behind, "created" if before == _NOWHERE else "edited"


def _edit(path: str, how: str, lines: list[str]) -> FileEdit:
    old = "\n".join([line[1:] for line in lines if line.startswith("-")])
    new = "\n".join([line[1:] for line in lines if line.startswith("+")])
    return FileEdit(path, how, bounded(old), bounded(new))


def replaced_in(blocks: str) -> tuple[str, str] | None:
    """Return the old and the new text of blocks that search and replace; `None` if there are none."""
    old, new = list[str](), list[str]()
    into: list[str] | None = None
    found = False
    for line in blocks.split("\n"):
        mark = line.strip()
        if _SEARCH.fullmatch(mark):
            into = old
        elif into is old and _MIDDLE.fullmatch(mark):
            into, found = new, True
        elif into is new and _REPLACE.fullmatch(mark):
            into = None
        elif into is not None:
            into.append(line)
    return (bounded("\n".join(old)), bounded("\n".join(new))) if found else None
