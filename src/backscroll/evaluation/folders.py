"""Which files of a folder may hold transcripts. Nothing is read here."""

import os
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".json", ".jsonl", ".traj")
"""What is looked at in a folder; a file that is named is read whatever its suffix."""


def files(folder: Path) -> Iterator[Path]:
    """Those with a known suffix, at any depth, by name; hidden folders inside are left out."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(where, name)
            # a pipe or device would be waited for without end
            if path.suffix in SUFFIXES and path.is_file():
                yield path
