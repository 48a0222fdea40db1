"""The texts of one session on their way into the index over all sessions."""

import sqlite3
from collections.abc import Iterable, Sequence

from backscroll.errors import ConflictError
from backscroll.history.history import Entry
from backscroll.integrations.mcp.facts import role_of, time_of
from backscroll.integrations.mcp.index_file import IndexFile
from backscroll.integrations.mcp.index_memory import IndexMemory
from backscroll.integrations.mcp.indexed_session import ONE, IndexedSession
from backscroll.recall.retrieval import Source
from backscroll.stores.search import passages

SEQS = 1 << 32
"""In the index a message has the number `id of the session * SEQS + seq`."""


class SessionTexts:
    """Adds texts of one session, each batch in one transaction with how far the index then goes.

    Another process may add the same texts: what the index has by then is skipped.
    """

    def __init__(self, place: IndexFile | IndexMemory, session: IndexedSession) -> None:
        self._place = place
        self.session: IndexedSession = session
        """What the index has of the session by now."""
        self._noted: dict[int, tuple[str, str]] = {}
        """Role and time of the messages that were loaded and not yet indexed."""

    @property
    def indexed(self) -> int:
        """The first `seq` that is not indexed yet."""
        return self.session.messages

    def seen(self, entries: Sequence[Entry]) -> None:
        """Note what is not in the texts of these messages."""
        new = [entry for entry in entries if entry.seq >= self.indexed]
        self._noted |= {entry.seq: (role_of(entry), time_of(entry.message)) for entry in new}
        self.session = self.session._replace(facts=self.session.facts.after(new))

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Index texts; `upto` is the first `seq` behind them."""
        for batch, behind in passages.batches(texts, upto):
            with self._place.opened(writes=True) as connection:
                there = self._row(connection)
                first = there.id * SEQS
                passages.insert(
                    connection, (each._replace(seq=first + each.seq) for each in batch if each.seq >= there.messages)
                )
                notes = [(first + seq, *self._noted.pop(seq)) for seq in sorted(self._noted) if seq < behind]
                connection.executemany("insert or ignore into message values (?, ?, ?)", notes)
                self._write(connection, there._replace(messages=max(behind, there.messages)))

    def finish(self, records: int) -> None:
        """Note that the session's log is indexed up to a record."""
        with self._place.opened(writes=True) as connection:
            there = self._row(connection)
            self._write(connection, there._replace(records=max(records, there.records)))

    def _row(self, connection: sqlite3.Connection) -> IndexedSession:
        known = self.session
        if not known.id:  # `or ignore`: another process may have come first
            connection.execute(
                "insert or ignore into session (name, incarnation, records, upto, facts) values (?, ?, 0, 0, '{}')",
                (known.name, known.incarnation),
            )
        found = connection.execute(ONE, (known.name, known.incarnation)).fetchone()
        if found is None or (there := IndexedSession.of(found)).messages < known.messages:
            raise ConflictError(f"the index over all sessions was deleted while {known.name!r} was added")
        return there

    def _write(self, connection: sqlite3.Connection, now: IndexedSession) -> None:
        self.session = now._replace(facts=self.session.facts)
        connection.execute(
            "update session set records = ?, upto = ?, facts = ? where id = ?",
            (now.records, now.messages, self.session.facts.as_json(), now.id),
        )
