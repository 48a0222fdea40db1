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
from collections.abc import Iterator

if sys.platform != "win32":
    import fcntl

_SIZE = 8
_TRIES = 50  # milliseconds; who holds the lock needs microseconds, unless it was stopped just there


class Guard:
    """The file beside one database. It is kept open between `raise_to` and `close`."""

    def __init__(self, database: str) -> None:
        self.path = f"{database}-commits"
        self._descriptor: int | None = None

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
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            _write(self._descriptor, commits, lower=False)
        except OSError:
            self.close()

    def lower_to(self, commits: int) -> None:
        """Forgets what is gone."""
        descriptor = self._open()
        try:
            _write(descriptor, commits, lower=True)
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


def _write(descriptor: int, commits: int, lower: bool) -> None:
    with _locked(descriptor):
        if lower or int.from_bytes(_read(descriptor), "big") < commits:
            if sys.platform == "win32":
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, commits.to_bytes(_SIZE, "big"))
            else:
                os.pwrite(descriptor, commits.to_bytes(_SIZE, "big"), 0)


def _read(descriptor: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.read(descriptor, _SIZE)
    return os.pread(descriptor, _SIZE, 0)


@contextlib.contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Keeps two processes from writing in the wrong order; going on without it would only leave a lower number."""
    if sys.platform == "win32":
        yield
        return
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:  # a file system without locks
            break
        else:
            break
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
