"""One file with sessions from any store, for export and import: JSON Lines, one pass, no index.

Each session starts with a line that names it. The lines of its records follow, as in `jsonl:///`. The last line counts
sessions and records, so that a truncated file is detected.
"""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import BinaryIO

from backscroll.errors import ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record, Stored
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.lines import Header

_ENDS = b'{"sessions":'
_BEGINS = b'{"backscroll":'


def is_portable(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like an exported file."""
    with open(path, "rb") as file:
        return file.read(len(_BEGINS)) == _BEGINS


class PortableWriter:
    """Writes sessions one after the other, each from its start. `finish` completes the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ends: dict[str, int] = {}
        self._commits = 0

    def length(self, session: str) -> int:
        """Number of records written of a session."""
        return self._ends.get(session, 0)

    def append(self, session: str, expected_position: int, records: Sequence[Record]) -> Future[None]:
        """Write records of the current session, or start another one."""
        begins = session not in self._ends
        if expected_position != self.length(session) or (not begins and session != next(reversed(self._ends))):
            raise ConflictError(f"session {session!r}: write sessions one after the other, each from its first record")
        lines.check(records)
        if begins:
            self._commits = 0
            self._file.write(lines.header_line(Header(session, len(self._ends) + 1, "")))
        self._commits += 1
        forms = [lines.form_of(record) for record in records]
        self._file.writelines(lines.record_lines(session, expected_position, forms, self._commits))
        self._ends[session] = expected_position + len(records)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def finish(self) -> None:
        """Write the last line."""
        totals = {"sessions": len(self._ends), "records": sum(self._ends.values())}
        self._file.write(lines.sealed(json.dumps(totals, separators=(",", ":")).encode()[:-1], 0))
        self._file.flush()


class PortableFile:
    """The sessions of an exported file, as a source to copy from. Opening it reads and checks every line.

    Raises:
        CorruptionError: a line fails its checksum, or the end of the file is missing.
        StoreUnavailableError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self.path: str = os.fspath(path)
        self.name: str = name or self.path
        """The name for error messages."""
        self._sessions: dict[str, tuple[int, int]] = {}
        """Offset in bytes of each session's first record, and its number of records."""
        try:
            with open(self.path, "rb") as file:
                self._check(file)
        except OSError as error:
            raise StoreUnavailableError(f"{self.name}: {error.strerror or error}") from error

    def sessions(self) -> list[str]:
        """Names, in the order of the file."""
        return list(self._sessions)

    def length(self, session: str) -> int:
        """Number of records in the log."""
        return self._sessions.get(session, (0, 0))[1]

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records in order."""
        begins, end = self._sessions.get(session, (0, 0))
        seed = lines.seed_of(session)
        with open(self.path, "rb") as file:
            file.seek(begins)
            for at in range(end if stop is None else min(stop, end)):
                line = file.readline()[:-1]
                head = lines.head_of(line) if lines.is_good(line, seed) else None
                if head is None or head.at != at:
                    raise CorruptionError(
                        f"{self.name}: it was changed while it was read, at position {at} of {session!r}"
                    )
                if at >= start:
                    yield Stored(at, lines.record_of(line, head))

    def _check(self, file: BinaryIO) -> None:
        session, at, start, seed = "", 0, 0, 0
        for number, line in enumerate(file, 1):
            where = f"{self.name}: line {number}, byte {start}"
            content, start = line[:-1], start + len(line)
            if content.startswith(_ENDS) and lines.is_good(content, 0):
                self._check_end(file, content, where)
                return
            header = lines.header_of(content)
            if header is not None and header.session not in self._sessions:
                session, at, seed = header.session, 0, lines.seed_of(header.session)
                self._sessions[session] = start, 0
                continue
            head = lines.head_of(content) if line.endswith(b"\n") and lines.is_good(content, seed) else None
            if head is None or head.at != at or not session:
                raise CorruptionError(f"{where}: this is not what was written there; export the sessions again")
            at += 1
            self._sessions[session] = self._sessions[session][0], at
        raise CorruptionError(
            f"{self.name}: its last line is missing, so the file is incomplete; export the sessions again"
        )

    def _check_end(self, file: BinaryIO, line: bytes, where: str) -> None:
        totals, records = json.loads(line), sum(number for _, number in self._sessions.values())
        if (totals["sessions"], totals["records"]) != (len(self._sessions), records):
            raise CorruptionError(
                f"{where}: {totals['sessions']} sessions with {totals['records']} records were written, and there are "
                f"{len(self._sessions)} with {records}; export the sessions again"
            )
        if file.readline():
            raise CorruptionError(f"{where}: there is data behind the last line; export the sessions again")
