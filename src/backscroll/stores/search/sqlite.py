"""Search over one session of an SQLite store, kept beside the database. Only keeping the index true may live here.

The store is the truth, and the index can be made from it at any time. Each file says up to which message it goes, in
the transaction that adds the passages, and holds a mark of what the store has there: an index that does not fit the
store, is damaged or of another version is thrown away and made anew, with a warning. Where none can be kept, there is
one for as long as the object lives.
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
from backscroll.stores.fork_lock import closes_for_forks
from backscroll.stores.search import passages
from backscroll.stores.search.catch_up import catch_up, text_of
from backscroll.stores.search.index import SearchIndex
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.sqlite import side_files as beside
from backscroll.stores.sqlite.side_files import Unfit, Unreachable

APPLICATION = 0x42616373  # "Bacs", in the header of a file
VERSION = 2
"""Of the tables, of what is indexed, and of how texts are cut: a file of another version is made again."""
TABLES = (
    *passages.TABLES,
    "create table reach (upto integer not null, mark blob not null, crc integer not null)",
    "insert into reach values (0, x'', 1646767221)",  # the checksum of these two
)
_MOST_TURNS = 3  # files that are begun before it is clear that none can be kept
_MARKED = 4  # records of the log that a mark is made of


class _Reach(NamedTuple):
    """How far an index goes."""

    upto: int
    mark: bytes


class SqliteSearch:
    """Ranks passages as `SearchIndex` does. Safe for threads; several processes may share a store, and its indexes.

    Raises `ConflictError` where the session was deleted since the first use.
    """

    def __init__(self, store: SqliteStore, session: str, read: Store | None = None) -> None:
        self._store, self._session = store, session
        self._read = read or store
        """The store with the layers around it, through which messages are read."""
        self._lock = threading.RLock()
        self._instead = SearchIndex()
        self._gave_up = False
        self._begin()
        closes_for_forks(self)

    def _begin(self) -> None:
        self._number: int | None = None
        """The session's own, once it is known."""
        self._file: tuple[str, int] | None = None
        """The file that was looked at last, and its turn."""
        self._fits: int | None = None
        """The turn of the file that was found to fit the store."""
        self._told = 0
        """The first `seq` that is not indexed, as it was told last."""
        self._turns = 0

    # -- the port --

    @property
    def indexed(self) -> int:
        """The first `seq` that is not indexed yet."""
        with self._lock:
            self._told = self._kept()
            return self._told

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Indexes texts; `upto` is the first `seq` behind them. What somebody else indexed meanwhile is left out."""
        with self._lock:
            told = self._told
            if self.indexed < told:  # the index that was told of is no more
                catch_up(self._read, self._session, self)
            for batch, behind in passages.batches(texts, upto):
                if self._gave_up:
                    self._instead.add(batch, behind)
                elif not self._added(batch, behind):
                    catch_up(self._read, self._session, self)

    def search(self, query: str, most: int) -> list[SearchHit]:
        """The best `most` passages, best first; newer ones first among equals. Empty for a query without a word."""
        return [hit for hit, _ in self.found(query, most)]

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """The same, each with what it is about."""
        with self._lock:
            told = self._told
            if self._fits is None and self._kept() < told:
                catch_up(self._read, self._session, self)
            while not self._gave_up:
                try:
                    upto, found = self._best(query, most)
                    if upto >= told:
                        return found
                except Unfit as error:
                    self._make_anew(error)
                except Unreachable as error:
                    self._give_up(error)
                told = 0  # once is enough: what is told of is in the store
                catch_up(self._read, self._session, self)
            return self._instead.found(query, most)

    def close(self) -> None:
        """Frees what is in memory; the next use looks anew at what is there."""
        with self._lock:
            self._instead.close()
            self._gave_up = False
            self._begin()

    def let_go(self) -> None:
        """Before a fork: nothing is kept open."""

    def forked(self) -> None:
        """Begins anew, in the child of a fork."""
        self._lock = threading.RLock()

    # -- the file --

    def _kept(self) -> int:
        """Up to where there is an index. At the first use it has to fit the store."""
        while not self._gave_up:
            try:
                path = self._look()
                if path is None:
                    return 0
                with self._open(path, writes=False) as connection:
                    reach = _reach_of(connection)
                if self._fits is None and reach.upto and self._mark(reach.upto) != reach.mark:
                    self._make_anew("it was made of something else than the store holds")
                    continue
                self._fits = self._file[1] if self._file else None
                return reach.upto
            except Unfit as error:
                self._make_anew(error)
            except Unreachable as error:
                self._give_up(error)
        return self._instead.indexed

    def _added(self, batch: list[Source], behind: int) -> bool:
        """Puts a batch into the file; False where that cannot be done, or somebody made the file anew meanwhile."""
        mark = self._mark(behind)
        try:
            path, number, last = self._look(), self._number, next((each for each in reversed(batch) if each.text), None)
            if last is not None and text_of(self._read, self._session, last.seq, last.part) != last.text:
                raise self._erased()  # whoever adds it still has what was deleted
            if number is None:
                return True
            if path is None:
                path = beside.begin(self._store.path, number, 0)
            with self._open(path, writes=True) as connection:
                reach = _reach_of(connection)
                if reach.upto >= self._told:
                    passages.insert(connection, (source for source in batch if source.seq >= reach.upto))
                    if reach.upto < behind:
                        _go_up_to(connection, _Reach(behind, mark))
        except Unfit as error:
            self._make_anew(error)
            return False
        except Unreachable as error:
            self._give_up(error)
            return False
        if self._store.number(self._session) != number:  # asked behind the commit: who deleted it before saw no file
            beside.sweep(self._store.path, self._store.numbers)
            raise self._erased()
        good = reach.upto >= self._told
        self._told = max(behind, reach.upto) if good else reach.upto
        return good

    def _best(self, query: str, most: int) -> tuple[int, list[tuple[SearchHit, str]]]:
        """What the file has, and up to where it goes."""
        path = self._look()
        if path is None:
            return 0, []
        with self._open(path, writes=False) as connection:
            return _reach_of(connection).upto, passages.best(connection, query, most)

    def _look(self) -> str | None:
        """The session's file; None where there is none yet."""
        number = self._identified()
        self._file = None if number is None else beside.newest(self._store.path, number)
        if self._file is None or self._file[1] != self._fits:
            self._fits = None
        return self._file[0] if self._file else None

    def _open(self, path: str, writes: bool) -> AbstractContextManager[sqlite3.Connection]:
        return beside.opened(path, TABLES, (APPLICATION, VERSION), writes)

    # -- whether it is true --

    def _identified(self) -> int | None:
        """The session's number; None before it begins."""
        number = self._store.number(self._session)
        if self._number is None:
            self._number = number
        elif number != self._number:
            raise self._erased()
        return number

    def _erased(self) -> ConflictError:
        return ConflictError(f"session {self._session!r} was deleted; close what has it open, and open it anew")

    def _mark(self, upto: int) -> bytes:
        """What the store has directly before the message `upto`, in short; empty where it has no such message."""
        at = self._store.find(self._session, seq=upto - 1) if upto else None
        if at is None:
            return b""
        made = sha256()
        for stored in self._store.read(self._session, max(0, at + 1 - _MARKED), at + 1):
            made.update(repr((stored.at, stored.record[:2], len(stored.record.body))).encode())
            made.update(stored.record.body)
        return made.digest()

    def _make_anew(self, why: object) -> None:
        """Begins another file in place of the one that was looked at."""
        bad, number = self._file, self._number
        self._fits, self._told = None, 0
        if bad is None or number is None or beside.newest(self._store.path, number) != bad:
            return  # somebody else did
        self._turns += 1
        if self._turns > _MOST_TURNS:
            self._give_up(why)
            return
        try:
            beside.begin(self._store.path, number, bad[1] + 1)
        except Unreachable as error:
            self._give_up(error)
        else:
            warn(
                f"the search index {bad[0]} is thrown away and made again, since {why}: nothing is lost, and there is "
                "nothing to do"
            )

    def _give_up(self, why: object) -> None:
        self._gave_up, self._told = True, 0
        warn(
            f"session {self._session!r} is indexed for searching in memory, each time again, since {why}: give the "
            "folder of the index room and the right to write"
        )


def _reach_of(connection: sqlite3.Connection) -> _Reach:
    rows = connection.execute("select upto, mark, crc from reach").fetchall()
    if len(rows) != 1 or _sum(*rows[0][:2]) != rows[0][2]:
        raise CorruptionError("what it says of itself is not what was written")
    return _Reach(*rows[0][:2])


def _go_up_to(connection: sqlite3.Connection, reach: _Reach) -> None:
    connection.execute("update reach set upto = ?, mark = ?, crc = ?", (*reach, _sum(*reach)))


def _sum(*values: object) -> int:
    return crc32(repr(values).encode())
