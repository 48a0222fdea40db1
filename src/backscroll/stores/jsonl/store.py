"""Sessions in a folder of JSON Lines.

    store = JsonlStore("sessions")

Each session is a file, and each event a line, readable and searchable with any tool. Any number of processes may use
the folder. Acknowledged records survive the process and, with `durability="full"`, a power cut. Every line is checked
when it is read. No file is touched before the first use. A forked process opens its own files.

This store does not fork, lease or repair: SQLite does. It reads forks that an earlier version made.
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
from backscroll.stores.jsonl.file import translated_errors
from backscroll.stores.jsonl.folder import Folder, Segment
from backscroll.stores.jsonl.verify import accept_loss, verify
from backscroll.stores.jsonl.writer import Append, Delete, Hold, Writer
from backscroll.stores.names import checked, checked_keys
from backscroll.stores.problems import Problem
from backscroll.stores.queued_store import TIMEOUT, QueuedStore, checked_durability
from backscroll.stores.turns import Turn


class JsonlStore(QueuedStore[Job]):
    """A store in a folder, which the first append creates. Next to each session's file, another one counts its appends.

    Opening a session reads its file once. An index of 8 to 24 bytes per record, plus its keys, stays in memory.

    Args:
        path: the folder.
        durability: `"full"`: an append is done when it survives a power cut. `"normal"`: when it survives the process.
        timeout: seconds to wait for other processes.

    Raises:
        ConfigurationError: an argument is invalid, or the system is Windows.
    """

    def __init__(self, path: str | os.PathLike[str], durability: str = "full", *, timeout: float = TIMEOUT) -> None:
        checked_durability(durability)
        if sys.platform == "win32":
            raise ConfigurationError("a folder of JSON Lines needs file locks that Windows lacks: use sqlite:///")
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"`path` {name!r} is not a folder: pass the path of a folder")
        path = os.path.realpath(name)
        self._folder = Folder(path, timeout)
        super().__init__(path, durability)

    @property
    def capabilities(self) -> frozenset[str]:
        """What this store supports. SQLite can also fork and lease."""
        return frozenset(("durable", "shared", "delete", "turn"))

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Future[str | None]:
        """Queue records to append at `expected_position`. Done when they are as safe as `durability` says."""
        name, new = checked(session), checked_keys(records)
        lines.check(new)
        job = Append(name, expected_position, new, incarnation)
        return self._put(job) if turn is None else self._in_turn(job, turn)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`, at most to the log's end when reading starts.

        Raises:
            CorruptionError: at the first record that is missing or damaged.
            ConflictError: the session is deleted meanwhile.
        """
        return self._read(checked(session), max(start, 0), stop)

    def _read(self, name: str, at: int, stop: int | None) -> Iterator[Stored]:
        with translated_errors(self.path), GATE:
            segments = self._folder.segments(name)
        for log, first, end, known in reversed(segments):
            at, last = max(at, first), end if stop is None else min(end, stop)
            while at < last:
                with translated_errors(log.path), GATE, log.lock:
                    got = log.load(known, at, last)
                yield from got
                at += len(got)

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation: the id of its file."""
        log = self._folder.log(checked(session))
        with translated_errors(log.path), GATE, log.lock:
            index = log.refresh()
            return Tip(index.end, index.id if index.commits else None)

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key.

        Raises `CorruptionError` if a damaged record may be the one.
        """
        with translated_errors(self.path), GATE:
            segments = self._folder.segments(checked(session))
            for segment in segments if key is not None else reversed(segments):
                found = _find(segment, seq, key)
                if found is not None:
                    return found
        return None

    def extent(self, session: str) -> Extent:
        """Return the size of a session's file in bytes, and when it was last written."""
        path = self._folder.log(checked(session)).path
        with translated_errors(path):
            try:
                found = os.stat(path)
            except FileNotFoundError:
                return Extent(0)
        return Extent(found.st_size, found.st_mtime)

    def sessions(self) -> list[str]:
        """Names in the order of creation. Raises `CorruptionError` if the name of a file's session is damaged."""
        with translated_errors(self.path), GATE:
            return [header.session for header in self._folder.headers()]

    def fork(self, session: str, new: str, at: int) -> NoReturn:  # noqa: ARG002 - of the port
        """Raise `ConfigurationError`."""
        raise _use_sqlite("cannot fork sessions: to fork")

    def lease(self, session: str, owner: str, seconds: float) -> NoReturn:  # noqa: ARG002 - of the port
        """Raise `ConfigurationError`."""
        raise _use_sqlite("cannot lease sessions: to lease")

    def turn(self, session: str) -> Future[Turn[Append]]:
        """Lock the session's file until the append that passes this turn."""
        job = Hold(checked(session))
        self._put(job, at_once=True)
        return job.turn.granted

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session's file. Also completes a deletion that was interrupted."""
        self._put(Delete(checked(session), cascade)).result()

    def verify(self, session: str | None = None) -> Iterator[Problem]:
        """Read everything, or one session, and yield what differs from what was written. Changes nothing."""
        return verify(self._folder, None if session is None else checked(session))

    def accept_loss(self) -> int:
        """Continue with what is left after acknowledged appends were lost. Returns their number."""
        return accept_loss(self._folder)

    def repair(self) -> NoReturn:
        """Raise `ConfigurationError`."""
        raise _use_sqlite(
            "cannot be repaired: restore the file from a backup, or call `accept_loss()` if only its end is missing; "
            "for a store that can be repaired"
        )

    def close_idle(self) -> None:
        """Do nothing: no file is open between two uses."""

    def forked(self) -> None:
        """Reset in the child of a fork. The parent writes what it had queued."""
        super().forked()
        self._folder.forked()

    def _worker(self) -> Writer:
        return Writer(self._folder, self.durability == "full")

    def _free(self) -> None:
        self._folder.forget()


def _use_sqlite(what: str) -> ConfigurationError:
    return ConfigurationError(f'a folder of JSON Lines {what}, use SQLite: store="sqlite:///agent.db"')


def _find(segment: Segment, seq: int | None, key: str | None) -> int | None:
    """The position in one file; `None` if the record is not there."""
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
