"""What can still be read of a damaged file: rows with the right checksums, wherever in it they stand.

They go into a new database. Where records are lost, one of the kind `LOST` takes the place of each, so that the places
of a log stay without a gap. What was erased must not come back: a session counts only if the file tells of it.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from backscroll.errors import DamagedError
from backscroll.ports import LOST, Record
from backscroll.stores.problems import Mended
from backscroll.stores.sqlite import rows
from backscroll.stores.sqlite.pages import Cell, Pages
from backscroll.stores.sqlite.rows import Begun, Meta

_NOTHING = "nothing was left of this record when its database was repaired"
_ALTERED = "this record was not as it was written when its database was repaired"
_PLACES = range(rows.MOST)
_INSERT = (
    "insert or ignore into record (number, kind, seq, key, format, crc, body) "
    "values (?, cast(? as text), ?, cast(? as text), ?, ?, ?)"
)


class _Told(NamedTuple):
    """What pages tell of the file and of its sessions."""

    metas: list[Meta]
    logs: dict[int, Begun]
    """By their ids; of several rows for one the longest log."""
    copies: dict[int, Begun]
    """From the index, which has no checksums, and no ends of logs."""
    sessions: list[int]
    """How many there are, from the index."""

    @property
    def meta(self) -> Meta | None:
        """The newest."""
        return max(self.metas, default=None)


class Salvage:
    """Takes what is left in pages into a new database."""

    def __init__(self, pages: Pages, connection: sqlite3.Connection) -> None:
        self.done: list[Mended] = []
        self._pages, self._connection = pages, connection
        self._meta: Meta | None = None
        self._number: int | None = None
        """How many sessions there are; None where nothing tells."""
        self._sessions: dict[int, Begun] = {}
        self._altered: dict[int, int | None] = {}
        """Numbers of rows that were found and are not as they were written, and which `seq` they tell."""
        self._unsure: set[int] = set()
        """Ids of sessions that are told of without a checksum."""
        self._strange: set[int] = set()
        """Ids of sessions of which there are records, and nothing else."""
        self._needed: dict[int, int] = {}

    def run(self, acknowledged: int) -> list[Mended]:
        """All of it; what was mended and lost. `acknowledged` is how many commits there should be."""
        told = _told(self._newest())
        if (told.meta is None or told.meta.commits < acknowledged) and self._pages.tail:
            self._pages.trust_tail()
            told = _told(self._newest())
            self._say("the last of the acknowledged commits is not whole; what is left of it was taken")
        self._meta = told.meta
        if self._meta is None:
            self._say("the row that counts commits and sessions was lost, and is made anew")
        elif self._meta.commits < acknowledged:
            gone = acknowledged - self._meta.commits
            self._say(f"the last {gone} of {acknowledged} acknowledged commits were gone")
        self._list(told)
        self._needed = self._shared()
        self._take(self._newest())
        if self._lacks():
            self._take(self._older())
        self._name()
        self._needed = self._shared()
        for session in sorted(self._sessions.values(), key=lambda session: session.id):
            rows.write_session(self._connection, self._filled(session))
        begun = max([*self._sessions, self._meta.begun if self._meta else 0])
        commits = max(acknowledged, self._meta.commits if self._meta else 0) + 1
        rows.write_meta(self._connection, Meta(commits, begun, len(self._sessions)))
        return self.done

    @property
    def found(self) -> bool:
        """Whether anything could be read."""
        return self._meta is not None or bool(self._sessions)

    def _say(self, what: str, session: str | None = None, at: int | None = None) -> None:
        self.done.append(Mended(session, at, what))

    # -- reading --

    def _newest(self) -> Iterator[Cell]:
        """What stands in pages as they were last committed; in one that is not whole, whatever looks like a row."""
        pages, taken, torn = self._pages, set[int](), []
        for page in range(1, pages.count + 1):
            found, whole = pages.cells(page, pages.newest(page))
            for cell in found:
                taken.update(cell.pages)
                yield cell
            if not whole:
                torn.append(page)
        for page in torn:
            if page not in taken:
                yield from pages.scattered(pages.newest(page))

    def _older(self) -> Iterator[Cell]:
        """The same for pages as they were before, and for those that are damaged in the log."""
        for page, image in self._pages.older():
            found, whole = self._pages.cells(page, image)
            yield from found if whole else self._pages.scattered(image)

    # -- sessions --

    def _list(self, told: _Told) -> None:
        """Which sessions there are."""
        self._sessions |= told.logs
        self._number = told.meta.sessions if told.meta else max(told.sessions, default=None)
        if self._is_listed():
            return
        self._add(told.copies.values(), sure=False)
        if not self._is_listed():
            older = _told(self._older())
            self._add(older.logs.values(), sure=True)
            self._add(older.copies.values(), sure=False)

    def _is_listed(self) -> bool:
        return self._number is not None and len(self._sessions) >= self._number

    def _add(self, found: Iterable[Begun], sure: bool) -> None:
        names = {session.name for session in self._sessions.values()}
        for session in found:
            if session.id not in self._sessions and session.name not in names:
                self._sessions[session.id] = session
                names.add(session.name)
                if not sure:
                    self._unsure.add(session.id)
                self._say("its row in the list of sessions was lost, and is made from what was left", session.name)

    def _name(self) -> None:
        """Takes in sessions of which only records are left, or forks, under names of their own."""
        parents = {session.parent for session in self._sessions.values() if session.parent is not None}
        nameless = parents - self._sessions.keys()
        if not self._is_listed():
            most = self._meta.begun if self._meta else 2**31
            nameless |= {number for number in self._strange if 0 < number <= most}
        if not nameless:
            return
        names = {session.name for session in self._sessions.values()}
        for number in sorted(nameless):
            name = f"recovered-{number}"
            while name in names:
                name += "'"
            self._sessions[number] = Begun(name, number, 0)
            self._say("it had lost its name, and its records could not be checked", name)
        self._insert(self._renamed(nameless))

    def _renamed(self, nameless: set[int]) -> Iterator[tuple[Any, ...]]:
        for cell in self._newest():
            row = _record(cell)
            if row is not None and rows.holder_of(row) in nameless:
                kind, seq, key, format_, _, body = row[1:]
                record = Record(
                    kind.decode("utf-8", "replace"), seq, body, format_, key and key.decode("utf-8", "replace")
                )
                session = self._sessions[rows.holder_of(row)]
                yield from ((row[0], *new[1:]) for new in rows.rows_of(session.name, rows.at_of(row), [record]))

    # -- records --

    def _take(self, cells: Iterable[Cell]) -> None:
        self._insert(self._checked(cells))

    def _insert(self, found: Iterable[tuple[Any, ...]]) -> None:
        self._connection.executemany(_INSERT, found)

    def _checked(self, cells: Iterable[Cell]) -> Iterator[tuple[Any, ...]]:
        for cell in cells:
            row = _record(cell)
            if row is None:
                continue
            session = self._sessions.get(rows.holder_of(row))
            if session is None:
                self._strange.add(rows.holder_of(row))
                continue
            try:
                rows.stored_of(session.name, row)
            except DamagedError:
                self._altered[row[0]] = row[2]
            else:
                yield row

    def _lacks(self) -> bool:
        """Whether any record is not there yet."""
        return any(self._end(session) - session.shared > self._count(session) for session in self._sessions.values())

    def _count(self, session: Begun) -> int:
        asked = "select count(*) from record where number >= ? and number < ?"
        bounds = rows.number_of(session.id, session.shared), rows.number_of(session.id + 1, 0)
        return int(self._connection.execute(asked, bounds).fetchone()[0])

    def _end(self, session: Begun) -> int:
        """Where a log ends that holds all that is known of it."""
        asked = "select max(number) from record where number >= ? and number < ?"
        bounds = rows.number_of(session.id, 0), rows.number_of(session.id + 1, 0)
        last = self._connection.execute(asked, bounds).fetchone()[0]
        return max(session.end, self._needed.get(session.id, 0), 0 if last is None else rows.at_of((last,)) + 1)

    def _shared(self) -> dict[int, int]:
        """Ids of sessions, and how many of their records others share."""
        needed: dict[int, int] = {}
        for session in self._sessions.values():
            if session.parent is not None and session.id not in self._unsure:
                needed[session.parent] = max(session.shared, needed.get(session.parent, 0))
        return needed

    def _filled(self, session: Begun) -> Begun:
        """A session whose log has no gap."""
        if session.id in self._unsure and session.parent is not None:
            most = self._sessions[session.parent].end
            session = session._replace(shared=min(session.shared, most), end=min(session.end, most))
        session = self._sessions[session.id] = session._replace(end=self._end(session))
        expected, before = session.shared, self._seq_before(session)
        gap: list[int] = []
        asked = "select number, seq from record where number >= ? and number < ? order by number"
        bounds = rows.number_of(session.id, session.shared), rows.number_of(session.id, session.end)
        for row in self._connection.execute(asked, bounds).fetchall():
            gap += range(expected, rows.at_of(row))
            expected = rows.at_of(row) + 1
            if row[1] is not None:
                self._lose(session, gap, before, row[1])
                gap, before = [], row[1]
        self._lose(session, [*gap, *range(expected, session.end)], before, None)
        return session

    def _seq_before(self, session: Begun) -> int:
        """The highest `seq` of what a session shares; -1 without one."""
        asked = "select max(seq) from record where number >= ? and number < ?"
        for holder, start, stop in rows.parts(self._connection, session._replace(end=session.shared)):
            bounds = rows.number_of(holder.id, start), rows.number_of(holder.id, stop)
            if (found := self._connection.execute(asked, bounds).fetchone()[0]) is not None:
                return int(found)
        return -1

    def _lose(self, session: Begun, gap: list[int], before: int, after: int | None) -> None:
        """Fills places between two of these `seq`s."""
        told = [self._altered.get(rows.number_of(session.id, at)) for at in gap]
        missing = range(before + 1, before + 1 + len(gap) if after is None else after)
        seqs: list[int | None] = [seq if seq in missing else None for seq in told]
        if after is not None and len(missing) == len(gap):
            seqs = list(missing)  # each of them had one
        elif (known := [seq for seq in seqs if seq is not None]) != sorted(set(known)):
            seqs = [None] * len(gap)
        for at, seq in zip(gap, seqs, strict=True):
            why = _ALTERED if rows.number_of(session.id, at) in self._altered else _NOTHING
            self._say(f"lost: {why}", session.name, at)
            record = Record(LOST, seq, why.encode(), 0)
            rows.write_records(self._connection, session.id, rows.rows_of(session.name, at, [record]))


# -- rows --


def _told(cells: Iterable[Cell]) -> _Told:
    told = _Told([], {}, {}, [])
    for cell in cells:
        if found := _log(cell):
            told.logs[found.id] = max(found, told.logs.get(found.id, found), key=lambda log: log.end)
        elif meta := _meta(cell):
            told.metas.append(meta)
        elif copy := _copy(cell):
            told.copies[copy.id] = copy
        elif cell.number is None and len(cell.values) == 4 and cell.values[0] == 0 and cell.values[3] == b"":
            told.sessions.append(cell.values[2])
    return told


def _log(cell: Cell) -> Begun | None:
    """A session from its row, also from one of the first schema."""
    values = cell.values
    if cell.number is not None or len(values) not in (4, 6) or not values[0]:
        return None
    try:
        return rows.begun_of(values if len(values) == 6 else (*values[:3], None, 0, values[3]), "")
    except DamagedError:
        return None


def _meta(cell: Cell) -> Meta | None:
    """The row of the whole file, likewise."""
    if len(cell.values) == 6 and cell.values[:2] == (b"", 0):
        *facts, crc = cell.values[2:]
    elif len(cell.values) == 4 and cell.number is not None:
        *facts, crc = cell.values
    else:
        return None
    return meta if (meta := Meta(*facts)) and rows.sum_of_meta(meta) == crc else None


def _copy(cell: Cell) -> Begun | None:
    """A session from the index of ids."""
    match cell:
        case Cell(None, (int(id_), None, 0, bytes(name))) if id_ > 0 and name:
            parent, shared = None, 0
        case Cell(None, (int(id_), int(parent), int(shared), bytes(name))) if id_ > parent > 0 and shared > 0 and name:
            pass
        case _:
            return None
    try:
        return Begun(name.decode(), id_, shared, parent, shared)
    except UnicodeDecodeError:
        return None


def _record(cell: Cell) -> tuple[Any, ...] | None:
    """A row of the table of records, likewise, with values of the right types."""
    if cell.number is None or len(cell.values) != 7:
        return None
    if cell.values[0] is None:
        row = (cell.number, *cell.values[1:])
    else:
        session, at, kind, seq, *others = cell.values
        if not isinstance(session, int) or not isinstance(at, int) or not 0 <= session < 2**31 or at not in _PLACES:
            return None
        row = rows.number_of(session, at), kind, seq, None, *others
    match row:
        case (int(), bytes(), int() | None, bytes() | None, int(), int(), bytes()):
            return row
    return None
