"""One session's file: locking it, reading it, and writing to its end. What its lines mean is told by the index.

No file stays open between two uses, so that a fork inherits none; uses are inside `GATE`.
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

BATCH = 500  # records that are read at once
BATCH_BYTES = 4_000_000
_PART = 1 << 20  # bytes
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_Seen = tuple[int, int, int, int, int]
_sync = getattr(os, "fdatasync", os.fsync)


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """Whatever goes wrong inside is raised as one of Backscroll's errors, with the name of the file."""
    try:
        yield
    except StoreError as error:
        if isinstance(error, ConflictError) or str(error).startswith(path):
            raise
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        place, why = error.filename or path, error.strerror or str(error)
        if error.errno in _NO_ROOM:
            what = "its disk has no room, or a limit for files is reached: free some, and the same call will work"
        elif error.errno == errno.ENOENT:
            what = "it cannot be made: does the folder above exist?"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
            what = "a store is a folder of files, and this is in its way: name another folder"
        else:
            what = "look at the file, at its folder, their rights and their disk"
        raise StoreUnavailableError(f"{place}: {what}; nothing was half written ({why})") from error


@contextlib.contextmanager
def locked(descriptor: int, path: str, timeout: float) -> Iterator[None]:
    """Keeps out everybody else who asks first, in this process and in others."""
    until = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise StoreUnavailableError(
                    f"{path}: another process has kept it locked for as long as `timeout` allows: find out which one, "
                    "or allow more time; nothing was written"
                ) from None
            time.sleep(0.001)
        else:
            break
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class LogFile:
    """A session's file. `lock` is held by whoever uses the index."""

    def __init__(self, path: str, session: str) -> None:
        self.path, self.session = path, session
        self.guard = CommitCounter(path)
        self.lock = threading.Lock()
        self.index = Index(session)
        self._seen: _Seen | None = None
        """What the file was like when the index was made."""
        self._sound = False
        """Whether nothing was wrong then."""

    def refresh(self, *, sure: bool = False) -> Index:
        """The index of the file as it is now. Raises `CorruptionError` where acknowledged appends are gone.

        `sure`: also if what changed since took no bytes and no time that the system tells.
        """
        try:
            seen = _seen(os.stat(self.path))
        except FileNotFoundError:
            self.forget()
            if acknowledged := self.guard.read():
                raise CorruptionError(self.lost(acknowledged)) from None
            return self.index
        if sure or not self._sound or seen != self._seen or self.index.whole != seen[2]:
            self._look()
        return self.index

    def forget(self) -> None:
        """The next look reads the file from its beginning."""
        self.index, self._seen = Index(self.session), None

    def _look(self) -> None:
        acknowledged = self.guard.read()  # before the log, which is never behind it
        with open(self.path, "rb") as file:
            seen = _seen(os.fstat(file.fileno()))
            if not self._continues(file, seen):
                self.forget()
            scan(file, self.index, acknowledged)
        self._seen, self._sound = seen, self.index.commits >= acknowledged
        if not self._sound:
            raise CorruptionError(self.lost(acknowledged))

    def _continues(self, file: BinaryIO, seen: _Seen) -> bool:
        """Whether the file is the one that was looked at, with nothing taken away."""
        if self._seen is None or seen[:2] != self._seen[:2]:
            return False
        told, seal = self.index.told, self.index.seal
        file.seek(self.index.began)
        if file.read(len(told)) != told:  # begun again, and the system gave it the same number
            return False
        file.seek(self.index.whole - len(seal))
        return file.read(len(seal)) == seal

    def lost(self, acknowledged: int) -> str:
        """Says how many appends are gone."""
        commits = self.index.commits
        return (
            f"{self.path}: {acknowledged} commits were acknowledged, and the file holds {commits}: the last "
            f"{acknowledged - commits} are gone. Restore it together with its -commits file, or call "
            "`accept_loss()` to go on with what is left"
        )

    # -- reading --

    def load(self, id: str | None, start: int, stop: int) -> list[Stored]:
        """Some records of the file with this id from `start` on, at least one; the caller asks again for the rest.

        Raises `CorruptionError` for one that is not as it was written, `ConflictError` where the file is another one
        now.
        """
        with contextlib.suppress(CorruptionError):  # elsewhere in the file, and told when it is asked for
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
                    break  # told when it is asked for
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
        """Of a record that is not as it was written."""
        return CorruptionError(
            f"{self.path}: {self.where(start)}: session {self.session!r}: the record at place {place} is not what was "
            "written there; `verify()` lists what is wrong, and a backup is the way back"
        )

    def where(self, start: int) -> str:
        """A byte of the file in words."""
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
        """A descriptor to read and append with, while nobody else does; None where there is no file to open."""
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
                os.close(descriptor)  # deleted while it was waited for

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def write(self, descriptor: int, data: bytes, synced: bool) -> None:
        """Appends everything, or leaves the file as it is. A torn line before it stays a line of its own."""
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b" \n" + data  # the space: only its end may be missing, and the line must not become whole now
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
        """Whether there is a file, or something that was made beside it."""
        return bool(self._all())

    def remove(self) -> None:
        """Deletes everything. Cut short in between, it leaves what counts as a whole session."""
        for path in self._all():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.forget()

    def _all(self) -> list[str]:
        """The file, behind all that lies beside it: the number of its commits, and what earlier versions kept."""
        return sorted(glob.glob(f"{glob.escape(self.path)}*"), reverse=True)

    def raise_guard(self, commits: int) -> None:
        """Notes what is in the file, before it is acknowledged."""
        self.guard.raise_to(commits)
        self.guard.close()


def scan(file: BinaryIO, index: Index, acknowledged: int) -> None:
    """Feeds an index with what follows the last whole append."""
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
