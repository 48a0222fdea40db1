"""Full-text search over one session of a store, and over all of them.

- `passages.py`: the index of passages in FTS5, and queries
- `catch_up.py`: index what is stored and not yet indexed
- `index.py`: an index that lives as long as the object
- `sqlite.py`: an index kept next to an SQLite store
- `postgres.py`: an index in the tables of a PostgreSQL store
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain, islice
from typing import Any, Protocol

from backscroll.errors import ConflictError, StoreError
from backscroll.notices import warn
from backscroll.ports import Store
from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Search, Source
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.search.catch_up import catch_up
from backscroll.stores.search.index import MEMORY, SearchIndex

POSTGRES = "backscroll.stores.postgres.store"
"""By name, like the search over it: both need an extra, and only users of such a store load them."""
_LEAST_EACH = 8
_MOST_EACH = 4_000
_MOST_POOLED = 20_000  # passages of some 800 characters


class Index(Search, Protocol):
    """A search that also returns the context of each passage, and that can be closed."""

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """Return the best passages, each with its context: the call that a result answers."""
        ...

    def close(self) -> None:
        """Free the index."""
        ...


def search_for(store: Store, session: str) -> Index:
    """Return the search over one session. Opens nothing before its first use.

    The index of an SQLite store is kept next to the database, that of a PostgreSQL store in it, also if large bodies
    are in a blob store. For any other store it lives as long as the object. No text of an `encrypted` store goes to a
    disk.
    """
    from backscroll.stores.search.sqlite import SqliteSearch  # noqa: PLC0415  sessions in memory need neither
    from backscroll.stores.sqlite import SqliteStore  # noqa: PLC0415

    place = store.inner if isinstance(store, OffloadingStore) else store
    if isinstance(place, SqliteStore):
        return SqliteSearch(place, session, store)
    if type(place).__module__ == POSTGRES:
        shared: Any = place
        made: Index = import_module(f"{__name__}.postgres").PostgresSearch(shared.server, session)
        return made
    return SearchIndex(None if "encrypted" in store.capabilities else MEMORY)


def search_everywhere(
    store: Store,
    query: str,
    most: int,
    sessions: Iterable[str] | None = None,
    progress: Callable[[int], Any] | None = None,
) -> list[tuple[str, SearchHit]]:
    """Return the best passages of several sessions, best first; newer sessions first among equals.

    A passage that several sessions have is returned once, of the newest. First indexes what is not yet indexed, which
    may read the whole store. A session that cannot be read is skipped with a warning.

    Args:
        store: the store to search.
        query: words to search for.
        most: maximum number of passages.
        sessions: names of the sessions. `None`: all.
        progress: called with 1 after each session.

    Raises:
        StoreError: the store cannot list its sessions.
    """
    names = list(dict.fromkeys(store.sessions() if sessions is None else sessions))
    each = max(_LEAST_EACH, min(most, _MOST_EACH // max(1, len(names))))
    pool = _Pool()
    for name in names:
        search = search_for(store, name)
        try:
            catch_up(store, name, search)
            pool.put(name, search.found(query, each), query)
        except ConflictError:
            continue
        except StoreError as error:
            warn(f"session {name!r} is not searched: {error}")
        finally:
            search.close()
            if progress is not None:
                progress(1)
    return pool.best(query, most)


class _Pool:
    """The best passages of several sessions, ranked together: word frequencies differ by session."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, SearchHit, str]] = {}
        """By their texts."""

    def put(self, session: str, found: Iterable[tuple[SearchHit, str]], query: str) -> None:
        """Add what was found in one more session."""
        for hit, context in reversed(list(found)):
            self._found.pop(hit.text, None)
            self._found[hit.text] = (session, hit, context)
        if len(self._found) > _MOST_POOLED:
            kept = self.best(query, _MOST_POOLED // 4)
            texts = {hit.text for _, hit in kept}
            self._found = {text: found for text, found in self._found.items() if text in texts}

    def best(self, query: str, most: int) -> list[tuple[str, SearchHit]]:
        """Return the best of all."""
        pooled, index = list(self._found.values()), SearchIndex(None)  # small, and possibly from an encrypted store
        try:
            texts = (Source(number, 0, context, hit.text) for number, (_, hit, context) in enumerate(pooled))
            index.add(texts, len(pooled))
            ranked = [hit.seq for hit in index.search(query, most)]
            known = set(ranked)  # the rest matched by its context only, which some indexes do not return
            rest = (number for number in reversed(range(len(pooled))) if number not in known)
            return [pooled[number][:2] for number in islice(chain(ranked, rest), most)]
        finally:
            index.close()
