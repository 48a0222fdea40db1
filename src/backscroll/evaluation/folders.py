"""Finds the files of a folder that may hold transcripts."""

import os
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".json", ".jsonl", ".traj")
"""Suffixes that are read in folders; a named file is read with any suffix."""


def files(folder: Path) -> Iterator[Path]:
    """Yield files with a known suffix, at any depth, by name, except in hidden folders."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(where, name)
            # reading a pipe or device could block for ever
            if path.suffix in SUFFIXES and path.is_file():
                yield path
