"""The folders in which the steps of a command run, as far as the command and its call say."""

import posixpath
import re
from collections.abc import Sequence

from backscroll.messages.deeds.arguments import Arguments, first_text
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.reading import bare
from backscroll.messages.deeds.shell import Step

_ARGUMENTS = ("workdir", "cwd", "working_directory", "workingDirectory", "working_dir", "Cwd", "dir_path")
"""Names of the argument that says where a command runs."""
_CHANGES = re.compile(r"(?:cd|pushd)\s+(?:--\s+)?(\"[^\"]*\"|'[^']*'|\S+)\s*")
_ELSEWHERE = re.compile(r"git\s+(?:-c\s+\S+\s+){0,4}-C\s+(\"[^\"]*\"|'[^']*'|\S+)")
_NOT_THERE = re.compile(r"\b(?:cd|pushd):.{0,300}(?:[Nn]o such|[Nn]ot a directory|[Pp]ermission denied)")
_BEGINNING = 400  # characters of a result in which the shell says that a folder is missing


def folder_in(arguments: Arguments) -> str:
    """Return the folder in which a call says that its command runs; empty if it says none."""
    return first_text(arguments, _ARGUMENTS)


def folders_of(steps: Sequence[Step], start: str) -> list[str]:
    """Return the folder of each step; of a relative one it is unknown to what.

    Args:
        steps: The steps of a command, in order.
        start: Where the command begins; empty if unknown.
    """
    folders: list[str] = []
    here = start
    for step in steps:
        program = bare(step.stages[0])
        if changed := _CHANGES.fullmatch(program):
            here = joined(here, changed.group(1).strip("\"'"))
        elsewhere = _ELSEWHERE.match(program)
        folders.append(joined(here, elsewhere.group(1).strip("\"'")) if elsewhere else here)
    return folders


def joined(folder: str, path: str) -> str:
    """Return a path within a folder, without `.` and `..`. What a variable or the home holds is unknown and stays."""
    if not folder or path.startswith(("/", "~", "$")):
        return posixpath.normpath(path) if path.startswith("/") or "./" in path else path
    return posixpath.normpath(f"{folder}/{path}")


def is_elsewhere(framed: Framed | None) -> bool:
    """Return whether a shell said that the folder of a command is missing, so that nothing behind `cd` ran."""
    return framed is not None and _NOT_THERE.search(framed.text[:_BEGINNING]) is not None
