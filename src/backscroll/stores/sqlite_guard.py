"""The number of acknowledged commits, in a file of eight bytes beside the database. Nothing else may live here.

SQLite cannot tell the end of its write-ahead log from a damaged place in it: one bad byte, and everything behind it is
taken for never written. So each commit has a number, in the database and here. Here it is written after the commit and
before the acknowledgement, and never synced: a number lower than the database's is a crash between the two, and normal.
A higher one means that acknowledged commits are gone.
"""

import contextlib
import os
import sys
import time

if sys.platform != "win32":
    import fcntl

_SIZE = 8
_TRIES = 50  # milliseconds; who holds the lock needs microseconds, unless it was stopped just there


class Guard:
    """The file beside one database. Without state, so that a fork or another process changes nothing."""

    def __init__(self, database: str) -> None:
        self.path = f"{database}-commits"

    def read(self) -> int:
        """Commits that were acknowledged; 0 where nothing is known."""
        try:
            with open(self.path, "rb") as file:
                told = file.read(_SIZE)
        except FileNotFoundError:
            return 0
        return int.from_bytes(told, "big") if len(told) == _SIZE else 0

    def raise_to(self, commits: int) -> None:
        """Notes a commit. Never lowers the number, since another process may have come first.

        A failure is no reason to call a commit failed that is safely in the database: the number stays lower.
        """
        with contextlib.suppress(OSError):
            self._write(commits, lower=False)

    def lower_to(self, commits: int) -> None:
        """Forgets what is gone."""
        self._write(commits, lower=True)

    def _write(self, commits: int, lower: bool) -> None:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _lock(descriptor)
            if lower or int.from_bytes(os.read(descriptor, _SIZE), "big") < commits:
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, commits.to_bytes(_SIZE, "big"))
        finally:
            os.close(descriptor)  # and with it the lock


def _lock(descriptor: int) -> None:
    """Keeps two processes from writing in the wrong order; going on without it would only leave a lower number."""
    if sys.platform != "win32":
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.001)
            else:
                break
