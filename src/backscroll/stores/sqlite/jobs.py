"""What is done to the rows in one transaction: appending, forking, erasing, leasing. No thread may live here.

Each job is checked by itself: a conflict is an answer and disturbs no other job of the same transaction.
"""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Tip
from backscroll.stores import group_commit as queueing
from backscroll.stores.names import another, kept
from backscroll.stores.sqlite import rows
from backscroll.stores.sqlite.rows import Begun, Row
from backscroll.stores.turns import Turn

_MOST_KNOWN = 10_000  # sessions whose ends are remembered


class Transactions:
    """A connection, and what is known of the file as long as nobody else writes to it.

    A failure may leave what is known behind what is: then all of it is thrown away, with the connection.
    """

    def __init__(self, connection: sqlite3.Connection, incarnation: Callable[[int], str]) -> None:
        self.connection = connection
        self.incarnation = incarnation
        """Of the session with a number."""
        self.meta = rows.Meta(0, 0, 0)
        self._sessions: dict[str, Begun] = {}
        self._moved: dict[str, Begun] = {}
        """Sessions whose new ends are yet to be written."""
        self._version: int | None = None

    def write(self, jobs: Sequence["Job"]) -> bool:
        """All jobs in one transaction. Says whether there was anything to commit."""
        self.connection.execute("begin immediate")
        version = self._seen()
        if version != self._version or len(self._sessions) > _MOST_KNOWN:  # another one wrote
            self.meta, self._version = rows.meta_of(self.connection), version
            self._sessions.clear()
        changed = False
        for job in jobs:
            job.error = None
            changed |= job.run(self)
        if not changed:
            self.connection.execute("rollback")
            return False
        commits, begun, sessions = self.meta
        self.meta = rows.Meta(commits + 1, begun, sessions)
        self._settle()
        self.connection.execute("commit")
        return True

    def _seen(self) -> int:
        """A number that changes when another connection has written."""
        return int(self.connection.execute("pragma data_version").fetchone()[0])

    def tip(self, name: str) -> Tip | None:
        """Where a log ended at the last commit here; None where that is not known, or somebody else wrote since."""
        known = self._sessions.get(name)
        if known is None:
            return None
        try:
            return Tip(known.end, self.incarnation(known.id)) if self._seen() == self._version else None
        except sqlite3.Error:
            return None  # whoever asks the file itself is told what is wrong with it

    def _settle(self) -> None:
        rows.write_ends(self.connection, self.meta, self._moved.values())
        self._moved.clear()

    def find(self, name: str) -> Begun | None:
        """The session of a name; None where it has not begun."""
        return self._sessions.get(name) or rows.find(self.connection, name)

    def begin(self, name: str, end: int = 0, parent: int | None = None) -> Begun:
        """A new session, which shares its first records with its parent."""
        self.meta = self.meta._replace(begun=self.meta.begun + 1, sessions=self.meta.sessions + 1)
        session = Begun(name, self.meta.begun, end, parent, end)
        rows.write_meta(self.connection, self.meta)
        rows.write_session(self.connection, session)
        self._sessions[name] = session
        return session

    def extend(self, session: Begun, new: Sequence[Row]) -> None:
        """Puts rows behind the end of a log."""
        name, id_, end, parent, shared = session
        rows.write_records(self.connection, id_, new)
        self._sessions[name] = self._moved[name] = Begun(name, id_, end + len(new), parent, shared)

    def has_key(self, session: Begun, key: str) -> bool:
        """Whether a record of the log has a key."""
        if session.parent is not None:
            self._settle()  # its parent's end may have moved just now
        return rows.place(self.connection, session, None, key) is not None

    def family(self, session: Begun) -> list[Begun]:
        """A session with all that was forked from it, and from that."""
        self._settle()
        found = [session]
        for each in found:  # grows on the way
            found += rows.forks(self.connection, each)
        return found

    def delete(self, session: Begun) -> None:
        """Deletes what is a session's own."""
        rows.delete(self.connection, session)
        self._sessions.pop(session.name, None)
        self.meta = self.meta._replace(sessions=self.meta.sessions - 1)
        rows.write_meta(self.connection, self.meta)


@dataclass(slots=True, eq=False)
class Job(queueing.Job, ABC):
    """What is done to the rows."""

    @abstractmethod
    def run(self, file: Transactions) -> bool:
        """Does it. Says whether anything changed; leaves in `error` why not."""


@dataclass(slots=True, eq=False)
class Append(Job):
    """Puts rows at the places from `first` on."""

    first: int
    rows: Sequence[Row]
    incarnation: str | None

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return sum([len(row[-1]) for row in self.rows])

    def run(self, file: Transactions) -> bool:
        """Only directly behind the log's end, and only with keys that it does not have."""
        session = file.find(self.session)
        end = session.end if session else 0
        self.answer = file.incarnation(session.id) if session else None
        if self.incarnation not in (None, self.answer):
            self.error = another(self.session, session is None)
            return False
        if self.first != end:
            self._refuse(f"its log ends before place {end}, not before {self.first}")
            return False
        if not self.rows:
            return False
        if taken := self._taken(file, session):
            self._refuse(f"its log has a record with the key {taken!r}")
            return False
        session = session or file.begin(self.session)
        file.extend(session, self.rows)
        self.answer = file.incarnation(session.id)
        return True

    def _refuse(self, why: str) -> None:
        self.error = ConflictError(f"session {self.session!r}: {why}")

    def _taken(self, file: Transactions, session: Begun | None) -> str | None:
        """The first of its keys that is in use, also by an earlier one of its records."""
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
    """Keeps the file for one writer until it says what it appends. Alone in its transaction."""

    turn: Turn[Append] = field(default_factory=Turn, init=False)
    given: Append | None = field(default=None, init=False)

    def run(self, file: Transactions) -> bool:
        """Nobody else can write now."""
        given = self.turn.wait()
        if given is None or not given.done.set_running_or_notify_cancel():
            return False
        self.given = given
        return given.run(file)

    def tell(self, error: BaseException | None) -> None:
        """Answer the turn and its append."""
        self.turn.fail(error)
        if self.given is not None:
            self.given.tell(error or self.given.error)
        queueing.Job.tell(self, None)


@dataclass(slots=True, eq=False)
class Fork(Job):
    """Begins the session `new` with the first `at` records of another."""

    new: str
    at: int

    def run(self, file: Transactions) -> bool:
        """One row: what is shared stays where it stands."""
        session = file.find(self.session)
        end = session.end if session else 0
        if session is None or not 0 < self.at <= end:
            self.error = ConfigurationError(f"session {self.session!r} has {end} records, and not {self.at} to share")
        elif file.find(self.new) is not None:
            self.error = ConflictError(f"session {self.new!r} has begun already")
        else:
            file.begin(self.new, self.at, session.id)
            return True
        return False


@dataclass(slots=True, eq=False)
class Delete(Job):
    """Deletes a session; with `cascade` its forks as well."""

    cascade: bool

    def run(self, file: Transactions) -> bool:
        """Refused where forks share its records. A lease tells of a session, and goes with it."""
        session = file.find(self.session)
        if session is None:
            return rows.free(file.connection, self.session)
        family = file.family(session)
        if len(family) > 1 and not self.cascade:
            forks = [each.name for each in family[1:]]
            self.error = ConflictError(
                f"session {self.session!r} shares its records with its forks {forks}: delete them first, or all with "
                "`cascade`"
            )
            return False
        for each in family:
            rows.free(file.connection, each.name)
            file.delete(each)
        return True


@dataclass(slots=True, eq=False)
class Lease(Job):
    """Keeps a session for its owner for so many seconds from now on; for none, to end that."""

    owner: str
    seconds: float

    def run(self, file: Transactions) -> bool:
        """Refused while another one holds it. What is over is forgotten on the way."""
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
