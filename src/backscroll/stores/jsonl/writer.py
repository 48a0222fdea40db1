"""Write to a folder of sessions: appends and deletions, in order.

Appends to one session that wait together are written and synced together. Each is checked separately: a conflict is the
result of one append and does not affect the others.
"""

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from backscroll.errors import ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.fork_lock import GATE
from backscroll.stores.group_commit import Answer, Job
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.file import LogFile, translated_errors
from backscroll.stores.jsonl.folder import Folder, Segment
from backscroll.stores.jsonl.lines import Header
from backscroll.stores.names import another
from backscroll.stores.turns import Turn


@dataclass(slots=True, eq=False)
class Append(Job):
    """Append records at `first` and the following positions."""

    first: int
    records: Sequence[Record]
    incarnation: str | None
    forms: list[lines.Form] = field(default_factory=list, init=False)

    @property
    def size(self) -> int:
        """Bytes of bodies."""
        return sum(len(record.body) for record in self.records)


@dataclass(slots=True, eq=False)
class Hold(Job):
    """Reserve a session's file for one writer until its append."""

    turn: Turn[Append] = field(default_factory=Turn, init=False)


@dataclass(slots=True, eq=False)
class Delete(Job):
    """Delete a session; with `cascade`, its forks as well."""

    cascade: bool


class Writer:
    """Performs jobs in one folder."""

    def __init__(self, folder: Folder, synced: bool) -> None:
        self._folder, self._synced = folder, synced

    def perform_now(self, job: Job, *, in_loop: bool) -> None:
        """`None`: locking a session's file may wait for another process."""

    def perform(self, jobs: list[Job]) -> Iterator[list[Answer[Job]]]:
        """Perform jobs: appends to one session together, up to the next job of another kind."""
        waiting: dict[str, list[Append]] = {}
        for job in jobs:
            if isinstance(job, Append):
                waiting.setdefault(job.session, []).append(job)
                continue
            yield from self._all_of(waiting)
            yield []  # so that finished jobs do not wait for another writer's turn
            yield self._held(job) if isinstance(job, Hold) else [(job, self._alone(job))]
        yield from self._all_of(waiting)

    def tip(self, session: str) -> None:
        """`None`: the index, which all readers share, knows the tip."""

    def close_idle(self) -> None:
        """Do nothing: no file is open between two jobs."""

    def _all_of(self, waiting: dict[str, list[Append]]) -> Iterator[list[Answer[Job]]]:
        for session, jobs in waiting.items():
            yield self._together(session, jobs)
        waiting.clear()

    def _alone(self, job: Job) -> BaseException | None:
        try:
            with translated_errors(self._folder.path), GATE:
                if isinstance(job, Delete):
                    self._erase(job)
        except BaseException as error:  # every error: a caller waits for the result
            return error
        return None

    def _together(self, session: str, jobs: list[Append]) -> list[Answer[Job]]:
        try:
            for job in jobs:
                job.forms = job.forms or [lines.form_of(record) for record in job.records]
            with translated_errors(self._folder.path), GATE:
                self._append(session, jobs)
        except BaseException as error:  # every error: a caller waits for each result
            if len(jobs) > 1 and isinstance(error, StoreUnavailableError):
                return [answer for job in jobs for answer in self._together(session, [job])]
            return [(job, error) for job in jobs]
        return [(job, job.error) for job in jobs]

    def _held(self, job: Hold) -> list[Answer[Job]]:
        """Lock the session's file, if it exists, until the writer with the turn has appended."""
        log, given, written = self._folder.log(job.session), list[Append](), False
        try:
            with (
                translated_errors(self._folder.path),
                GATE,
                translated_errors(log.path),
                log.opened(self._folder.timeout) as descriptor,
            ):
                append = job.turn.wait()
                if append is not None and append.done.set_running_or_notify_cancel():
                    given.append(append)
                    append.forms = [lines.form_of(record) for record in append.records]
                    with log.lock:
                        if descriptor is not None and log.refresh(sure=True).commits:
                            self._write(log, descriptor, given)
                            written = True
        except BaseException as error:  # every error: a caller waits for the result
            job.turn.fail(error)
            return [(job, None), *((each, error) for each in given)]
        if given and not written:  # the file did not exist, so nothing was locked
            return [(job, None), *self._together(job.session, given)]
        return [(job, None), *((each, each.error) for each in given)]

    # -- appending --

    def _append(self, session: str, jobs: list[Append]) -> None:
        log = self._folder.log(session)
        with translated_errors(log.path), log.opened(self._folder.timeout) as descriptor, log.lock:
            if descriptor is not None and log.refresh(sure=True).commits:
                self._write(log, descriptor, jobs)
                return
            if descriptor is None:
                log.refresh()
            if not _lines_of(log, jobs, ())[0]:
                return
        self._begin(log, jobs)

    def _begin(self, log: LogFile, jobs: list[Append]) -> None:
        self._folder.make()
        with log.opened(self._folder.timeout, make=True) as descriptor, log.lock:
            assert descriptor is not None
            if log.refresh(sure=True).commits:  # another process created it meanwhile
                self._write(log, descriptor, jobs)
                return
            self._write(log, descriptor, jobs, Header(log.session, time.time_ns(), secrets.token_hex(8)))

    def _write(self, log: LogFile, descriptor: int, jobs: Sequence[Append], begins: Header | None = None) -> None:
        data, commits = _lines_of(log, jobs, self._folder.past(log.index.header))
        if not data:
            return
        log.write(descriptor, (lines.header_line(begins) if begins else b"") + data, self._synced)
        if begins and self._synced:
            self._folder.sync()
        log.raise_guard(commits)
        for job in jobs:
            job.answer = begins.id if begins else log.index.id

    # -- deleting --

    def _erase(self, job: Delete) -> None:
        if not self._folder.log(job.session).is_there():
            return
        parents = self._parents(but=self._folder.log(job.session).path)
        forks = [name for name, parent in parents.items() if parent == job.session]
        if forks and not job.cascade:
            raise ConflictError(
                f"session {job.session!r} shares records with its forks {forks}: delete them first, "
                "or pass `cascade=True`"
            )
        going = [job.session]
        for each in going:  # grows on the way
            going += [name for name, parent in parents.items() if parent == each]
        for each in reversed(going):
            log = self._folder.log(each)
            with log.opened(self._folder.timeout), log.lock:
                log.remove()
        self._folder.sync()

    def _parents(self, but: str) -> dict[str, str | None]:
        """Sessions with the session that an earlier version forked them from."""
        parents: dict[str, str | None] = {}
        for path, header, problem in self._folder.listed():
            if header is not None:
                parents[header.session] = header.parent
            elif path != but and os.path.exists(path):
                raise CorruptionError(f"{problem}; it may be a fork of what is to be deleted: restore or move it first")
        return parents


def _lines_of(log: LogFile, jobs: Sequence[Append], past: Sequence[Segment]) -> tuple[bytes, int]:
    """The lines to write, and the number of the last append in them. Sets the error of each job in conflict."""
    index, found = log.index, list[bytes]()
    end, commits, taken = index.end, index.commits, set[str]()
    for job in jobs:
        keys = [record.key for record in job.records if record.key is not None]
        used = _used(log, past, keys, taken)
        job.error = None
        if job.incarnation is not None and (not index.commits or index.id not in (None, job.incarnation)):
            job.error = another(job.session, not index.commits)
        elif job.first != end:
            why = f"its log has {end} records, so position {job.first} is not its end"
            job.error = ConflictError(f"session {job.session!r}: {why}")
        elif used is not None:
            job.error = ConflictError(f"session {job.session!r}: the key {used!r} is used already")
        elif job.records:
            commits += 1
            found += lines.record_lines(job.session, job.first, job.forms, commits)
            end += len(job.records)
            taken.update(keys)
    return b"".join(found), commits


def _used(log: LogFile, past: Sequence[Segment], keys: Sequence[str], taken: set[str]) -> str | None:
    """The first of these keys that is used, also twice among themselves."""
    seen = set(taken)
    for key in keys:
        shared = any(each.log.index.keys.get(key, each.last) < each.last for each in past)
        if shared or key in seen or key in log.index.keys:
            return key
        seen.add(key)
    return None
