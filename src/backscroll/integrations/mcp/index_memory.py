"""The index over all sessions of a store that keeps no file for it: it lives as long as the process."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from backscroll.stores.sqlite.errors import translated_errors

_CACHE = 64_000  # kilobytes in memory; the rest goes to an unnamed temporary file


class IndexMemory:
    """Holds the index in memory. One thread at a time has the connection.

    Args:
        tables: statements that create the tables.
        disk: whether a large index may go to a temporary file. No text of an encrypted store may.
    """

    def __init__(self, tables: Sequence[str], *, disk: bool) -> None:
        self._lock = threading.Lock()
        place = "" if disk else ":memory:"
        self._connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
        self._connection.text_factory = bytes
        self._connection.execute(f"pragma cache_size = -{_CACHE}")
        for statement in tables:
            self._connection.execute(statement)
        weakref.finalize(self, self._connection.close)

    @contextmanager
    def opened(self, *, writes: bool) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction."""
        with self._lock, translated_errors("the index for searching"):
            self._connection.execute("begin immediate" if writes else "begin")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")

    def sweep(self) -> None:
        """Do nothing: what is in memory is left out of every answer once its session is gone."""
