"""Write what a look-up showed, where that is short or can be said in short."""

import re
from collections import Counter

from backscroll.compaction.handover.beginnings import DOCUMENT, NOTHING, is_for_agents, is_prose
from backscroll.compaction.handover.paths import in_full, leaf, relative
from backscroll.messages.deeds import Deed
from backscroll.messages.deeds.names import names_in
from backscroll.messages.prose import cut, short

_SHORT = 700  # characters of an answer that is shown whole: a setting, a version, a few hits
_WHAT = 110  # characters of what was looked for
_RULES, _TEXT = 950, 540  # characters of a document: of one that instructs agents, and of any other
_READ = 20_000  # characters of a document whose outline is read
_NAMES = 10  # names that a file defines
_FILES = 7  # files with hits
_HIT = re.compile(r"([\w./@+-]+\.\w+)([:-])\d+\2")
_FILE = re.compile(r"(?:[\w.@+~-]*/)*[\w@+~.-]+\.\w+|(?:[\w.@+~-]+/)+")
"""A line that is a path and nothing else."""
_LISTED = re.compile(r"[dl-][rwxsStT-]{9}[.@+]? .*?\d{1,2}:?\d{2} (\S+)(?: -> .*)?")
"""A line of `ls -l`: the name behind the date."""
_COUNT = re.compile(r"(?:found \d[\d,]* |total \d).*", re.IGNORECASE)
"""A line that only counts those below it."""
_SAYS_LITTLE = re.compile(r"\d+[:-]|diff --git|@@|[\W_]+$")
"""How a line begins that says nothing of those below it: the number of a hit, a sign of a diff."""
_MISUSED = re.compile(r"(?:error|usage): |.*: command not found$", re.IGNORECASE)
"""How a program answers a command that it does not understand: that says nothing of what was looked for."""
_ONE_BY_ONE = 3  # names in a row that are shown as they came: with more, paths take most of a line
_NONE = re.compile(
    r"no (?:matches|files|results|output)\b|found 0|not found|nothing found|0 (?:matches|results)|"
    r".*: no such file or directory$",
    re.IGNORECASE,
)


def seen(deed: Deed, root: str) -> str:
    """Return what a look-up showed, as a line; empty if that needs the text itself.

    Args:
        deed: A look-up.
        root: The folder to which paths are relative.
    """
    text = deed.text.strip()
    if deed.failed:
        return ""
    if deed.path:
        return _of_file(deed, text, root)
    what = relative(deed.what, root) + (
        f" in {relative(deed.key, root)}" if deed.key and deed.outcome != "running" else ""
    )
    first = text.partition("\n")[0]
    if deed.outcome == "nothing found" or _NONE.match(first):
        return f"{NOTHING}{cut(what, _WHAT)}"
    if not text or deed.outcome == "running" or _MISUSED.match(first):
        return ""
    lines = [line.strip() for line in relative(text[:_READ], root).split("\n") if line.strip()]
    if names := _names(lines, root):
        return f"`{cut(what, _WHAT)}` -> {names}"
    together = " ⏎ ".join(" ".join(line.split()) for line in _without_paths(lines))
    if len(together) <= _SHORT:
        return f"`{cut(what, _WHAT)}` -> {together}"
    return f"`{cut(what, _WHAT)}` -> {_hits(lines, root)}"


def _of_file(deed: Deed, text: str, root: str) -> str:
    if not text:
        return ""
    path = in_full(deed.path, root)
    if is_prose(path):
        room = _RULES if is_for_agents(path) else _TEXT
        return f"{DOCUMENT}{path}: {short(text[:_READ], room, document=True)}"
    names = names_in(text)
    more = ", …" if len(names) > _NAMES else ""
    return f"{path} defines {', '.join(names[:_NAMES])}{more}" if names else ""


def _names(lines: list[str], root: str) -> str:
    """Return the first names of a listing, with their number; empty if it is none, or a short one."""
    lines = lines[1:] if _COUNT.fullmatch(lines[0]) else lines
    listed = [found[1] for line in lines if (found := _LISTED.fullmatch(line))]
    names = [name for name in listed if name.strip(".")] if listed else [leaf(line, root) for line in lines]
    whole = len(listed) == len(lines) if listed else all(_FILE.fullmatch(line) for line in lines)
    if not whole or len(names) <= _ONE_BY_ONE:
        return ""
    return f"{len(names)} entries: {', '.join(names[:_FILES])}" + (", …" if len(names) > _FILES else "")


def _without_paths(lines: list[str]) -> list[str]:
    """Return hits with their file where it is not that of the line before."""
    shown: list[str] = []
    before = ""
    for line in lines:
        found = _HIT.match(line)
        shown.append(line[found.end(1) :] if found and found[1] == before else line)
        before = found[1] if found else ""
    return shown


def _hits(lines: list[str], root: str) -> str:
    """Return the files of many hits, or the number of lines and the first one, if that says what they are."""
    files = Counter(leaf(found[1], root) for line in lines if (found := _HIT.match(line)) and found[2] == ":")
    if not files:
        lines = lines[1:] if _COUNT.fullmatch(lines[0]) and len(lines) > 1 else lines
        first = "" if _SAYS_LITTLE.match(lines[0]) else f", first: {cut(lines[0], _WHAT)}"
        return f"{len(lines)} lines{first}"
    shown = [f"{file} x{times}" if times > 1 else file for file, times in files.items()]
    return ", ".join(shown[:_FILES]) + (", …" if len(shown) > _FILES else "")
