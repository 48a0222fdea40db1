"""What git and the shell do to many files at once: what is restored, put aside, removed, moved, or clean."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_RESET = re.compile(r"git (?:-C \S+ )?reset (?:\S+ )?--hard\b.*")
_STASH = re.compile(r"git (?:-C \S+ )?stash(?: (?:push|save)\b.*| -.*)?")
_UNSTASH = re.compile(r"git (?:-C \S+ )?stash (?:pop|apply)\b.*")
_REMOVE = re.compile(r"(?:rm -[a-zA-Z]*r[a-zA-Z]*|git worktree remove)((?: [^\s*|;&<>]+)+)")
_MOVE = re.compile(r"(?:git )?mv ([^\s*-]\S*) ([^\s*-]\S*)")
_CLEAN = re.compile(r"nothing to commit, working tree clean")
_LISTED = re.compile(
    r"^(?:[ MADRCU?!]{2} |\t(?:(?:modified|new file|deleted|renamed|copied|both modified|typechange): {1,12})?)"
    r"(?:.{1,300} -> )?(\S.{0,300})$",
    re.MULTILINE,
)
"""A path as `git status` lists it, in both of its forms."""
_STATUS = re.compile(r"git (?:-C \S+ )?status(?: (?:-[sbu]+|--short|--porcelain(?:=v1)?|--branch|-uall))*")
_LOG = re.compile(
    r"git (?:-C \S+ )?log(?: (?:--oneline|-n ?\d+|-\d+|--decorate|--no-decorate|--stat|[\w./-]+\.\.HEAD))*"
)
_HEAD = re.compile(
    r"([0-9a-f]{7,40}) (?:\(HEAD[^()\n]{0,200}\) )?(?P<short>.{1,200})|"
    r"commit ([0-9a-f]{7,40})[^\n]{0,200}\n(?:\w+: .{0,200}\n){1,4}\s{0,9}\n {4}(?P<long>.{1,200})"
)
_SWITCH = re.compile(r"\bgit (?:-C \S+ )?(?:checkout|switch|pull|merge|rebase|cherry-pick|reset|revert|am)\b")
_ROUND = 5  # lines, or a multiple: `head` may have cut such a list, and what it does not show may be changed
_SCRATCH = re.compile(r"(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm)(?:/|$)|\$|~?[^/]*/?AppData/Local/Temp/")
"""How paths of temporary folders begin, and those that a variable names, which is mostly what `mktemp` returned."""


class Sweep(NamedTuple):
    """What a step did to all files that it names."""

    how: str
    """`restored`, `stashed`, `unstashed`, `deleted` or `moved`."""
    path: str
    """A file or folder; empty for all of the repository."""
    target: str = ""


def is_scratch(path: str) -> bool:
    """Return whether a path is in a folder for temporary files."""
    return _SCRATCH.match(path) is not None


def sweeps(command: str) -> Iterator[Sweep]:
    """Yield what the steps of a command, joined by `&&`, did to many files."""
    if "git " not in command and not command.startswith(("rm ", "mv ")) and " rm " not in command:
        return
    for step in command.split(" && "):
        if _RESET.fullmatch(step):
            yield Sweep("restored", "")
        elif _UNSTASH.fullmatch(step):
            yield Sweep("unstashed", "")
        elif _STASH.fullmatch(step):
            paths = step.partition(" -- ")[2].split()
            yield from (Sweep("stashed", path) for path in paths or [""])
        elif removed := _REMOVE.fullmatch(step):
            yield from (Sweep("deleted", _plain(path)) for path in removed[1].split() if not path.startswith("-"))
        elif found := _MOVE.fullmatch(step):
            yield Sweep("moved", _plain(found[1]), _plain(found[2]))


def _plain(path: str) -> str:
    return path.strip("\"'").rstrip("/")


def is_in(path: str, place: str, folder: str) -> bool:
    """Return whether a file is a file or in a folder that a command names, as far as both paths say.

    Args:
        path: Of the file.
        place: What the command names; empty or `.` for all of its repository.
        folder: Where the command ran; empty if unknown.
    """
    whole = posixpath.normpath(f"{folder}/{place}" if folder and not place.startswith("/") else place or ".")
    if whole == ".":
        return not is_scratch(path)
    if path.startswith("/") == whole.startswith("/"):
        return path == whole or path.startswith(f"{whole}/")
    if path.startswith("/"):
        return path.endswith(f"/{whole}") or f"/{whole}/" in path
    return whole.endswith(f"/{path}") or (place in ("", ".") and not is_scratch(whole))


def covers(folder: str, path: str, root: str) -> bool:
    """Return whether the repository in which a command of git ran may hold a file.

    Args:
        folder: Where the command ran; empty if unknown.
        path: Of the file.
        root: The folder of the work, with a slash at its end; empty if unknown.
    """
    if is_scratch(folder) or is_scratch(path):
        return path.startswith(f"{folder}/") if folder else not is_scratch(path)
    if folder.startswith(".."):
        return False
    if not folder.startswith("/") or not path.startswith("/") or path.startswith(f"{folder}/"):
        return True
    return bool(root) and path.startswith(root) and f"{folder}/".startswith(root)


def unclean(command: str, shown: str) -> list[str] | None:
    """Return the paths that `git status` lists as changed; `None` if a command was nothing but that."""
    if not _STATUS.fullmatch(command):
        return None
    if _CLEAN.search(shown):
        return []
    listed = [path.strip().strip('"') for path in _LISTED.findall(shown)]
    short = re.search(r" (?:-\w*s|--short|--porcelain)", command) is not None
    lines = shown.splitlines()
    if len(lines) % _ROUND == 0 and lines:
        return None
    others = [line for line in lines if line.strip() and not line.startswith("## ")]
    return listed or ([] if short and not others else None)


def is_listed(path: str, listed: Sequence[str]) -> bool:
    """Return whether a file is one of those that `git status` lists, or in a folder that it lists."""
    return any(
        f"/{each}" in f"/{path}"
        if each.endswith("/")
        else path == each or path.endswith(f"/{each.lstrip('./')}") or each.endswith(f"/{path}")
        for each in listed
    )


def new_path(path: str, sweep: Sweep) -> str:
    """Return where a file is once it, or its folder, was moved."""
    source = sweep.path
    at = len(path) - len(source) if path.endswith(source) else path.find(f"{source}/")
    into = sweep.target if sweep.target.startswith("/") else path[: max(at, 0)] + sweep.target
    return into + path[max(at, 0) + len(source) :]


def head_of(command: str, shown: str) -> tuple[str, str] | None:
    """Return hash and subject of the newest commit that `git log` of the branch shows; `None` for anything else."""
    found = _HEAD.match(shown) if _LOG.fullmatch(command) else None
    return (found[1] or found[3], found["short"] or found["long"]) if found else None


def moves_head(command: str) -> bool:
    """Return whether a command may make another commit the newest one without making it."""
    return "git " in command and _SWITCH.search(command) is not None
