"""The number of acknowledged commits, in a small file next to the database.

SQLite cannot distinguish the end of its write-ahead log from damage in it: after one bad byte, it ignores everything
behind. So each commit has a number, in the database and here. It is written here after the commit and before the
acknowledgment, and never synced. A number below the database's is normal: a crash between the two. A number above it
means that acknowledged commits are lost.

Each number has its own slot among sixteen, so that a slow process overwrites no newer number and no lock is needed. The
highest one counts.
"""

import contextlib
import os
import sys

_SIZE = 8  # bytes of a number
_PLACES = 16


class CommitCounter:
    """The file next to one database. It stays open between `raise_to` and `close`."""

    def __init__(self, database: str) -> None:
        self.path: str = f"{database}-commits"
        self._descriptor: int | None = None

    def read(self) -> int:
        """Number of acknowledged commits; 0 if there is no file."""
        try:
            with open(self.path, "rb") as file:
                content = file.read(_SIZE * _PLACES)
        except FileNotFoundError:
            return 0
        numbers = [content[start : start + _SIZE] for start in range(0, len(content), _SIZE)]
        return max([int.from_bytes(number, "big") for number in numbers if len(number) == _SIZE], default=0)

    def raise_to(self, commits: int) -> None:
        """Record a commit.

        Errors are ignored: the commit is safe in the database, and a lower number is harmless.
        """
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            _write(self._descriptor, commits)
        except OSError:
            self.close()

    def lower_to(self, commits: int) -> None:
        """Replace all numbers by a lower one, after a loss was accepted."""
        descriptor = self._open()
        try:
            os.ftruncate(descriptor, 0)
            _write(descriptor, commits)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the file. The next number opens it again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def _write(descriptor: int, commits: int) -> None:
    start = commits % _PLACES * _SIZE
    if sys.platform == "win32":
        os.lseek(descriptor, start, os.SEEK_SET)
        os.write(descriptor, commits.to_bytes(_SIZE, "big"))
    else:
        os.pwrite(descriptor, commits.to_bytes(_SIZE, "big"), start)
