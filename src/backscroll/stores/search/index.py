"""Search over one session with an index that lives as long as the object.

Indexing happens at each query, for the messages added since the last one, so that adding a message costs nothing. A
small index is in memory. A large one keeps some 32 MB in memory and the rest in an unnamed temporary file of this
process.
"""

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source
from backscroll.stores.fork_lock import GATE, resets_in_child
from backscroll.stores.search import passages

MEMORY = 32_000_000  # bytes


class SearchIndex:
    """Ranks passages by BM25. Safe for threads. A forked process builds its own index.

    Args:
        memory: bytes in memory before the index goes to a temporary file. `None`: no limit, and never on disk.

    Raises:
        StoreUnavailableError: the temporary file has no room.
    """

    def __init__(self, memory: int | None = MEMORY) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._memory = memory
        self.indexed: int = 0
        """The first `seq` that is not yet indexed."""

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Index texts; `upto` is the first `seq` behind them. Texts below `indexed` are skipped.

        If the texts cannot be read to the end, whole messages are indexed, and `indexed` is the next one.
        """
        with self._lock:
            for batch, behind in passages.batches(
                texts, upto
            ):  # outside of the fork lock: the texts may come from a store
                with self._using() as connection:
                    connection.execute("begin")
                    with connection:
                        passages.insert(connection, (source for source in batch if source.seq >= self.indexed))
                    self.indexed = max(self.indexed, behind)

    def search(self, query: str, most: int) -> list[SearchHit]:
        """Return the best `most` passages, best first, then newer ones. Empty for a `query` without words."""
        return [hit for hit, _ in self.found(query, most)]

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The same, each with its context."""
        with self._lock, self._using() as connection:
            return passages.best(connection, query, most)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection. No transaction outlives it: a forked child shares the file and would roll it back."""
        from backscroll.stores.sqlite.errors import translated_errors  # noqa: PLC0415  loads the store for SQLite

        with translated_errors("the index for searching"), GATE:
            yield self._open()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            place = ":memory:" if self._memory is None else ""
            self._connection = sqlite3.connect(place, check_same_thread=False, isolation_level=None)
            self._connection.text_factory = bytes
            self._connection.execute(f"pragma cache_size = -{(self._memory or 0) // 1_000}")
            for statement in passages.TABLES:
                self._connection.execute(statement)
            weakref.finalize(self, self._connection.close)
            resets_in_child(self)
        return self._connection

    def close(self) -> None:
        """Free the index. The next use builds it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self.indexed = None, 0

    def forked(self) -> None:
        """Close the index in the child of a fork, and only there: both processes would write to one file."""
        self._lock = threading.RLock()
        self.close()
