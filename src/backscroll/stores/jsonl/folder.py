"""A folder of sessions: which file is whose, in which order they began, and what a fork reads from its parent."""

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Iterable
from typing import NamedTuple

from backscroll.errors import CorruptionError, StoreUnavailableError
from backscroll.stores.commit_counter import CommitCounter
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.file import LogFile
from backscroll.stores.jsonl.lines import Header

_NAME = re.compile(r"[A-Za-z0-9_-]*\.[0-9a-f]{20}\.jsonl")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_READABLE = 40  # characters of a session's name that its file's name begins with
_MOST_KNOWN = 10_000  # sessions whose indices are remembered
NAMELESS = (
    "line 1, byte 0: the line that names its session is not what was written: restore the file from a backup, or "
    "delete it together with its -commits file"
)


class Segment(NamedTuple):
    """Places of a log that stand in one file."""

    log: LogFile
    first: int
    last: int
    """Behind the last of them."""
    id: str | None
    """Of the file."""


class Listed(NamedTuple):
    """A session's file, or what is wrong with one."""

    path: str
    header: Header | None
    problem: str | None


def file_name(session: str) -> str:
    """What a session's file is called: readable, and safe whatever the session is called."""
    readable = _UNSAFE.sub("-", session)[:_READABLE].strip("-")
    return f"{readable or 'session'}.{hashlib.sha256(session.encode()).hexdigest()[:20]}.jsonl"


class Folder:
    """A folder by its name. Nothing is made before something is written."""

    def __init__(self, path: str, timeout: float) -> None:
        self.path, self.timeout = path, timeout
        self._lock = threading.Lock()
        self._logs: dict[str, LogFile] = {}
        self._used = False
        """Whether the folder was there while this object was in use."""

    def log(self, session: str) -> LogFile:
        """A session's file, whether it is there or not."""
        self.check_place()
        with self._lock:
            found = self._logs.get(session)
            if found is None:
                while len(self._logs) >= _MOST_KNOWN:
                    del self._logs[next(iter(self._logs))]
                found = self._logs[session] = LogFile(os.path.join(self.path, file_name(session)), session)
        return found

    def check_place(self) -> None:
        """Raises `StoreUnavailableError` where the folder is gone that was there before."""
        used = self._used  # before the look: another thread may make the folder between the two
        if os.path.isdir(self.path):
            self._used = True
        elif used:
            raise StoreUnavailableError(
                f"{self.path}: the folder is gone: it was deleted, moved or unmounted while it was in use; nothing was "
                "written. Put it back, or close the store to begin a new one"
            )

    def forget(self) -> None:
        """Drops what is known of the files."""
        with self._lock:
            self._logs, self._used = {}, False

    def forked(self) -> None:
        """Begins anew, in the child of a fork."""
        self._lock = threading.Lock()
        self._logs = {}

    # -- forks --

    def segments(self, session: str) -> list[Segment]:
        """Where the places of a log stand, the newest first. Empty for a session that has not begun."""
        log = self.log(session)
        with log.lock:
            index = log.refresh()
            header, own = index.header, Segment(log, index.base, index.end, index.id)
        return [own, *self.past(header)] if index.commits else []

    def past(self, header: Header | None) -> list[Segment]:
        """Where the places stand that a fork shares. Raises `CorruptionError` where they are not there any more."""
        found: list[Segment] = []
        while header is not None and header.parent is not None:
            log, last = self.log(header.parent), min([header.shares, *(each.first for each in found[-1:])])
            with log.lock:
                with contextlib.suppress(CorruptionError):  # behind what is shared, or told here
                    log.refresh()
                index = log.index
            if index.end < last or index.id not in (None, header.parent_id):
                raise CorruptionError(
                    f"{log.path}: session {header.session!r} shares its first {last} records with {log.session!r}, "
                    f"whose log ends before place {index.end} or is another one now: restore it from a backup"
                )
            found.append(Segment(log, min(index.base, last), last, index.id))
            header = index.header
        return found

    # -- files --

    def files(self) -> list[str]:
        """Paths of the files of sessions, begun or not."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return [os.path.join(self.path, name) for name in sorted(names) if _NAME.fullmatch(name)]

    def left_over(self) -> list[str]:
        """Paths of files that should be there: there is something beside them that counts what they hold."""
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return []
        wanted = sorted({name.removesuffix("-commits") for name in names if name.endswith(".jsonl-commits")} - names)
        return [os.path.join(self.path, name) for name in wanted if _NAME.fullmatch(name)]

    def listed(self) -> list[Listed]:
        """Every session that has begun, in the order of their beginning; then files that cannot tell whose they are."""
        self.check_place()
        found = [listed for path in self.files() if (listed := _listed(path)) is not None]
        found += [listed for path in self.left_over() if (listed := _nameless(path)) is not None]
        return sorted(found, key=lambda each: (each.header is None, each.header.begun if each.header else 0, each.path))

    def headers(self) -> list[Header]:
        """The same. Raises `CorruptionError` for a file that cannot tell whose it is."""
        headers = []
        for _, header, problem in self.listed():
            if header is None:
                raise CorruptionError(problem)
            headers.append(header)
        return headers

    def make(self) -> None:
        """Make the folder if it is not there."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
            sync(os.path.dirname(self.path))
        self.check_place()

    def sync(self) -> None:
        """The names in the folder would survive a power cut from here on."""
        sync(self.path)


def sync(folder: str) -> None:
    """Has the system write a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _listed(path: str) -> Listed | None:
    """None for a file whose first append is not whole."""
    try:
        with open(path, "rb") as file:
            header = first_header(file)
    except FileNotFoundError:  # deleted meanwhile
        return None
    except StoreUnavailableError as error:
        raise StoreUnavailableError(f"{path}: {error}") from error
    if header is None:
        return _nameless(path)
    if file_name(header.session) == os.path.basename(path):
        return Listed(path, header, None)
    what = f"it is a copy of the file of the session {header.session!r}: move it elsewhere"
    return Listed(path, None, f"{path}: {what}")


def _nameless(path: str) -> Listed | None:
    """What is to be said of a file that tells of no session, or is not there; None where nobody ever relied on it."""
    acknowledged = CommitCounter(path).read()
    if not acknowledged:
        return None
    what = f"{acknowledged} commits were acknowledged, and the file holds none: restore it, or call `accept_loss()`"
    return Listed(path, None, f"{path}: {NAMELESS if has_lines(path) else what}")


def has_lines(path: str) -> bool:
    """Whether anything in a file, if it is there, could be a line."""
    try:
        with open(path, "rb") as file:
            return any(line.endswith(b"\n") and line.strip() for line in file)
    except FileNotFoundError:
        return False


def first_header(file: Iterable[bytes]) -> Header | None:
    """The header that the first whole append follows; before it may stand what a crash left of beginnings."""
    header, seed = None, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        told = line[:-1]
        found = lines.header_of(told) if lines.is_header(told) else None
        if found is not None:
            header, seed = found, lines.seed_of(found.session)
        elif header is not None and lines.is_good(told, seed):
            head = lines.head_of(told)
            if head is not None and head.commit is not None:
                return header
        if found is not None and found.commit is not None:
            return header
    return None
