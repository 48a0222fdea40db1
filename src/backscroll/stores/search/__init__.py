"""From a store to the search over it: over one of its sessions, and over all of them. How texts are ranked is not known
here.

- `passages.py`     what an index of texts holds, and how it is asked
- `catch_up.py`  indexing what is stored and not in an index yet
- `index.py`        an index that lives as long as the object
- `sqlite.py`       one that is kept beside an SQLite store
- `postgres.py`     one in the tables of a PostgreSQL store
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
from backscroll.stores.search.sqlite import SqliteSearch
from backscroll.stores.sqlite import SqliteStore

POSTGRES = "backscroll.stores.postgres.store"
"""By name, as the search over it: both need an extra, and are loaded by those only who have such a store."""
_LEAST_EACH = 8
_MOST_EACH = 4_000
_MOST_POOLED = 20_000  # passages of some 800 characters


class Index(Search, Protocol):
    """A search that also tells by what it found something, and that can be closed."""

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The best passages, each with what it is about."""
        ...

    def close(self) -> None:
        """Frees it."""
        ...


def search_for(store: Store, session: str) -> Index:
    """The search over one session. Nothing is touched before its first use.

    That of an SQLite store is kept beside the database, that of a PostgreSQL store in it, also where large bodies are
    elsewhere; for any other store it lives as long as the object, and of a store that is `encrypted` no text goes to a
    disk.
    """
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
    """The best `most` passages of several sessions, or of all, best first; newer sessions first among equals. A passage
    that several sessions have is given once, of the newest.

    First indexes what is stored and not indexed yet, which reads all of it where nothing is. A session that cannot be
    read is left out with a warning, one that is deleted meanwhile without. Raises the store's error where it
    cannot even tell its sessions. `progress` is called with 1 after each session.
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
    """The best passages of several sessions, ranked together: how rare a word is in one says little of the others."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, SearchHit, str]] = {}
        """By their texts."""

    def put(self, session: str, found: Iterable[tuple[SearchHit, str]], query: str) -> None:
        """Takes in what was found in one more session."""
        for hit, about in reversed(list(found)):
            self._found.pop(hit.text, None)
            self._found[hit.text] = (session, hit, about)
        if len(self._found) > _MOST_POOLED:
            kept = self.best(query, _MOST_POOLED // 4)
            texts = {hit.text for _, hit in kept}
            self._found = {text: found for text, found in self._found.items() if text in texts}

    def best(self, query: str, most: int) -> list[tuple[str, SearchHit]]:
        """The best of them."""
        pooled, index = list(self._found.values()), SearchIndex(None)  # small, and maybe not for a disk
        try:
            texts = (Source(number, 0, about, hit.text) for number, (_, hit, about) in enumerate(pooled))
            index.add(texts, len(pooled))
            ranked = [hit.seq for hit in index.search(query, most)]
            known = set(ranked)  # the rest was found by what it is about, where that is not told
            rest = (number for number in reversed(range(len(pooled))) if number not in known)
            return [pooled[number][:2] for number in islice(chain(ranked, rest), most)]
        finally:
            index.close()
