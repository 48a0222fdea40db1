"""Sessions in a folder of JSON Lines, to be read and searched with any tool. Only the port's operations live here.

    store = JsonlStore("sessions")

Each session is a file, each event a line. Any number of processes may use the folder. What is acknowledged survives the
process and, with `durability="full"`, a power cut; every line is checked when it is read. Nothing is touched before the
first use. A forked process opens anew.

Sessions are not forked, leased or repaired here: SQLite does that. Forks that an earlier version made are read.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

from backscroll.errors import ConfigurationError
from backscroll.ports import Extent, Record, Stored, Tip
from backscroll.stores.fork_lock import GATE
from backscroll.stores.group_commit import Job
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.file import told
from backscroll.stores.jsonl.folder import Folder, Segment
from backscroll.stores.jsonl.verify import accept_loss, verify
from backscroll.stores.jsonl.writer import Append, Delete, Hold, Writer
from backscroll.stores.names import checked, checked_keys
from backscroll.stores.problems import Problem
from backscroll.stores.queued_store import TIMEOUT, QueuedStore, checked_durability
from backscroll.stores.turns import Turn


class JsonlStore(QueuedStore[Job]):
    """A store in a folder, which is made if it is not there. Beside each session's file lies one that counts appends.

    `durability` says when an append is done: `full` when it would survive a power cut, `normal` when it would survive
    the end of the process. `timeout` is how many seconds to wait for other processes. Opening a session reads its file
    once; an index of 8 to 24 bytes a record, and its keys, stay in memory.
    """

    def __init__(self, path: str | os.PathLike[str], durability: str = "full", *, timeout: float = TIMEOUT) -> None:
        checked_durability(durability)
        if sys.platform == "win32":
            raise ConfigurationError("a folder of JSON Lines needs file locks that Windows lacks: use sqlite:///")
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"{name!r} names no folder")
        path = os.path.realpath(name)
        self._folder = Folder(path, timeout)
        super().__init__(path, durability)

    @property
    def capabilities(self) -> frozenset[str]:
        """Everything that this store can do; SQLite can also fork and lease."""
        return frozenset(("durable", "shared", "delete", "turn"))

    def append(
        self, session: str, first: int, records: Sequence[Record], *, incarnation: str | None = None, turn: Any = None
    ) -> Future[str | None]:
        """Queues records for the places from `first` on. Done when they are as safe as `durability` says."""
        name, new = checked(session), checked_keys(records)
        lines.check(new)
        job = Append(name, first, new, incarnation)
        return job.done if turn is not None and turn.give(job) else self._put(job)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop` or the end that the log has when reading begins.

        Raises `CorruptionError` at the first record that is missing or altered, and `ConflictError` if the session is
        deleted meanwhile.
        """
        return self._read(checked(session), max(start, 0), stop)

    def _read(self, name: str, at: int, stop: int | None) -> Iterator[Stored]:
        with told(self.path), GATE:
            segments = self._folder.segments(name)
        for log, first, end, known in reversed(segments):
            at, last = max(at, first), end if stop is None else min(end, stop)
            while at < last:
                with told(log.path), GATE, log.lock:
                    got = log.load(known, at, last)
                yield from got
                at += len(got)

    def end(self, session: str) -> int:
        """The place behind the last record."""
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        """The same, with the session's incarnation: the id of its file."""
        log = self._folder.log(checked(session))
        with told(log.path), GATE, log.lock:
            index = log.refresh()
            return Tip(index.end, index.id if index.commits else None)

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """The place of the first record with a `seq` of at least this one, or of the record with this key.

        Raises `CorruptionError` where a record that is not as it was written may be the one.
        """
        with told(self.path), GATE:
            segments = self._folder.segments(checked(session))
            for segment in segments if key is not None else reversed(segments):
                found = _find(segment, seq, key)
                if found is not None:
                    return found
        return None

    def extent(self, session: str) -> Extent:
        """Return the bytes of a session's file, and when it was last written."""
        path = self._folder.log(checked(session)).path
        with told(path):
            try:
                found = os.stat(path)
            except FileNotFoundError:
                return Extent(0)
        return Extent(found.st_size, found.st_mtime)

    def sessions(self) -> list[str]:
        """Names, the session that began first before the others. Raises `CorruptionError` where a file has lost its."""
        with told(self.path), GATE:
            return [header.session for header in self._folder.headers()]

    def fork(self, session: str, new: str, at: int) -> NoReturn:  # noqa: ARG002 - of the port
        """Raise `ConfigurationError`."""
        raise _use_sqlite("forks no sessions; to fork")

    def lease(self, session: str, owner: str, seconds: float) -> NoReturn:  # noqa: ARG002 - of the port
        """Raise `ConfigurationError`."""
        raise _use_sqlite("leases no sessions; to lease")

    def turn(self, session: str) -> Future[Turn[Append]]:
        """Keeps all others from writing to the session's file until the append that is made with what this answers."""
        job = Hold(checked(session))
        self._put(job, at_once=True)
        return job.turn.granted

    def delete(self, session: str, cascade: bool = False) -> None:
        """Deletes a session's file. Also finishes an erasure that was cut short."""
        self._put(Delete(checked(session), cascade)).result()

    def verify(self, session: str | None = None) -> Iterator[Problem]:
        """Reads everything, or one session, and yields what is not as it was written. Changes nothing."""
        return verify(self._folder, None if session is None else checked(session))

    def accept_loss(self) -> int:
        """Goes on with what is left, where acknowledged appends are gone. Answers how many these were."""
        return accept_loss(self._folder)

    def repair(self) -> NoReturn:
        """Raise `ConfigurationError`."""
        raise _use_sqlite(
            "repairs nothing: restore the file from a backup, or call `accept_loss()` where only its end is gone; for "
            "a store that can be repaired"
        )

    def let_go(self) -> None:
        """Nothing is open between two uses."""

    def forked(self) -> None:
        """Begins anew, in the child of a fork. What the parent had queued is the parent's."""
        super().forked()
        self._folder.forked()

    def _worker(self) -> Writer:
        return Writer(self._folder, self.durability == "full")

    def _free(self) -> None:
        self._folder.forget()


def _use_sqlite(what: str) -> ConfigurationError:
    return ConfigurationError(f'a folder of JSON Lines {what}, use SQLite: store="sqlite:///agent.db"')


def _find(segment: Segment, seq: int | None, key: str | None) -> int | None:
    """The place in one file; None if it is not there."""
    log, first, last, _ = segment
    with log.lock:
        index = log.index
        if key is not None:
            place, before = index.keys.get(key, last), first
        else:
            place, before = index.place_of_seq(seq or 0)
        damaged = index.damaged_between(before, min(place, last)) if place >= last or key is None else None
        start = -1 - index.start(damaged) if damaged is not None else 0
    if damaged is not None:
        raise log.damaged(damaged, start)
    return place if place < last else None
