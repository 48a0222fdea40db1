"""The number of acknowledged commits, in a small file beside the database. Nothing else may live here.

SQLite cannot tell the end of its write-ahead log from a damaged place in it: one bad byte, and everything behind it is
taken for never written. So each commit has a number, in the database and here. Here it is written after the commit and
before the acknowledgement, and never synced: a number lower than the database's is a crash between the two, and normal.
A higher one means that acknowledged commits are gone.

Each number has a place of its own among sixteen, so that a process that is late overwrites nothing that is newer: no
lock is needed. The highest one counts.
"""

import contextlib
import os
import sys

_SIZE = 8  # bytes of a number
_PLACES = 16


class CommitCounter:
    """The file beside one database. It is kept open between `raise_to` and `close`."""

    def __init__(self, database: str) -> None:
        self.path = f"{database}-commits"
        self._descriptor: int | None = None

    def read(self) -> int:
        """Commits that were acknowledged; 0 where nothing is known."""
        try:
            with open(self.path, "rb") as file:
                told = file.read(_SIZE * _PLACES)
        except FileNotFoundError:
            return 0
        numbers = [told[start : start + _SIZE] for start in range(0, len(told), _SIZE)]
        return max([int.from_bytes(number, "big") for number in numbers if len(number) == _SIZE], default=0)

    def raise_to(self, commits: int) -> None:
        """Notes a commit.

        A failure is no reason to call a commit failed that is safely in the database: the number stays lower.
        """
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            _write(self._descriptor, commits)
        except OSError:
            self.close()

    def lower_to(self, commits: int) -> None:
        """Forgets what is gone."""
        descriptor = self._open()
        try:
            os.ftruncate(descriptor, 0)
            _write(descriptor, commits)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """The next number opens the file anew."""
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
