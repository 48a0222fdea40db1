"""Search over one session's messages for as long as the object lives. Only where its index is kept is decided here.

Indexing happens at the first query and then for what came since, so that adding a message costs nothing. A small index
is in memory. Of a large one some 32 MB are, and the rest is in a temporary file without a name, of this process alone.
"""

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source
from backscroll.stores.fork_lock import GATE, closes_for_forks
from backscroll.stores.search import passages
from backscroll.stores.sqlite.errors import told

MEMORY = 32_000_000  # bytes


class SearchIndex:
    """Ranks passages by BM25. Safe to use from several threads; a forked process indexes anew.

    `memory`: bytes that it may take before it goes to a temporary file; None = any number, and never to a disk. Raises
    `StoreUnavailableError` where that file has no room.
    """

    def __init__(self, memory: int | None = MEMORY) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._memory = memory
        self.indexed = 0
        """The first `seq` that is not indexed yet."""

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Indexes texts; `upto` is the first `seq` behind them. Those below `indexed` are left out.

        Where they cannot be read to their end, some may be indexed, up to the end of a message; `indexed` says so.
        """
        with self._lock:
            for batch, behind in passages.batches(texts, upto):  # outside the gate: they may come from a store
                with self._using() as connection:
                    connection.execute("begin")
                    with connection:
                        passages.insert(connection, (source for source in batch if source.seq >= self.indexed))
                    self.indexed = max(self.indexed, behind)

    def search(self, query: str, most: int) -> list[SearchHit]:
        """The best `most` passages, best first; newer ones first among equals. Empty for a query without a word."""
        return [hit for hit, _ in self.found(query, most)]

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The same, each with what it is about."""
        with self._lock, self._using() as connection:
            return passages.best(connection, query, most)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Outside of it there is no transaction: a process that forks shares the file, and would roll it back."""
        with told("the index for searching"), GATE:
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
            closes_for_forks(self)
        return self._connection

    def close(self) -> None:
        """Frees the index; the next use would build it anew."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self.indexed = None, 0

    def let_go(self) -> None:
        """Before a fork nothing needs to be closed: only the child forgets what it shares with its parent."""

    def forked(self) -> None:
        """Begins anew, in the child of a fork: both would write to one file."""
        self._lock = threading.RLock()
        self.close()
