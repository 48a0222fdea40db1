"""Copy sessions row by row from a damaged database into a new one: everything that SQLite can still read.

A row counts if it passes its checksum. A record of the kind `LOST` replaces each lost one, so that a log has no gaps.
Pages are not parsed here: SQLite's `.recover` does that.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from backscroll.errors import CorruptionError
from backscroll.ports import LOST, Record
from backscroll.stores.problems import RepairAction
from backscroll.stores.sqlite import rows
from backscroll.stores.sqlite.errors import DAMAGE, code
from backscroll.stores.sqlite.rows import SessionRow, StoreRow

_NOTHING = "nothing was left of this record when its database was repaired"
_ALTERED = "this record was damaged when its database was repaired"
_LOGS = "select name, id, next, parent, shared, crc from log"
_INSERT = (
    "insert or ignore into record (number, kind, seq, key, format, crc, body) "
    "values (?, cast(? as text), ?, cast(? as text), ?, ?, ?)"
)


class Copying:
    """One repair: `source` is the damaged database, `target` a new one without sessions."""

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self.done: list[RepairAction] = []
        """Repairs and losses."""
        self._source, self._target = source, target
        self._sessions: dict[int, SessionRow] = {}
        self._altered: dict[int, int | None] = {}
        """Row numbers of the damaged records, each with the `seq` that its row has."""

    def run(self, acknowledged: int) -> bool:
        """Copy everything; `False` if nothing could be read.

        Args:
            acknowledged: number of commits that the file should have.
        """
        meta = self._meta(acknowledged)
        self._list()
        if meta is None and not self._sessions:
            return False
        if meta is not None and len(self._sessions) < meta.sessions:
            gone = meta.sessions - len(self._sessions)
            self._say(f"lost: {gone} of {meta.sessions} sessions, whose rows in the list cannot be read")
        with _damage_ends():
            for number in rows.holders(self._source):
                if number not in self._sessions:
                    self._say(f"lost: the name of the session with the number {number}; its records were not copied")
        for session in sorted(self._sessions.values(), key=lambda each: each.id):
            self._copy(session)
        created = max([*self._sessions, meta.created if meta else 0])
        commits = max(acknowledged, meta.commits if meta else 0) + 1
        rows.write_store_row(self._target, StoreRow(commits, created, len(self._sessions)))
        return True

    def _say(self, what: str, session: str | None = None, at: int | None = None) -> None:
        self.done.append(RepairAction(session, at, what))

    def _meta(self, acknowledged: int) -> StoreRow | None:
        meta: StoreRow | None = None
        with _damage_ends(), contextlib.suppress(CorruptionError):
            meta = rows.store_row_of(self._source)
        if meta is None:
            self._say("the row that counts commits and sessions was lost and is created again; sessions may be missing")
        elif meta.commits < acknowledged:
            gone = acknowledged - meta.commits
            self._say(
                f"lost: the last {gone} of {acknowledged} acknowledged commits; a session that they deleted may "
                "exist again: delete it again"
            )
        return meta

    # -- sessions --

    def _list(self) -> None:
        """Read the list of sessions from both ends: a page in the middle may be damaged."""
        names: set[str] = set()
        for order in ("asc", "desc"):
            with _damage_ends():
                for row in self._source.execute(f"{_LOGS} order by name {order}"):
                    session = self._session(row)
                    if session is not None and session.id not in self._sessions and session.name not in names:
                        self._sessions[session.id] = session
                        names.add(session.name)
        for session in list(self._sessions.values()):
            if session.parent is not None and not self._has_parent(session):
                self._say("it was forked from a session that is lost, as are the records that it shared", session.name)
                self._sessions[session.id] = session._replace(parent=None, shared=0)

    def _session(self, row: Sequence[Any]) -> SessionRow | None:
        if not row[0]:
            return None  # the row of the whole file
        with contextlib.suppress(CorruptionError):
            return rows.session_row_of(row, "")
        match row:
            case (bytes(name), int(id_), _, None | int(), int(), _) if 0 < id_ < 2**31:
                pass
            case _:
                return None
        with _damage_ends(), contextlib.suppress(UnicodeDecodeError):
            # its own row is damaged, so its records determine the log's end
            asked = "select max(number) from record where number < ?"
            last = self._source.execute(asked, (rows.number_of(id_ + 1, 0),)).fetchone()
            end = rows.at_of(last) + 1 if last[0] and rows.holder_of(last) == id_ else 0
            parent, shared = (row[3], row[4]) if row[3] and 0 < row[3] < id_ and 0 < row[4] <= end else (None, 0)
            self._say("its row in the list of sessions was lost and is created from what was left", name.decode())
            return SessionRow(name=name.decode(), id=id_, end=end, parent=parent, shared=shared)
        return None

    def _has_parent(self, session: SessionRow) -> bool:
        parent = self._sessions.get(session.parent or 0)
        return parent is not None and parent.id < session.id and parent.end >= session.shared

    # -- records --

    def _copy(self, session: SessionRow) -> None:
        self._target.executemany(_INSERT, self._checked(session))
        rows.write_session(self._target, session)
        self._fill(session)

    def _checked(self, session: SessionRow) -> Iterator[tuple[Any, ...]]:
        at = session.shared
        while at < session.end:
            with _damage_ends():
                for row in rows.between(self._source, session, at, session.end):
                    at = rows.at_of(row) + 1
                    try:
                        rows.stored_of(session.name, row)
                    except CorruptionError:
                        self._altered[row[0]] = row[2] if isinstance(row[2], int) else None
                    else:
                        yield tuple(row)
                return
            at += 1  # this page cannot be read, but the next position may be on another one

    def _fill(self, session: SessionRow) -> None:
        """Add a record of the kind `LOST` for each missing one."""
        expected, before = session.shared, self._seq_before(session)
        gap: list[int] = []
        asked = "select number, seq from record where number >= ? and number < ? order by number"
        bounds = rows.number_of(session.id, session.shared), rows.number_of(session.id, session.end)
        for row in self._target.execute(asked, bounds).fetchall():
            gap += range(expected, rows.at_of(row))
            expected = rows.at_of(row) + 1
            if row[1] is not None:
                self._lose(session, gap, before, row[1])
                gap, before = [], row[1]
        self._lose(session, [*gap, *range(expected, session.end)], before, None)

    def _seq_before(self, session: SessionRow) -> int:
        """The highest `seq` that a session shares; -1 without one."""
        asked = "select max(seq) from record where number >= ? and number < ?"
        for holder, start, stop in rows.parts(self._target, session._replace(end=session.shared)):
            bounds = rows.number_of(holder.id, start), rows.number_of(holder.id, stop)
            if (found := self._target.execute(asked, bounds).fetchone()[0]) is not None:
                return int(found)
        return -1

    def _lose(self, session: SessionRow, gap: list[int], before: int, after: int | None) -> None:
        """Fill positions between two `seq`s with records of the kind `LOST`."""
        found = [self._altered.get(rows.number_of(session.id, at)) for at in gap]
        missing = range(before + 1, before + 1 + len(gap) if after is None else after)
        seqs: list[int | None] = [seq if seq in missing else None for seq in found]
        if after is not None and len(missing) == len(gap):
            seqs = list(missing)  # each lost record had one
        elif (known := [seq for seq in seqs if seq is not None]) != sorted(set(known)):
            seqs = [None] * len(gap)
        for at, seq in zip(gap, seqs, strict=True):
            why = _ALTERED if rows.number_of(session.id, at) in self._altered else _NOTHING
            self._say(f"lost: {why}", session.name, at)
            record = Record(LOST, seq, why.encode(), 0)
            rows.write_records(self._target, session.id, rows.rows_of(session.name, at, [record]))


@contextlib.contextmanager
def _damage_ends() -> Iterator[None]:
    """End the reading inside at damage, or at a value of a wrong type."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if code(error) not in DAMAGE:
            raise
    except (TypeError, OverflowError):
        return
