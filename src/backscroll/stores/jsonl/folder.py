"""A folder of sessions: which file belongs to which session, their order, and what a fork reads from its parent."""

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
_READABLE = 40  # characters of a session's name at the start of its file's name
_MOST_KNOWN = 10_000  # sessions whose indexes are cached
NAMELESS = (
    "line 1, byte 0: the line that names its session is damaged: restore the file from a backup, or "
    "delete it together with its -commits file"
)


class Segment(NamedTuple):
    """Positions of a log that one file holds."""

    log: LogFile
    first: int
    last: int
    """The position behind the last one."""
    id: str | None
    """The id of the file."""


class Listed(NamedTuple):
    """A session's file, or what is wrong with it."""

    path: str
    header: Header | None
    problem: str | None


def file_name(session: str) -> str:
    """The name of a session's file: readable, and safe for any name of a session."""
    readable = _UNSAFE.sub("-", session)[:_READABLE].strip("-")
    return f"{readable or 'session'}.{hashlib.sha256(session.encode()).hexdigest()[:20]}.jsonl"


class Folder:
    """A folder by its path. Nothing is created before the first append."""

    path: str
    timeout: float

    def __init__(self, path: str, timeout: float) -> None:
        self.path, self.timeout = path, timeout
        self._lock = threading.Lock()
        self._logs: dict[str, LogFile] = {}
        self._used = False
        """Whether this object has seen the folder."""

    def log(self, session: str) -> LogFile:
        """A session's file, whether it exists or not."""
        self.check_place()
        with self._lock:
            found = self._logs.get(session)
            if found is None:
                while len(self._logs) >= _MOST_KNOWN:
                    del self._logs[next(iter(self._logs))]
                found = self._logs[session] = LogFile(os.path.join(self.path, file_name(session)), session)
        return found

    def check_place(self) -> None:
        """Raise `StoreUnavailableError` if the folder existed before and is gone."""
        used = self._used  # before the check: another thread may create the folder in between
        if os.path.isdir(self.path):
            self._used = True
        elif used:
            raise StoreUnavailableError(
                f"{self.path}: the folder was deleted, moved or unmounted while it was in use; nothing was written. "
                "Put it back, or close the store to start a new one"
            )

    def forget(self) -> None:
        """Drop what is cached of the files."""
        with self._lock:
            self._logs, self._used = {}, False

    def forked(self) -> None:
        """Reset in the child of a fork."""
        self._lock = threading.Lock()
        self._logs = {}

    # -- forks --

    def segments(self, session: str) -> list[Segment]:
        """The files that hold the positions of a log, the newest first. Empty for an unknown session."""
        log = self.log(session)
        with log.lock:
            index = log.refresh()
            header, own = index.header, Segment(log, index.base, index.end, index.id)
        return [own, *self.past(header)] if index.commits else []

    def past(self, header: Header | None) -> list[Segment]:
        """The files that hold what a fork shares. Raises `CorruptionError` if one of them is gone."""
        found: list[Segment] = []
        while header is not None and header.parent is not None:
            log, last = self.log(header.parent), min([header.shares, *(each.first for each in found[-1:])])
            with log.lock:
                with contextlib.suppress(
                    CorruptionError
                ):  # damage behind the shared part; damage in it is raised below
                    log.refresh()
                index = log.index
            if index.end < last or index.id not in (None, header.parent_id):
                raise CorruptionError(
                    f"{log.path}: session {header.session!r} shares its first {last} records with {log.session!r}, "
                    f"whose log has {index.end} records or was replaced: restore it from a backup"
                )
            found.append(Segment(log, min(index.base, last), last, index.id))
            header = index.header
        return found

    # -- files --

    def files(self) -> list[str]:
        """Paths of the files of sessions, including those without a whole append."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return [os.path.join(self.path, name) for name in sorted(names) if _NAME.fullmatch(name)]

    def left_over(self) -> list[str]:
        """Paths of missing files that a counter still refers to."""
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return []
        wanted = sorted({name.removesuffix("-commits") for name in names if name.endswith(".jsonl-commits")} - names)
        return [os.path.join(self.path, name) for name in wanted if _NAME.fullmatch(name)]

    def listed(self) -> list[Listed]:
        """All sessions in the order of creation, then files whose session is unknown."""
        self.check_place()
        found = [listed for path in self.files() if (listed := _listed(path)) is not None]
        found += [listed for path in self.left_over() if (listed := _nameless(path)) is not None]
        return sorted(found, key=lambda each: (each.header is None, each.header.begun if each.header else 0, each.path))

    def headers(self) -> list[Header]:
        """The headers of all sessions. Raises `CorruptionError` for a file whose session is unknown."""
        headers = []
        for _, header, problem in self.listed():
            if header is None:
                raise CorruptionError(problem)
            headers.append(header)
        return headers

    def make(self) -> None:
        """Create the folder if it is missing."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
            sync(os.path.dirname(self.path))
        self.check_place()

    def sync(self) -> None:
        """Sync the folder, so that the names in it survive a power cut."""
        sync(self.path)


def sync(folder: str) -> None:
    """Sync a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _listed(path: str) -> Listed | None:
    """`None` for a file without a whole append."""
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
    """The entry of a file that is missing or names no session; `None` if nothing in it was acknowledged."""
    acknowledged = CommitCounter(path).read()
    if not acknowledged:
        return None
    what = f"{acknowledged} commits were acknowledged and the file has none: restore it, or call `accept_loss()`"
    return Listed(path, None, f"{path}: {NAMELESS if has_lines(path) else what}")


def has_lines(path: str) -> bool:
    """Whether a file exists and has a complete line."""
    try:
        with open(path, "rb") as file:
            return any(line.endswith(b"\n") and line.strip() for line in file)
    except FileNotFoundError:
        return False


def first_header(file: Iterable[bytes]) -> Header | None:
    """The header before the first whole append; remains of earlier attempts may precede it."""
    header, seed = None, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        content = line[:-1]
        found = lines.header_of(content) if lines.is_header(content) else None
        if found is not None:
            header, seed = found, lines.seed_of(found.session)
        elif header is not None and lines.is_good(content, seed):
            head = lines.head_of(content)
            if head is not None and head.commit is not None:
                return header
        if found is not None and found.commit is not None:
            return header
    return None
