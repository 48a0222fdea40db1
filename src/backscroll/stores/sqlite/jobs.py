"""What a transaction does to the rows: append, fork, delete, lease.

Each job is checked separately: a conflict is the result of one job and does not affect the others of its transaction.
"""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Tip
from backscroll.stores import group_commit
from backscroll.stores.names import another, kept
from backscroll.stores.sqlite import rows
from backscroll.stores.sqlite.errors import OthersWriteError
from backscroll.stores.sqlite.rows import Row, SessionRow
from backscroll.stores.turns import Turn

_MOST_KNOWN = 10_000  # sessions whose ends are cached
_LONG_LOG = 1_000  # pages of the write-ahead log, as SQLite has it


class Transactions:
    """A connection for writing, and a cache of the file that is valid until another connection writes to it.

    After a failure the cache may be wrong: drop the object, and with it the connection.
    """

    def __init__(self, connection: sqlite3.Connection, incarnation: Callable[[int], str], timeout: float = 0) -> None:
        self.connection = connection
        self._timeout = timeout
        self._waits = self._copies = True
        self._name_incarnation = incarnation
        self._incarnations: dict[int, str] = {}
        self.meta: rows.StoreRow = rows.StoreRow(0, 0, 0)
        self._sessions: dict[str, SessionRow] = {}
        self._new: list[tuple[int, Sequence[Row]]] = []
        """Rows to insert, by the ids of their sessions: written in one go, before they are read or committed."""
        self._moved: dict[str, SessionRow] = {}
        """Sessions whose new ends are not yet written."""
        self._version: int | None = None

    def _begin(self, *, waits: bool, copies: bool = True) -> bool:
        """Begin a transaction.

        Args:
            waits: wait for other processes. Else return `False` where that is needed.
            copies: copy the write-ahead log to the file after the commit, once it is long.
        """
        if waits is not self._waits:
            self.connection.execute(f"pragma busy_timeout = {round(self._timeout * 1_000) if waits else 0}")
            self._waits = waits
        if copies is not self._copies:
            self.connection.execute(f"pragma wal_autocheckpoint = {_LONG_LOG if copies else 0}")
            self._copies = copies
        try:
            self.connection.execute("begin immediate")
        except sqlite3.Error:
            if waits:
                raise
            return False
        return True

    def write(self, jobs: Sequence["Job"], *, waits: bool = True, copies: bool = True) -> bool:
        """Run all jobs in one transaction, which may have begun. Return whether there was anything to commit.

        Raises:
            OthersWriteError: `waits` is False, and another process writes.
        """
        if not self.connection.in_transaction and not self._begin(waits=waits, copies=copies):
            raise OthersWriteError
        self._look()
        changed = False
        for job in jobs:
            job.error = None
            changed |= job.run(self)
        if not changed:
            self.connection.execute("rollback")
            return False
        commits, created, sessions = self.meta
        self.meta = rows.StoreRow(commits + 1, created, sessions)
        self._settle()
        self.connection.execute("commit")
        return True

    def _look(self) -> None:
        """In a transaction, drop what is cached if another connection wrote since."""
        version = self._seen()
        if version != self._version or len(self._sessions) > _MOST_KNOWN:
            self.meta, self._version = rows.store_row_of(self.connection), version
            self._sessions.clear()
            self._incarnations.clear()

    def _seen(self) -> int:
        """Return a number that changes when another connection writes."""
        seen: int = self.connection.execute("pragma data_version").fetchone()[0]
        return seen

    def tip(self, name: str) -> Tip:
        """The tip of a log at the last commit."""
        known = self._sessions.get(name)
        if known is None or self._seen() != self._version:
            known = self._read(name)
        return Tip(0, None) if known is None else Tip(known.end, self.incarnation(known))

    def _read(self, name: str) -> SessionRow | None:
        """Read a session's row, and cache it."""
        self.connection.execute("begin")  # one snapshot for all reads
        try:
            self._look()
            known = rows.find(self.connection, name)
        finally:
            self.connection.execute("rollback")
        if known is not None:
            self._sessions[name] = known
        return known

    def incarnation(self, session: SessionRow) -> str:
        """The incarnation of a session, named once and cached."""
        known = self._incarnations.get(session.id)
        if known is None:
            known = self._incarnations[session.id] = self._name_incarnation(session.id)
        return known

    def _settle(self) -> None:
        """Write the rows and ends that jobs left to be written together."""
        rows.write_changes(self.connection, self._new, self._moved.values(), self.meta)
        self._new.clear()
        self._moved.clear()

    def find(self, name: str) -> SessionRow | None:
        """The session of a name; `None` for an unknown one."""
        return self._sessions.get(name) or rows.find(self.connection, name)

    def begin(self, name: str, end: int = 0, parent: int | None = None) -> SessionRow:
        """Create a session that shares its first `end` records with its parent."""
        self.meta = self.meta._replace(created=self.meta.created + 1, sessions=self.meta.sessions + 1)
        session = SessionRow(name=name, id=self.meta.created, end=end, parent=parent, shared=end)
        rows.write_store_row(self.connection, self.meta)
        rows.write_session(self.connection, session)
        self._sessions[name] = session
        return session

    def extend(self, session: SessionRow, new: Sequence[Row]) -> None:
        """Append rows to a log. They are written with the next `_settle`."""
        name, id_, end, parent, shared = session
        self._new.append((id_, new))
        self._sessions[name] = self._moved[name] = SessionRow(
            name=name, id=id_, end=end + len(new), parent=parent, shared=shared
        )

    def has_key(self, session: SessionRow, key: str) -> bool:
        """Whether a record of the log has a key."""
        self._settle()  # an earlier job may have added the key, or moved the parent's end
        return rows.place(self.connection, session, None, key) is not None

    def family(self, session: SessionRow) -> list[SessionRow]:
        """A session with its forks, their forks, and so on."""
        self._settle()
        found = [session]
        for each in found:  # grows meanwhile
            found += rows.forks(self.connection, each)
        return found

    def delete(self, session: SessionRow) -> None:
        """Delete a session with its own records. `family` wrote all pending rows."""
        rows.delete(self.connection, session)
        self._sessions.pop(session.name, None)
        self.meta = self.meta._replace(sessions=self.meta.sessions - 1)
        rows.write_store_row(self.connection, self.meta)


@dataclass(slots=True, eq=False)
class Job(group_commit.Job, ABC):
    """A change of the rows."""

    @abstractmethod
    def run(self, file: Transactions) -> bool:
        """Make the change. Return whether anything changed; set `error` if it is refused."""


@dataclass(slots=True, eq=False)
class Append(Job):
    """Append rows at `first` and the following positions."""

    first: int
    rows: Sequence[Row]
    incarnation: str | None

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return sum([len(row[-1]) for row in self.rows])

    def run(self, file: Transactions) -> bool:
        """Append if `first` is the log's end and no key is used already."""
        session = file.find(self.session)
        end = session.end if session else 0
        self.answer = file.incarnation(session) if session else None
        if self.incarnation not in (None, self.answer):
            self.error = another(self.session, session is None)
            return False
        if self.first != end:
            self._refuse(f"its log has {end} records, so position {self.first} is not its end")
            return False
        if not self.rows:
            return False
        if taken := self._taken(file, session):
            self._refuse(f"the key {taken!r} is used already")
            return False
        if session is None:
            session = file.begin(self.session)
            self.answer = file.incarnation(session)
        file.extend(session, self.rows)
        return True

    def _refuse(self, why: str) -> None:
        self.error = ConflictError(f"session {self.session!r}: {why}")

    def _taken(self, file: Transactions, session: SessionRow | None) -> str | None:
        """The first of these keys that is used, also twice among themselves."""
        seen: set[str] = set()
        for row in self.rows:
            key = row[3]
            if key is not None and (key in seen or (session is not None and file.has_key(session, key))):
                return key
            if key is not None:
                seen.add(key)
        return None


@dataclass(slots=True, eq=False)
class Hold(Job):
    """Reserve the file for one writer until its append. Alone in its transaction."""

    turn: Turn[Append] = field(default_factory=Turn, init=False)
    given: Append | None = field(default=None, init=False)

    def run(self, file: Transactions) -> bool:
        """Wait for the append: the transaction keeps all others from writing."""
        given = self.turn.wait()
        if given is None or not given.done.set_running_or_notify_cancel():
            return False
        self.given = given
        return given.run(file)

    def resolve(self, error: BaseException | None) -> None:
        """Resolve the turn and its append."""
        self.turn.fail(error)
        if self.given is not None:
            self.given.resolve(error or self.given.error)
        group_commit.Job.resolve(self, None)


@dataclass(slots=True, eq=False)
class Fork(Job):
    """Create the session `new` with the first `at` records of another."""

    new: str
    at: int

    def run(self, file: Transactions) -> bool:
        """Insert one row: shared records stay where they are."""
        session = file.find(self.session)
        end = session.end if session else 0
        if session is None or not 0 < self.at <= end:
            self.error = ConfigurationError(
                f"session {self.session!r} has {end} records, so `at` must be 1 to {end}, not {self.at}"
            )
        elif file.find(self.new) is not None:
            self.error = ConflictError(f"session {self.new!r} exists already: choose another name for the fork")
        else:
            file.begin(self.new, self.at, session.id)
            return True
        return False


@dataclass(slots=True, eq=False)
class Delete(Job):
    """Delete a session; with `cascade`, its forks as well."""

    cascade: bool

    def run(self, file: Transactions) -> bool:
        """Delete if no fork shares its records. Its lease holds its name, and is deleted too."""
        session = file.find(self.session)
        if session is None:
            return rows.free(file.connection, self.session)
        family = file.family(session)
        if len(family) > 1 and not self.cascade:
            forks = [each.name for each in family[1:]]
            self.error = ConflictError(
                f"session {self.session!r} shares records with its forks {forks}: delete them first, or pass "
                "`cascade=True`"
            )
            return False
        for each in family:
            rows.free(file.connection, each.name)
            file.delete(each)
        return True


@dataclass(slots=True, eq=False)
class Lease(Job):
    """Lease a session to its owner for `seconds` from now; 0 ends the lease."""

    owner: str
    seconds: float

    def run(self, file: Transactions) -> bool:
        """Take the lease unless another owner holds it. Also deletes expired leases."""
        now = time.time_ns() // 1_000
        forgot = rows.forget_leases(file.connection, now)
        held = rows.lease_of(file.connection, self.session)
        if held is not None and held[0] != self.owner:
            self.error = kept(self.session, held[0], (held[1] - now) / 1e6)
            return forgot
        freed = rows.free(file.connection, self.session)
        if self.seconds:
            rows.write_lease(file.connection, self.session, self.owner, now + round(self.seconds * 1e6))
        return freed or forgot or self.seconds > 0
