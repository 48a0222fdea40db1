"""Sessions in a PostgreSQL database, for more than one machine.

    store = PostgresStore("postgresql://user:password@host/database?schema=backscroll")

Any number of processes on any number of machines may use it, also through a pooler such as PgBouncer in transaction
mode. The first use connects and creates the schema with its tables. A forked process opens its own connections.
"""

import contextlib
import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError, ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Extent, Record, Stored, Tip
from backscroll.stores.keyed_executor import KeyedExecutor
from backscroll.stores.names import another, checked, checked_keys, checked_lease, kept
from backscroll.stores.postgres import rows
from backscroll.stores.postgres.address import Address, parsed
from backscroll.stores.postgres.driver import Connection, errors
from backscroll.stores.postgres.server import Server
from backscroll.stores.postgres.verify import verify
from backscroll.stores.problems import Problem
from backscroll.stores.turns import Turn


class Append(NamedTuple):
    """Rows to append in a turn, and the future of the caller."""

    new: rows.New
    done: Future[str | None]


class PostgresStore:
    """A store in one schema of a PostgreSQL database, version 13 or later.

    An append is one statement. It is done when it is on the server's disk: `synchronous_commit` is turned on for it if
    the server has it off. The server's `fsync`, replicas and backups are up to its administrator. If a connection
    breaks, the store finds out what happened: an append without an answer is neither lost nor doubled. Records are
    bytes, whichever encoding the database has, and each one is checked when it is read.

    Args:
        address: an address of libpq with two more parameters. `schema` (default `backscroll`) must be used by this
            store only. `connections` (default 8) is the maximum per process, and also of concurrent appends.
        read_only: create no schema, and raise `ConfigurationError` if there is none.
    """

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        self.address: Address = parsed(address)
        self.server: Server = Server(self.address, read_only)
        """Search on these tables shares its connections."""
        self._jobs = KeyedExecutor("backscroll-postgres", self.address.connections)
        self._turns = threading.BoundedSemaphore(max(1, self.address.connections // 2))
        """A writer in its turn reads through another connection than the one that waits for its append."""

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    @property
    def capabilities(self) -> frozenset[str]:
        """What the store supports."""
        return frozenset(
            ("durable", "shared", "delete", "fork", "lease", *(("turn",) if self.address.connections > 1 else ()))
        )

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Future[str | None]:
        """Queue records to append at `expected_position`. Those of one session are written in order."""
        name, found = checked(session), checked_keys(records)
        if not found or not 0 <= expected_position <= rows.LAST - len(found):
            return self._jobs.put(name, partial(self._ends, name, expected_position, incarnation))
        new = rows.new_rows(name, expected_position, secrets.randbits(63), found, incarnation)
        held = Append(new, Future())
        if turn is not None and turn.give(held):
            return held.done
        return self._jobs.put(name, partial(self._append, new))

    def _ends(self, name: str, first: int, incarnation: str | None) -> str | None:
        tip = self.tip(name)
        _check_tip(name, tip, first, incarnation)
        return tip.incarnation

    def _append(self, new: rows.New) -> str:
        for number, key in enumerate(new.keys):
            if key in new.keys[:number]:
                raise ConflictError(f"session {new.session!r}: two of the records have the key {key!r}")
        return self.server.run(partial(self._write, new), changes=True)

    def turn(self, session: str) -> Future[Turn[Append]]:
        """Lock the session's row until the append that passes this turn."""
        name, turn = checked(session), Turn[Append]()
        self._jobs.put(name, partial(self._hold, name, turn))
        return turn.granted

    def _hold(self, name: str, turn: Turn[Append]) -> None:
        given: list[Append] = []
        try:
            with self._turns:
                answer = self.server.run(partial(self._written, name, turn, given), changes=True)
        except BaseException as error:  # every error: a caller waits for the result
            turn.fail(error)
            for each in given:
                each.done.set_exception(error)
        else:
            for each in given:
                each.done.set_result(answer)

    def _written(self, name: str, turn: Turn[Append], given: list[Append], connection: Connection) -> str | None:
        """Append in a turn. A second run only finds out what the first one did."""
        if not turn.granted.done():
            with contextlib.suppress(errors.UniqueViolation), connection.transaction():
                rows.hold(connection, self.server.schema, name)
                append = turn.wait()
                if append is None or not append.done.set_running_or_notify_cancel():
                    return None
                given.append(append)
                if (written := rows.append(connection, self.server.schema, append.new)) is not None:
                    return written
        return self._write(given[0].new, connection) if given else None

    def _write(self, new: rows.New, connection: Connection) -> str:
        schema = self.server.schema
        try:
            if (written := rows.append(connection, schema, new)) is not None:
                return written
        except errors.UniqueViolation as error:
            if error.diag.constraint_name != "record_key":
                raise CorruptionError(
                    f"session {new.session!r}: there are records behind the end of its log"
                ) from error
        if (written := rows.is_there(connection, schema, new)) is not None:
            return written  # an earlier attempt, whose answer was lost
        _check_tip(new.session, rows.tip(connection, schema, new.session), new.first, new.incarnation)
        for key in new.keys:
            if rows.place(connection, schema, new.session, None, key) is not None:
                raise ConflictError(f"session {new.session!r}: the key {key!r} is used already")
        raise ConflictError(f"session {new.session!r}: another writer came first; try again")

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`, at most to the log's end when reading starts.

        Holds no connection while a record is yielded.

        Raises:
            CorruptionError: at the first record that is missing or damaged.
            ConflictError: the session is deleted meanwhile.
        """
        return self._read(checked(session), max(start, 0), stop)

    def _read(self, name: str, at: int, stop: int | None) -> Iterator[Stored]:
        parts = self._parts(name)
        for part in parts:
            high = part.high if stop is None else min(part.high, stop)
            while part.low <= at < high:
                try:
                    got = self.server.run(partial(rows.load, schema=self.server.schema, part=part, start=at, stop=high))
                except CorruptionError:
                    if [each.id for each in self._parts(name)] != [each.id for each in parts]:
                        raise ConflictError(f"session {name!r} was deleted while it was read") from None
                    raise
                yield from got
                at += len(got)

    def _parts(self, name: str) -> list[rows.Part]:
        return self.server.run(lambda connection: rows.parts(connection, self.server.schema, name))

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session. One round trip."""
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation: a random number of its row."""
        name = checked(session)
        return self.server.run(lambda connection: rows.tip(connection, self.server.schema, name))

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key."""
        name = checked(session)
        return self.server.run(lambda connection: rows.place(connection, self.server.schema, name, seq, key))

    def extent(self, session: str) -> Extent:
        """Return the bytes of a session's own records. The tables have no times."""
        name = checked(session)
        return Extent(self.server.run(lambda connection: rows.size(connection, self.server.schema, name)))

    def sessions(self) -> list[str]:
        """Names in the order of creation. Raises `CorruptionError` if one is damaged."""
        return self.server.run(lambda connection: rows.names(connection, self.server.schema))

    def fork(self, session: str, new: str, at: int) -> Future[None]:
        """Start a session with the first `at` records of another. Copies nothing."""
        name, fork = checked(session), checked(new)
        share = partial(self._share, name, fork, at, secrets.randbits(63))
        return self._jobs.put(name, partial(self.server.run, share, changes=True), begins=fork)

    def _share(self, name: str, new: str, at: int, mark: int, connection: Connection) -> None:
        schema = self.server.schema
        with connection.transaction():
            rows.durable(connection)
            rows.lock(connection, schema, name)
            source = rows.parts(connection, schema, name)
            end = source[-1].high if source else 0
            if not 0 < at <= end:
                raise ConfigurationError(f"session {name!r} has {end} records, so `at` must be 1 to {end}, not {at}")
            if not rows.fork(connection, schema, source[-1], new, at=at, mark=mark):
                raise ConflictError(f"session {new!r} exists already: choose another name for the fork")

    def lease(self, session: str, owner: str, seconds: float) -> Future[None]:
        """Lease a session to one writer for `seconds` from now, by the server's clock."""
        name, (owner, seconds) = checked(session), checked_lease(owner, seconds)
        return self._jobs.put(name, partial(self._lease, name, owner, seconds))

    def _lease(self, name: str, owner: str, seconds: float) -> None:
        schema = self.server.schema
        holder = self.server.run(lambda connection: rows.lease(connection, schema, name, owner, seconds), changes=True)
        if holder is not None:
            raise kept(name, *holder)

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session with its records and its search index, and free their rows.

        Freed bytes stay in the server's files until others overwrite them, and in its log, replicas and backups for as
        long as its administrator keeps these. `VACUUM FULL` rewrites the files; the tables are locked meanwhile.
        """
        name = checked(session)
        self._jobs.put(name, partial(self._erase, name, cascade)).result()

    def _erase(self, name: str, cascade: bool) -> None:
        if self.server.run(partial(self._delete, name, cascade), changes=True):
            try:
                self.server.run(lambda connection: rows.vacuum(connection, self.server.schema))
            except StoreUnavailableError as error:
                raise StoreUnavailableError(
                    f"{error}. Session {name!r} is deleted, but its rows are not yet freed: run VACUUM, or wait for "
                    "the server to run it"
                ) from error

    def _delete(self, name: str, cascade: bool, connection: Connection) -> bool:
        schema = self.server.schema
        with connection.transaction():
            rows.durable(connection)
            going = found = rows.locked_session(connection, schema, name)
            while found := rows.forks(connection, schema, [id_ for id_, _ in found]):
                if not cascade:
                    names = [fork for _, fork in found]
                    raise ConflictError(
                        f"session {name!r} shares records with its forks {names}: delete them first, "
                        "or pass `cascade=True`"
                    )
                going = going + found
            rows.free(connection, schema, [name, *(each for _, each in going)])
            rows.delete(connection, schema, [id_ for id_, _ in going])
        return bool(going)

    def close(self) -> None:
        """Wait for queued jobs, then close all connections. The next use opens new ones."""
        self._jobs.close()
        self.server.close()

    def verify(self, session: str | None = None) -> Iterator[Problem]:
        """Read everything, or one session, and yield what differs from what was written. Changes nothing."""
        return verify(self.server, None if session is None else checked(session))


def _check_tip(name: str, tip: Tip, first: int, incarnation: str | None) -> None:
    """Raise `ConflictError` if nothing can be appended at `first`."""
    if incarnation not in (None, tip.incarnation):
        raise another(name, tip.incarnation is None)
    if first != tip.end:
        raise ConflictError(f"session {name!r}: its log has {tip.end} records, so position {first} is not its end")
