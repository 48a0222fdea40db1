"""Search over one session of an SQLite store, with an index file next to the database.

The store is the truth, and the index is derived from it. Each index file records how far it goes, in the transaction
that adds the passages, and a fingerprint of the store at that message. An index that does not match the store, is
damaged or has another version is replaced, with a warning. If no file can be kept, the index is in memory.
"""

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

from backscroll.errors import ConflictError, CorruptionError
from backscroll.notices import warn
from backscroll.ports import Store
from backscroll.recall.pages import SearchHit
from backscroll.recall.retrieval import Source
from backscroll.stores.fork_lock import resets_in_child
from backscroll.stores.search import passages
from backscroll.stores.search.catch_up import catch_up, text_of
from backscroll.stores.search.index import SearchIndex
from backscroll.stores.sqlite import SqliteStore, side_files
from backscroll.stores.sqlite.side_files import Unfit, Unreachable

APPLICATION = 0x42616373  # "Bacs", in the header of a file
VERSION = 3
"""Version of the tables, of what is indexed and of how texts are cut. A file of another version is replaced."""
TABLES = (
    *passages.TABLES,
    "create table reach (upto integer not null, mark blob not null, crc integer not null)",
    "insert into reach values (0, x'', 1646767221)",  # the checksum of these two
)
_MOST_TURNS = 3  # replacements before the index moves to memory
_MARKED = 4  # records of the log in a fingerprint


class _Reach(NamedTuple):
    """How far an index goes, with the fingerprint of the store there."""

    upto: int
    mark: bytes


class SqliteSearch:
    """Ranks passages as `SearchIndex` does. Safe for threads. Several processes may share a store and its indexes.

    Raises `ConflictError` if the session was deleted since the first use.
    """

    def __init__(self, store: SqliteStore, session: str, read: Store | None = None) -> None:
        self._store, self._session = store, session
        self._read = read or store
        """The store with the layers around it, through which messages are read."""
        self._lock = threading.RLock()
        self._instead = SearchIndex()
        self._gave_up = False
        self._begin()
        resets_in_child(self)

    def _begin(self) -> None:
        self._number: int | None = None
        """The session's number in the database; `None` until it is known."""
        self._file: tuple[str, int] | None = None
        """The file that was found last, and its turn."""
        self._fits: int | None = None
        """The turn of the file that was found to match the store."""
        self._reported = 0
        """The first `seq` that is not yet indexed, as the caller was informed last."""
        self._turns = 0

    # -- the port --

    @property
    def indexed(self) -> int:
        """The first `seq` that is not yet indexed."""
        with self._lock:
            self._reported = self._kept()
            return self._reported

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Index texts; `upto` is the first `seq` behind them. Skips what others indexed meanwhile."""
        with self._lock:
            reported = self._reported
            if self.indexed < reported:  # the index that the caller knows was replaced
                catch_up(self._read, self._session, self)
            for batch, behind in passages.batches(texts, upto):
                if self._gave_up:
                    self._instead.add(batch, behind)
                elif not self._added(batch, behind):
                    catch_up(self._read, self._session, self)

    def search(self, query: str, most: int) -> list[SearchHit]:
        """Return the best `most` passages, best first, then newer ones. Empty for a `query` without words."""
        return [hit for hit, _ in self.found(query, most)]

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The same, each with its context."""
        with self._lock:
            reported = self._reported
            if self._fits is None and self._kept() < reported:
                catch_up(self._read, self._session, self)
            while not self._gave_up:
                try:
                    upto, found = self._best(query, most)
                    if upto >= reported:
                        return found
                except Unfit as error:
                    self._replace_file(error)
                except Unreachable as error:
                    self._give_up(error)
                reported = 0  # once is enough: the store has all that was reported
                catch_up(self._read, self._session, self)
            return self._instead.found(query, most)

    def close(self) -> None:
        """Free the index in memory. The next use looks for the file again."""
        with self._lock:
            self._instead.close()
            self._gave_up = False
            self._begin()

    def forked(self) -> None:
        """Replace the lock in the child of a fork. No connection stays open between two uses."""
        self._lock = threading.RLock()

    # -- the file --

    def _kept(self) -> int:
        """How far the index goes. At the first use it must match the store."""
        while not self._gave_up:
            try:
                path = self._look()
                if path is None:
                    return 0
                with self._open(path, writes=False) as connection:
                    reach = _reach_of(connection)
                if self._fits is None and reach.upto and self._mark(reach.upto) != reach.mark:
                    self._replace_file("it does not match the store")
                    continue
                self._fits = self._file[1] if self._file else None
                return reach.upto
            except Unfit as error:
                self._replace_file(error)
            except Unreachable as error:
                self._give_up(error)
        return self._instead.indexed

    def _added(self, batch: list[Source], behind: int) -> bool:
        """Add a batch to the file; `False` if that fails, or if another process replaced the file meanwhile."""
        mark = self._mark(behind)
        try:
            path, number, last = self._look(), self._number, next((each for each in reversed(batch) if each.text), None)
            if last is not None and text_of(self._read, self._session, last.seq, last.part) != last.text:
                raise self._erased()  # the caller still has messages of the deleted session
            if number is None:
                return True
            if path is None:
                path = side_files.begin(self._store.path, number, 0)
            with self._open(path, writes=True) as connection:
                reach = _reach_of(connection)
                if reach.upto >= self._reported:
                    passages.insert(connection, (source for source in batch if source.seq >= reach.upto))
                    if reach.upto < behind:
                        _go_up_to(connection, _Reach(behind, mark))
        except Unfit as error:
            self._replace_file(error)
            return False
        except Unreachable as error:
            self._give_up(error)
            return False
        if self._store.number(self._session) != number:  # asked after the commit: an earlier deletion saw no file
            side_files.sweep(self._store.path, self._store.numbers)
            raise self._erased()
        good = reach.upto >= self._reported
        self._reported = max(behind, reach.upto) if good else reach.upto
        return good

    def _best(self, query: str, most: int) -> tuple[int, list[tuple[SearchHit, str]]]:
        """The best passages of the file, and how far it goes."""
        path = self._look()
        if path is None:
            return 0, []
        with self._open(path, writes=False) as connection:
            return _reach_of(connection).upto, passages.best(connection, query, most)

    def _look(self) -> str | None:
        """The session's file; `None` if it has none yet."""
        number = self._identified()
        self._file = None if number is None else side_files.newest(self._store.path, number)
        if self._file is None or self._file[1] != self._fits:
            self._fits = None
        return self._file[0] if self._file else None

    def _open(self, path: str, writes: bool) -> AbstractContextManager[sqlite3.Connection]:
        return side_files.opened(path, TABLES, (APPLICATION, VERSION), writes)

    # -- validity --

    def _identified(self) -> int | None:
        """The session's number; `None` before it exists. Raises `ConflictError` if it changed."""
        number = self._store.number(self._session)
        if self._number is None:
            self._number = number
        elif number != self._number:
            raise self._erased()
        return number

    def _erased(self) -> ConflictError:
        return ConflictError(f"session {self._session!r} was deleted: close the objects that use it, and open it again")

    def _mark(self, upto: int) -> bytes:
        """Fingerprint of the records directly before the message `upto`; empty if the store has no such message."""
        at = self._store.find(self._session, seq=upto - 1) if upto else None
        if at is None:
            return b""
        made = sha256()
        for stored in self._store.read(self._session, max(0, at + 1 - _MARKED), at + 1):
            made.update(repr((stored.position, stored.record[:2], len(stored.record.body))).encode())
            made.update(stored.record.body)
        return made.digest()

    def _replace_file(self, why: object) -> None:
        """Start another file in place of the one that was found last."""
        bad, number = self._file, self._number
        self._fits, self._reported = None, 0
        if bad is None or number is None or side_files.newest(self._store.path, number) != bad:
            return  # another process did
        self._turns += 1
        if self._turns > _MOST_TURNS:
            self._give_up(why)
            return
        try:
            side_files.begin(self._store.path, number, bad[1] + 1)
        except Unreachable as error:
            self._give_up(error)
        else:
            warn(
                f"the search index {bad[0]} is built again because {why}; no data is lost and you need not do anything"
            )

    def _give_up(self, why: object) -> None:
        self._gave_up, self._reported = True, 0
        warn(
            f"the search index of session {self._session!r} is built in memory, for each process again, because {why}: "
            "make its folder writable and free space there"
        )


def _reach_of(connection: sqlite3.Connection) -> _Reach:
    rows = connection.execute("select upto, mark, crc from reach").fetchall()
    if len(rows) != 1 or _sum(*rows[0][:2]) != rows[0][2]:
        raise CorruptionError("its row of `reach` fails its checksum")
    return _Reach(*rows[0][:2])


def _go_up_to(connection: sqlite3.Connection, reach: _Reach) -> None:
    connection.execute("update reach set upto = ?, mark = ?, crc = ?", (*reach, _sum(*reach)))


def _sum(*values: object) -> int:
    return crc32(repr(values).encode())
