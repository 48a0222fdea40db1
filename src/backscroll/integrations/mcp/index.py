"""One search index over all sessions of a store, and what is known of each.

The index that the store keeps for each session answers for one session. To open a thousand of them takes two seconds
for every query, and this one takes some milliseconds. It is derived from the store and can be deleted at any time.
"""

import sqlite3
from collections.abc import Collection, Iterable
from typing import NamedTuple

from backscroll.errors import ConfigurationError, ConflictError, StoreError, StoreUnavailableError
from backscroll.integrations.mcp.facts import SessionFacts
from backscroll.integrations.mcp.index_file import IndexFile
from backscroll.integrations.mcp.index_memory import IndexMemory
from backscroll.integrations.mcp.indexed_session import ALL, IndexedSession
from backscroll.integrations.mcp.session_texts import SEQS, SessionTexts
from backscroll.notices import warn
from backscroll.ports import Store, Tip
from backscroll.recall.pages import SearchHit
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.names import INTERNAL
from backscroll.stores.search import passages
from backscroll.stores.search.catch_up import catch_up
from backscroll.stores.sqlite import SqliteStore

TABLES = (
    *passages.TABLES,
    "create table session (id integer primary key, name text not null, incarnation text not null, "
    "records integer not null, upto integer not null, facts text not null, unique (name, incarnation))",
    "create table message (id integer primary key, role text not null, time text not null)",
)


_AMONG = (
    "exists (select 1 from shown join message on message.id = shown.seq "
    "where shown.id = passage.rowid and shown.seq >> 32 in chosen"
)


class FoundPassage(NamedTuple):
    """A passage that a search found."""

    session: str
    hit: SearchHit
    context: str
    role: str
    time: str


class StoreIndex:
    """Indexes the sessions of a store and searches them. Safe for threads: one may index while others search."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, IndexedSession] = {}
        self._order: dict[str, int] = {}
        """The place of each session in the order of creation, as far as it was read."""
        self._reached = False
        """Whether the place of the index could be written to."""
        self.unreadable: dict[str, tuple[Tip, str]] = {}
        """Sessions that could not be read, each with the end of its log by then and the reason."""
        place = store.inner if isinstance(store, OffloadingStore) else store
        memory = IndexMemory(TABLES, disk=False) if "encrypted" in store.capabilities else None
        self._place: IndexFile | IndexMemory
        if isinstance(place, SqliteStore):
            self._place = memory or IndexFile(place, TABLES)
        else:
            self._place = memory or IndexMemory(TABLES, disk=True)

    def sessions(self) -> list[IndexedSession]:
        """Return the indexed sessions that the store still has, in the order of creation.

        They are those of the last `refresh` and what was added since. The store is not asked for its sessions, which
        may have to read a file for each.
        """
        known = list(self._known.values())  # at once: another thread may add to it
        found = [each for each in known if self._store.tip(each.name).incarnation == each.incarnation]
        return sorted(found, key=lambda each: self._order.get(each.name, len(self._order)))

    def behind(self) -> list[str]:
        """Return the names of the sessions that are not indexed to their end, the newest first."""
        self.refresh()
        names = list(self._order)
        self.unreadable = {name: self.unreadable[name] for name in names if name in self.unreadable}
        return [name for name in reversed(names) if not self._is_current(name)]

    def catch_up(self, name: str) -> IndexedSession | None:
        """Index what a session got since the last time. Returns `None` if it does not exist.

        A session that cannot be read is left out, with a warning.
        """
        if self._is_current(name):
            return self._known.get(name)
        tip = self._store.tip(name)
        if tip.incarnation is None:
            return None
        known = self._known.get(name)
        if known is None or known.incarnation != tip.incarnation:
            known = IndexedSession(
                id=0, name=name, incarnation=tip.incarnation, records=0, messages=0, facts=SessionFacts()
            )
        texts = SessionTexts(self._place, known)
        try:
            catch_up(self._store, name, texts, texts.seen)
            texts.finish(tip.end)
        except ConflictError:
            return None  # deleted meanwhile; the next look finds out
        except StoreUnavailableError:
            raise
        except (StoreError, ConfigurationError) as error:  # the latter: a key is missing
            warn(f"session {name!r} is not searched: {error}")
            self.leave_out(name, error)
            return None
        if self._store.tip(name).incarnation != tip.incarnation:
            self._place.sweep()
            return None
        self._known[name] = texts.session
        return texts.session

    def leave_out(self, name: str, error: Exception) -> None:
        """Note that a session cannot be read, until it changes."""
        self.unreadable[name] = self._store.tip(name), str(error)

    def found(
        self, query: str, most: int, sessions: Collection[IndexedSession], role: str = "", since: str = ""
    ) -> list[FoundPassage]:
        """Return the best passages of these sessions, best first, those of newer sessions first among equals.

        Args:
            query: words to search for.
            most: maximum number of passages.
            sessions: the sessions to search.
            role: only messages of this role. Empty: all.
            since: only messages of this time or later, as `moment` writes it. Empty: all.
        """
        only = _AMONG
        values: list[object] = []
        for condition, value in (("message.role = ?", role), ("message.time >= ?", since)):
            if value:
                only, values = f"{only} and {condition}", [*values, value]
        with self._place.opened(writes=False) as connection:
            names = _chosen(connection, {(each.name, each.incarnation) for each in sessions})
            hits = passages.best(connection, query, most, f"{only})", values)
            notes = _notes(connection, {hit.seq for hit, _ in hits})
        return [
            FoundPassage(names[hit.seq // SEQS], hit._replace(seq=hit.seq % SEQS), context, *notes[hit.seq])
            for hit, context in hits
        ]

    def _is_current(self, name: str) -> bool:
        known, tip = self._known.get(name), self._store.tip(name)
        indexed = known is not None and (known.incarnation, known.records) == (tip.incarnation, tip.end)
        return indexed or (name in self.unreadable and self.unreadable[name][0] == tip)

    def refresh(self) -> None:
        """Read what is indexed: other processes may have added to it, and a deletion may have removed the file."""
        try:
            with self._place.opened(writes=not self._reached) as connection:
                rows = connection.execute(ALL).fetchall()
        except StoreUnavailableError as error:
            if self._reached:
                raise
            warn(f"the search index is built in memory, for each process again, because {error}")
            self._place, rows = IndexMemory(TABLES, disk=True), []
        self._reached = True
        names = [name for name in self._store.sessions() if not name.startswith(INTERNAL)]
        self._order = {name: number for number, name in enumerate(names)}
        self._known = {each.name: each for each in map(IndexedSession.of, rows) if each.name in self._order}


def _chosen(connection: sqlite3.Connection, sessions: Collection[tuple[str, str]]) -> dict[int, str]:
    """Put the ids of these sessions into the table `chosen`, and return their names by id.

    The ids are read here and not kept: a file that was deleted and built again has others.
    """
    rows = connection.execute("select id, name, incarnation from session").fetchall()
    names = {number: name.decode() for number, name, of in rows if (name.decode(), of.decode()) in sessions}
    connection.execute("create temp table if not exists chosen (id integer primary key)")
    connection.execute("delete from chosen")
    connection.executemany("insert into chosen values (?)", ((number,) for number in names))
    return names


def _notes(connection: sqlite3.Connection, seqs: Iterable[int]) -> dict[int, tuple[str, str]]:
    found = {}
    for seq in seqs:
        role, time = connection.execute("select role, time from message where id = ?", (seq,)).fetchone()
        found[seq] = role.decode(), time.decode()
    return found
