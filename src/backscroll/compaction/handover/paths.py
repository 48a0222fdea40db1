"""Write paths in short: relative to the folder that nearly all of them share."""

from collections import Counter
from collections.abc import Iterable

_SHARED = 0.75  # of the absolute paths: a file of another project must not lengthen all others
_PATHS = 3  # absolute paths from which a folder is their root: one that is chosen stays
_LEAST = 4  # parts of a shared folder: without `/home/user/` a path is hardly shorter
_LONGEST = 70  # characters of a path that is written whole: two thirds of a line


def root_of(paths: Iterable[str]) -> str:
    """Return the deepest folder that contains most of the absolute paths, or the one above if all are directly in it,
    with a slash at its end; empty without one. Few paths have none yet.
    """
    absolute = [path.split("/") for path in paths if path.startswith("/")]
    if len(absolute) < _PATHS:
        return ""
    folders = Counter("/".join(parts[:depth]) + "/" for parts in absolute for depth in range(_LEAST, len(parts)))
    shared = [folder for folder, times in folders.items() if times >= _SHARED * len(absolute)]
    deepest = max(shared, key=len, default="")
    above = f"{deepest[:-1].rpartition('/')[0]}/"
    return above if above in shared and len({tuple(parts[:-1]) for parts in absolute}) == 1 else deepest


def relative(text: str, root: str) -> str:
    """Return a text with paths in it relative to `root`."""
    return text.replace(root, "") if root else text


def leaf(path: str, root: str) -> str:
    """Return a path by its last two parts, which identify it within a project."""
    return "/".join(relative(path, root).split("/")[-2:])


def in_full(path: str, root: str) -> str:
    """Return a path whole, or shortened in its middle."""
    path = relative(path, root)
    if len(path) <= _LONGEST:
        return path
    parts = path.split("/")
    if len(parts) < 3:  # no folder in its middle
        return path
    return f"{parts[0]}/…/{parts[-2]}/{parts[-1]}".removeprefix("/")
