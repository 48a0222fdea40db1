"""Index what is stored and not yet indexed, from the store alone."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from backscroll.errors import ConflictError, CorruptionError
from backscroll.history.history import Entry, History
from backscroll.history.journal import Journal
from backscroll.history.loading import fetch
from backscroll.ports import Ask, Operation, Store
from backscroll.recall import retrieval as recall

T = TypeVar("T")


def catch_up(
    store: Store, session: str, search: recall.Indexed, seen: Callable[[Sequence[Entry]], None] | None = None
) -> None:
    """Index the messages of a session that are not yet indexed, some hundreds at a time.

    Args:
        store: the store that has the session.
        session: its name.
        search: the index.
        seen: called with messages before their texts are added. Also with some that are indexed already, whose calls
            later results may answer.

    Raises:
        CorruptionError: a message cannot be read.
        ConflictError: the session was deleted meanwhile.
    """
    upto = _behind(store, session, search.indexed)
    try:
        _run(recall.index(search, upto, _loading(store, session, seen)))
    except CorruptionError:
        if store.find(session, seq=upto - 1) is None:
            raise ConflictError(f"session {session!r} was deleted while it was read") from None
        raise


def text_of(store: Store, session: str, seq: int, part: int) -> str | None:
    """The text of a part of a message, as it is indexed; `None` if the session has no such message or part."""
    if store.find(session, seq=seq) is None:
        return None
    (entry,) = _run(_loading(store, session)([seq]))
    parts = entry.reading.parts
    return parts[part].readable if part < len(parts) else None


def _loading(
    store: Store, session: str, seen: Callable[[Sequence[Entry]], None] | None = None
) -> Callable[[Sequence[int]], Operation[list[Entry]]]:
    journal, nothing = Journal(store, session), History()

    def load(seqs: Sequence[int]) -> Operation[list[Entry]]:
        entries = yield from fetch(nothing, journal, seqs)
        if seen is not None:
            seen(entries)
        return entries

    return load


def _behind(store: Store, session: str, known: int) -> int:
    """The `seq` of the session's next message, at least `known`. `seq`s have no gaps."""
    low, step = known, 1
    while store.find(session, seq=low + step - 1) is not None:
        low, step = low + step, 2 * step
    high = low + step - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if store.find(session, seq=middle) is not None else (low, middle)
    return low


def _run(operation: Operation[T]) -> T:
    """Run an operation whose effects need no waiting."""
    answer = None
    try:
        while True:
            question = operation.send(answer)
            assert isinstance(question, Ask)
            answer = question.function(*question.arguments)
    except StopIteration as stop:
        result: T = stop.value
        return result
