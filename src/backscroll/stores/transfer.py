"""Copying sessions from one store to another, record by record, as they are. No record is read or changed here."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from backscroll.errors import ConfigurationError, ConflictError, StoreError
from backscroll.ports import Pending, Record, Stored

BATCH = 500  # records that are written at once
BATCH_BYTES = 4_000_000

Progress = Callable[[int], object]
"""Hears how many more records are written."""


class Source(Protocol):
    """What can be copied from: any store, or a file of sessions."""

    def sessions(self) -> list[str]:
        """Names of all sessions, in the order of their beginning."""
        ...

    def end(self, session: str) -> int:
        """The place behind the last record."""
        ...

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records in order."""
        ...


class Target(Protocol):
    """What can be copied to: any store, or a file of sessions."""

    def end(self, session: str) -> int:
        """The place behind the last record; 0 for a session that has not begun."""
        ...

    def append(self, session: str, first: int, records: Sequence[Record]) -> Pending:
        """Puts records at the end."""
        ...


def copy_session(
    source: Source, session: str, target: Target, name: str | None = None, *, progress: Progress | None = None
) -> int:
    """Copies a session as it is now; answers its number of records. Memory holds one batch of them at a time.

    `name`: what it is called there; None = as here. A fork is copied whole, with what it shares. Raises
    `ConfigurationError` where there is no such session, `ConflictError` where the other one has begun already. What
    fails in between leaves nothing in a target that can delete.
    """
    end, new = source.end(session), session if name is None else name
    if not end:
        raise ConfigurationError(f"there is no session {session!r} to copy; there are {_names(source.sessions())}")
    if target.end(new):
        raise ConflictError(f"session {new!r} has begun already: copy it under another name, or delete that one first")
    at = 0
    try:
        for records in _batches(source.read(session, 0, end)):
            target.append(new, at, records).result()
            at += len(records)
            if progress is not None:
                progress(len(records))
    except BaseException as error:
        _take_back(target, new, at, error)
        raise
    return at


def _take_back(target: Target, new: str, at: int, error: BaseException) -> None:
    """What was begun here goes; somebody else's session stays."""
    if not at or isinstance(error, ConflictError):
        return
    delete = getattr(target, "delete", None)
    if delete is not None and "delete" in getattr(target, "capabilities", ()):
        try:
            delete(new)
        except StoreError as failure:
            error.add_note(f"session {new!r} was copied in part, and could not be deleted: {failure}")
    else:
        error.add_note(f"session {new!r} was copied in part: its first {at} records are there")


def _batches(stored: Iterator[Stored]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for _, record in stored:
        batch.append(record)
        size += len(record.body)
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _names(sessions: Sequence[str]) -> str:
    shown = ", ".join(map(repr, sessions[:10]))
    return f"{shown} and {len(sessions) - 10} more" if len(sessions) > 10 else shown or "none"
