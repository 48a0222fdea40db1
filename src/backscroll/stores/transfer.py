"""Copy sessions from one store to another, record by record. Records are copied unread and unchanged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from backscroll.errors import ConfigurationError, ConflictError, StoreError
from backscroll.ports import Pending, Record, Stored

BATCH = 500  # records per append
BATCH_BYTES = 4_000_000

Progress = Callable[[int], object]
"""Called with the number of records that were just written."""


class Source(Protocol):
    """What sessions can be copied from: any store, or an exported file."""

    def sessions(self) -> list[str]:
        """Names of all sessions, in the order of creation."""
        ...

    def length(self, session: str) -> int:
        """Number of records in the log."""
        ...

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records in order."""
        ...


class Target(Protocol):
    """What sessions can be copied to: any store, or an exported file."""

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        ...

    def append(self, session: str, expected_position: int, records: Sequence[Record]) -> Pending:
        """Append records at the end."""
        ...


def copy_session(
    source: Source, session: str, target: Target, name: str | None = None, *, progress: Progress | None = None
) -> int:
    """Copy a session as of now, and return its number of records. Memory holds one batch at a time.

    A fork is copied with the records it shares. If copying fails, the incomplete copy is deleted where the target can
    delete.

    Args:
        source: the store to read from.
        session: the session's name there.
        target: the store to write to.
        name: the session's name in `target`. `None`: the same name.
        progress: called with the number of records after each batch.

    Raises:
        ConfigurationError: `source` has no such session.
        ConflictError: the session exists already in `target`.
    """
    end, new = source.length(session), session if name is None else name
    if not end:
        raise ConfigurationError(f"`session` {session!r} does not exist; choose one of {_names(source.sessions())}")
    if target.length(new):
        raise ConflictError(
            f"session {new!r} exists already in the target: pass another `name`, or delete that session first"
        )
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
    """Delete the incomplete copy, but never a session that another writer created."""
    if not at or isinstance(error, ConflictError):
        return
    delete = getattr(target, "delete", None)
    if delete is not None and "delete" in getattr(target, "capabilities", ()):
        try:
            delete(new)
        except StoreError as failure:
            error.add_note(f"session {new!r} was copied in part and could not be deleted ({failure}): delete it")
    else:
        error.add_note(f"session {new!r} was copied in part: only its first {at} records are in the target")


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
