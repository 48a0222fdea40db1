"""Delete what was imported with less redaction, so that it is imported as it must be."""

import re
from collections.abc import Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from backscroll.cli.redaction.redaction import Redaction
from backscroll.errors import BackscrollError, StoreUnavailableError
from backscroll.integrations.mcp.catching_up import Progress
from backscroll.integrations.mcp.facts import REDACTION, unredacted
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.notices import warn
from backscroll.ports import Store

_AT_ONCE = 64
"""Threads that delete. A store may rewrite all of itself for a deletion, once for all that wait."""
_SIDE = re.compile(r"/side-[0-9]+$")


def delete_unredacted(
    store: Store, index: StoreIndex, logs: Collection[str], redaction: Redaction
) -> Generator[Progress, None, dict[str, list[str]]]:
    """Delete the sessions of these logs that lack a part of this redaction, and yield how far this is.

    Sessions whose log is gone stay: nothing could bring them back. So do those that were imported with a pattern that
    is not at hand. A rewind would not do, for it keeps what it hides.

    Returns:
        The marks that each of them had, for the next import.
    """
    stale: dict[str, list[str]] = {}
    if not redaction.marks:
        return stale
    names = set(logs)
    those = [name for name in store.sessions() if name in names or _SIDE.sub("", name) in names]
    for done, name in enumerate(those):
        yield Progress("A look at what is imported", done, len(those))
        known = index.catch_up(name)
        if known is None or not known.facts.client:
            continue
        marks = known.facts.imported.get(REDACTION, [])
        if unredacted(known.facts.imported, redaction.marks) and redaction.with_marks(marks) is not None:
            stale[name] = marks
    if stale:
        yield from _deleting(store, list(stale))
        index.refresh()
    return stale


def _deleting(store: Store, names: Sequence[str]) -> Iterator[Progress]:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        waiting = [(name, threads.submit(store.delete, name)) for name in names]
        for done, (name, deletion) in enumerate(waiting):
            yield Progress("A deletion of what was imported with less redaction", done, len(waiting))
            try:
                deletion.result()
            except StoreUnavailableError:
                raise
            except BackscrollError as error:  # it has forks, or is damaged
                warn(f"session {name!r}, imported with less redaction, is hidden and not deleted: {error}")
