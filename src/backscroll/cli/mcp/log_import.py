"""Import new and grown logs into the store.

How far a log was imported is noted with the last message that came from it, in the same step as the message. So the
note cannot get lost or be ahead of the store, it works for every store, and several machines may share one. A file next
to the store would have to be kept in step with it, and a database on a server has no place for one.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from backscroll.cli.mcp.log_files import LogFile
from backscroll.cli.mcp.log_lines import LogLines, read_lines
from backscroll.cli.mcp.log_messages import LogSession, described, noted, sessions_of
from backscroll.cli.mcp.log_session import LogSessionWriter, accepted
from backscroll.cli.mcp.unredacted import delete_unredacted
from backscroll.cli.redaction.redaction import Redaction
from backscroll.errors import BackscrollError, ConflictError, MessageError, StoreUnavailableError
from backscroll.integrations.mcp.catching_up import Progress
from backscroll.integrations.mcp.facts import REDACTION, unredacted
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.messages import Message
from backscroll.notices import warn
from backscroll.ports import Store


class ImportState(NamedTuple):
    """How far a log was imported."""

    read: int
    """The byte up to which it was read."""
    resume: int
    """The byte from which it is read again once it grew: there the newest answer begins, which may have grown."""
    seq: int
    """The place in the branch of the message that begins at `resume`."""
    checksum: int
    """Of the bytes from `resume` to `read`: a log that has others there was rewritten."""
    mtime: int
    """Modification time of the file, in nanoseconds."""

    @classmethod
    def of(cls, noted: dict[str, Any]) -> "ImportState | None":
        """Return the state that was noted; `None` if there is none."""
        values = [noted.get(name) for name in cls._fields]
        return cls(*values) if all(type(value) is int for value in values) else None  # type: ignore[arg-type]

    def continues(self, lines: LogLines) -> bool:
        """Return whether a log, read from `resume` on, still holds what was imported."""
        return self.seq >= 0 and self.read <= lines.end and lines.checksum(self.resume, self.read) == self.checksum


class LogImport:
    """Imports logs, the newest first. A feed of `Archive`.

    Args:
        store: where to.
        find: returns the logs as they are now.
        redaction: what is taken out of every message, name and folder before it is stored.
    """

    def __init__(self, store: Store, find: Callable[[], list[LogFile]], redaction: Redaction | None = None) -> None:
        self._store, self._find, self._redaction = store, find, redaction or Redaction()
        self._done: dict[str, tuple[int, int]] = {}
        """Size and modification time of the logs that need nothing."""
        self._carried: dict[str, list[str]] = {}
        """Redactions that sessions had which were deleted to be imported with more."""
        self.bytes_read: int = 0
        """Bytes of logs that were read so far."""

    def __call__(self, index: StoreIndex) -> Iterator[Progress]:
        """Import what is new, and yield before each log how far this is."""
        waiting = [file for file in self._find() if self._done.get(file.path) != (file.size, file.mtime)]
        if waiting:
            index.refresh()
            names = [self._redaction.name(file.session) for file in waiting]
            self._carried |= yield from delete_unredacted(self._store, index, names, self._redaction)
        for done, file in enumerate(waiting):
            yield Progress("An import", done, len(waiting))
            try:
                self._import(file, index)
            except ConflictError:
                continue  # another process imports it; the next look finds what it left
            except StoreUnavailableError:
                raise
            except OSError as error:
                warn(f"{file.path} is not imported: {error.strerror or error}")
            except BackscrollError as error:  # the session is damaged; others are not
                warn(f"{file.path} is not imported: {error}")
                index.leave_out(self._redaction.name(file.session), error)
            self._done[file.path] = file.size, file.mtime

    def _import(self, file: LogFile, index: StoreIndex) -> None:
        session = self._redaction.name(file.session)
        known = index.catch_up(session)
        state = None if known is None else ImportState.of(known.facts.imported)
        if state is not None and (state.read, state.mtime) == (file.size, file.mtime):
            return
        with LogSessionWriter(self._store, session) as writer:
            imported = writer.imported()  # not from the index: a killed import may have rewound and not appended
            redaction = self._redaction.with_marks(imported.get(REDACTION, self._carried.get(session, ())))
            if redaction is None or (imported and unredacted(imported, redaction.marks)):
                warn(f"{file.path} is not imported: session {session!r} was, with another redaction")
                return
            found = self._sessions(file, ImportState.of(imported), redaction)
            for name, (first, messages) in found.items():
                if name == session:
                    self._write(writer, first, messages, imported)
                    continue
                with LogSessionWriter(self._store, name) as side:
                    if not unredacted(side.imported() or {REDACTION: list(redaction.marks)}, redaction.marks):
                        self._write(side, first, messages, None)
        for name in found:
            index.catch_up(name)

    def _sessions(
        self, file: LogFile, state: ImportState | None, redaction: Redaction
    ) -> dict[str, tuple[int, list[Message]]]:
        """Return the messages of each session of a log, from a place in its branch on."""
        begin, first = (0, 0) if state is None or state.seq < 0 else (state.resume, state.seq)
        lines = self._read(file, begin)
        found = sessions_of(file, lines)
        if begin and (state is None or not state.continues(lines) or any(each.suffix for each in found)):
            lines, first = self._read(file, 0), 0
            found = sessions_of(file, lines)
        session = redaction.name(file.session)
        noting = partial(self._noted, file, lines, redaction, first, several=len(found) > 1)
        return {session + each.suffix: (first, noting(each)) for each in found if each.messages}

    def _read(self, file: LogFile, begin: int) -> LogLines:
        lines = read_lines(file.path, begin)
        self.bytes_read += len(lines.data)
        return lines

    @staticmethod
    def _write(writer: LogSessionWriter, first: int, messages: list[Message], state: dict[str, Any] | None) -> None:
        try:
            writer.replace(first, messages, state)
        except MessageError:
            if kept := _still_noted(messages):
                writer.replace(first, kept, None)

    @staticmethod
    def _noted(
        file: LogFile, lines: LogLines, redaction: Redaction, first: int, each: LogSession, *, several: bool
    ) -> list[Message]:
        """Return what is stored: in the first message also what the log says, in the last how far it is imported."""
        answers = [at for at, message in enumerate(each.messages) if message["role"] == "assistant"]
        at = answers[-1] if answers else 0
        resume = each.began[at]
        seq = -1 if several else first + at  # sub-agents among the lines: read the whole log again
        state = ImportState(
            read=lines.end, resume=resume, seq=seq, checksum=lines.checksum(resume, lines.end), mtime=file.mtime
        )
        messages: list[Message] = [redaction.message(message) for message in each.messages]
        marks = {REDACTION: sorted(redaction.marks)} if redaction.marks else {}
        messages[-1] = noted(messages[-1], {"imported": {**state._asdict(), **marks}})
        if first == 0:
            about = described(file, lines.values) | ({"parent": file.session} if each.suffix else {})
            redacted = {
                key: redaction.name(text) if key == "parent" else redaction.text(text) for key, text in about.items()
            }
            messages[0] = noted(messages[0], redacted)
        return messages


def _still_noted(messages: list[Message]) -> list[Message]:
    """Return what a history accepts, with what the first and the last message note."""
    kept = accepted(messages)
    if kept:
        kept[0] = noted(kept[0], {**messages[0]["metadata"]["log"], **kept[0]["metadata"]["log"]})
        kept[-1] = noted(kept[-1], {"imported": messages[-1]["metadata"]["log"]["imported"]})
    return kept
