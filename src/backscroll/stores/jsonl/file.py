"""One session's file: lock it, read it, append to it. `Index` parses its lines.

No file stays open between two uses, so that a fork inherits none. Uses hold `GATE`.
"""

import contextlib
import errno
import glob
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

from backscroll.errors import ConflictError, CorruptionError, StoreError, StoreUnavailableError
from backscroll.ports import Stored
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.index import Index, Span

if sys.platform != "win32":
    import fcntl

BATCH = 500  # records per read
BATCH_BYTES = 4_000_000
_PART = 1 << 20  # bytes
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_Seen = tuple[int, int, int, int, int]
_sync = getattr(os, "fdatasync", os.fsync)


@contextlib.contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Raise errors of the system as Backscroll's, with the path of the file."""
    try:
        yield
    except StoreError as error:
        if isinstance(error, ConflictError) or str(error).startswith(path):
            raise
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        place, why = error.filename or path, error.strerror or str(error)
        if error.errno in _NO_ROOM:
            what = "the disk is full, or a limit on files is reached: free some space, then repeat the call"
        elif error.errno == errno.ENOENT:
            what = "it cannot be created: check that the folder above it exists"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
            what = "a store needs a folder, and this is something else: choose another path"
        else:
            what = "check the file, its folder, their permissions and the disk"
        raise StoreUnavailableError(f"{place}: {what}; nothing was partly written ({why})") from error


@contextlib.contextmanager
def locked(descriptor: int, path: str, timeout: float) -> Iterator[None]:
    """Hold an exclusive lock on a file, against this process and others. Waits at most `timeout` seconds."""
    until = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise StoreUnavailableError(
                    f"{path}: another process kept it locked for longer than `timeout`, {timeout} s: find it, "
                    "or raise `timeout`; nothing was written"
                ) from None
            time.sleep(0.001)
        else:
            break
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class LogFile:
    """A session's file. Hold `lock` while you use the index."""

    path: str
    session: str

    def __init__(self, path: str, session: str) -> None:
        self.path, self.session = path, session
        self.guard: CommitCounter = CommitCounter(path)
        self.lock: threading.Lock = threading.Lock()
        self.index: Index = Index(session)
        self._seen: _Seen | None = None
        """Identity, size and times of the file when the index was built."""
        self._sound = False
        """Whether no acknowledged append was missing then."""

    def refresh(self, *, sure: bool = False) -> Index:
        """Return the index of the file as it is now.

        Args:
            sure: read the file even if its size and times are unchanged: a change may be too fast for these.

        Raises:
            CorruptionError: acknowledged appends are missing.
        """
        try:
            seen: _Seen | None = _seen(os.stat(self.path))
        except FileNotFoundError:
            self.forget()
            if not (acknowledged := self.guard.read()):
                return self.index
            if not os.path.exists(self.path):
                raise CorruptionError(self.lost(acknowledged)) from None
            seen = None  # another process began the session between the two looks
        if seen is None or sure or not self._sound or seen != self._seen or self.index.whole != seen[2]:
            self._look()
        return self.index

    def forget(self) -> None:
        """Drop the index. The next use reads the file from its start."""
        self.index, self._seen = Index(self.session), None

    def _look(self) -> None:
        acknowledged = self.guard.read()  # before the log, which is never behind the counter
        with open(self.path, "rb") as file:
            seen = _seen(os.fstat(file.fileno()))
            if not self._continues(file, seen):
                self.forget()
            scan(file, self.index, acknowledged)
        self._seen, self._sound = seen, self.index.commits >= acknowledged
        if not self._sound:
            raise CorruptionError(self.lost(acknowledged))

    def _continues(self, file: BinaryIO, seen: _Seen) -> bool:
        """Whether this is the file that was read before, with at most more lines."""
        if self._seen is None or seen[:2] != self._seen[:2]:
            return False
        header_line, seal = self.index.header_line, self.index.seal
        file.seek(self.index.began)
        if file.read(len(header_line)) != header_line:  # a new file may get the inode of a deleted one
            return False
        file.seek(self.index.whole - len(seal))
        return file.read(len(seal)) == seal

    def lost(self, acknowledged: int) -> str:
        """The message for missing appends."""
        commits = self.index.commits
        return (
            f"{self.path}: {acknowledged} commits were acknowledged, and the file holds {commits}: the last "
            f"{acknowledged - commits} are gone. Restore it together with its -commits file, or call "
            "`accept_loss()` to continue with what is left"
        )

    # -- reading --

    def load(self, id: str | None, start: int, stop: int) -> list[Stored]:
        """Read records from `start` on, at least one; the caller asks again for the rest.

        Args:
            id: the id of the file that the caller reads.
            start: first position.
            stop: position behind the last one.

        Raises:
            CorruptionError: the first record fails its checksum.
            ConflictError: the session has another file now.
        """
        with contextlib.suppress(CorruptionError):  # damage elsewhere; reading that place raises it
            self.refresh()
        index, got = self.index, list[Stored]()
        if index.id != id or index.end < stop:
            raise self._erased()
        stop = min(stop, start + BATCH)
        while stop > start + 1 and abs(index.start(stop)) - abs(index.start(start)) > BATCH_BYTES:
            stop = (start + stop) // 2
        first = index.start(start)
        if first < 0:
            raise self.damaged(start, -1 - first)
        part = self._part(first, abs(index.start(stop)))
        for place in range(start, stop):
            at = index.start(place)
            line = part[at - first : part.find(b"\n", at - first)] if at >= 0 else b""
            head = lines.head_of(line) if lines.is_good(line, lines.seed_of(self.session)) else None
            if head is None or head.at != place:
                if got:
                    break  # the next call raises it
                raise self.damaged(place, at if at >= 0 else -1 - at)
            got.append(Stored(place, lines.record_of(line, head)))
        return got

    def _part(self, start: int, stop: int) -> bytes:
        try:
            with open(self.path, "rb") as file:
                if self._seen is None or _seen(os.fstat(file.fileno()))[:2] != self._seen[:2]:
                    raise self._erased()
                file.seek(start)
                return file.read(stop - start)
        except FileNotFoundError:
            raise self._erased() from None

    def _erased(self) -> ConflictError:
        return ConflictError(f"session {self.session!r} was deleted while it was read")

    def damaged(self, place: int, start: int) -> CorruptionError:
        """The error for a record that fails its checksum."""
        return CorruptionError(
            f"{self.path}: {self.where(start)}: session {self.session!r}: the record at position {place} is not "
            "what was written there; `verify()` lists all damage; restore the file from a backup"
        )

    def where(self, start: int) -> str:
        """Describe a byte of the file as line and byte."""
        return f"line {self._line(start)}, byte {start}"

    def _line(self, start: int) -> int:
        number = 1
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            while start > 0 and (part := file.read(min(start, _PART))):
                number += part.count(b"\n")
                start -= len(part)
        return number

    # -- writing --

    @contextlib.contextmanager
    def opened(self, timeout: float, *, make: bool = False) -> Iterator[int | None]:
        """Yield a locked descriptor for reading and appending; `None` if there is no file and `make` is false."""
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if make else 0)
        while True:
            try:
                descriptor = os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                if make:
                    raise
                yield None
                return
            try:
                with locked(descriptor, self.path, timeout):
                    if self._is_in_place(descriptor):
                        yield descriptor
                        return
            finally:
                os.close(descriptor)  # the file was deleted while this waited for its lock

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def write(self, descriptor: int, data: bytes, synced: bool) -> None:
        """Append all data, or leave the file unchanged. A torn line before it stays a separate line."""
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b" \n" + data  # the space keeps a line that lacks only its end from becoming valid now
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if synced:
                _sync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, size)
            raise

    def is_there(self) -> bool:
        """Whether the file exists, or another one made for it."""
        return bool(self._all())

    def remove(self) -> None:
        """Delete all files of the session. An interruption leaves a complete session."""
        for path in self._all():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.forget()

    def _all(self) -> list[str]:
        """Paths in the order of deletion: the counter and files of earlier versions first, the log last."""
        return sorted(glob.glob(f"{glob.escape(self.path)}*"), reverse=True)

    def raise_guard(self, commits: int) -> None:
        """Count an append in the file before it is acknowledged."""
        self.guard.raise_to(commits)
        self.guard.close()


def scan(file: BinaryIO, index: Index, acknowledged: int) -> None:
    """Feed an index with the lines behind the last whole append."""
    _feed(file, index)
    index.settle(acknowledged)


def _feed(file: BinaryIO, index: Index) -> None:
    index.again()
    start = index.whole
    file.seek(start)
    for line in file:
        if not line.endswith(b"\n"):
            index.tail = Span(start, len(line))
            return
        index.feed(start, line[:-1])
        start += len(line)


def _seen(stat: os.stat_result) -> _Seen:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
