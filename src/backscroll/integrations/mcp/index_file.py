"""The file in which the index over all sessions of an SQLite store is kept, next to the database.

It is one of the store's derived files, under the number 0, which no session has. So whenever a session is deleted, the
store deletes this file too: no text of a deleted session is left in it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from backscroll.errors import StoreUnavailableError
from backscroll.notices import warn
from backscroll.stores.sqlite import SqliteStore, side_files
from backscroll.stores.sqlite.side_files import Unfit, Unreachable

APPLICATION = 0x42616D63  # "Bamc", in the header of the file
VERSION = 1
"""Version of the tables and of what is indexed. A file of another version is replaced."""
_NUMBER = 0
_MOST_TURNS = 3  # replacements before the file is given up


class IndexFile:
    """Opens the file, and replaces it where it is damaged or of another version.

    Raises `StoreUnavailableError` where no file can be kept.
    """

    def __init__(self, store: SqliteStore, tables: Sequence[str]) -> None:
        self._store, self._tables = store, tables
        self._turns = 0

    @contextmanager
    def opened(self, *, writes: bool) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction. No store may be used inside."""
        with ExitStack() as stack:
            try:
                try:
                    connection = stack.enter_context(self._file(writes))
                except Unfit as error:
                    self._replace(error)
                    connection = stack.enter_context(self._file(writes))
                yield connection
                stack.close()
            except Unfit as error:
                self._replace(error)
                raise StoreUnavailableError(f"the search index is damaged and is built again: {error}") from error
            except Unreachable as error:
                raise StoreUnavailableError(str(error)) from error

    def sweep(self) -> None:
        """Delete the file, because a session was deleted while its text was added."""
        side_files.sweep(self._store.path, self._store.numbers)

    def _file(self, writes: bool) -> AbstractContextManager[sqlite3.Connection]:
        found = side_files.newest(self._store.path, _NUMBER)
        path = self._begin(0) if found is None else found[0]
        return side_files.opened(path, self._tables, (APPLICATION, VERSION), writes)

    def _begin(self, turn: int) -> str:
        return side_files.begin(self._store.path, _NUMBER, turn)

    def _replace(self, why: object) -> None:
        found = side_files.newest(self._store.path, _NUMBER)
        self._turns += 1
        if self._turns <= _MOST_TURNS:
            self._begin(0 if found is None else found[1] + 1)
            warn(f"the search index over all sessions is built again because {why}; no data is lost")
