"""Steps of a command that move files, or that put files back to what was committed."""

import posixpath
import re
import shlex

from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import Ending

_MOVES = re.compile(r"(?:git\s+(?:-C\s+\S+\s+)?)?mv\s+(?P<rest>[^|;&<>]+)")
_RESTORES = re.compile(r"git\s+(?:-C\s+\S+\s+)?(?:checkout\s+(?:\S+\s+)?--\s+|restore\s+)(?P<rest>[^|;&<>]+)")
_NAMED = re.compile(r"[\w./~@+ -]*\.\w{1,10}")
"""A file, by its ending. A folder or a pattern is no file."""
_MOST = 12  # files of one step


def moved_files(program: str, ending: Ending) -> list[Deed]:
    """Return the files that a step moves, each with its old path as the key; none if it moves folders or nothing."""
    found = _MOVES.fullmatch(program)
    words = _words(found["rest"]) if found else []
    if len(words) < 2 or not all(map(_NAMED.fullmatch, words[:-1])):
        return []
    *sources, target = words
    into = len(sources) > 1 or target.endswith("/") or not _NAMED.fullmatch(target)
    return [
        _deed("moved", f"{target.rstrip('/')}/{posixpath.basename(source)}" if into else target, ending, source)
        for source in sources[:_MOST]
    ]


def restored_files(program: str, ending: Ending) -> list[Deed]:
    """Return the files that a step of git puts back; `.` is all below its folder. None if it puts back nothing."""
    found = _RESTORES.fullmatch(program)
    if found is None or ("--staged" in program and "--worktree" not in program) or " -p" in program:
        return []
    return [_deed("restored", word, ending) for word in _words(found["rest"])[:_MOST] if "=" not in word]


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    return [word for word in words if not word.startswith("-")]


def _deed(how: str, path: str, ending: Ending, source: str = "") -> Deed:
    return Deed("edit", how, path, failed=ending.failed, outcome=ending.outcome if ending.failed else "", key=source)
