"""The module's files: the transcript, one message a line, and memory files.

A transcript is plain JSON Lines that any tool can read, including those of context-persistent and of Amplifier's own
sessions. `append` returns once the message is on disk. A line torn by a crash is reported and skipped, and the next
message starts on a line of its own.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

Message = dict[str, Any]
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


class Loaded(NamedTuple):
    """The content of a transcript."""

    messages: list[tuple[int, Message]]
    """Each with its line number, from 1."""
    damaged: list[int]
    """Numbers of the lines that are not a message."""


def transcript_file(
    storage_path: str | None, transcript_path: str | None, session_id: str, *, child: bool = False
) -> Path | None:
    """Return the path of the session's transcript; `None` if there is none.

    A child session inherits its parent's configuration, so it gets another file in the same folder.
    """
    if transcript_path:
        path = Path(transcript_path).expanduser()
        return path.with_name(f"{_file_name(session_id)}.jsonl") if child else path
    if storage_path:
        return Path(storage_path).expanduser() / f"{_file_name(session_id)}.jsonl"
    return None


def _file_name(session_id: str) -> str:
    """Return the id if it is a plain name; else its plain characters with a hash: an id must not act as a path."""
    plain = _NOT_IN_NAMES.sub("_", session_id).strip(".")[:80]
    return plain if plain == session_id else f"{plain}-{sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:12]}"


class TranscriptFile:
    """A transcript file. Methods block and are thread-safe; each leaves the file valid."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._begun = False
        """Whether the end of the file was checked: a torn last line must not swallow the next message."""

    def load(self) -> Loaded:
        """Return the messages of the file; none if there is no file yet."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return Loaded([], [])
        messages: list[tuple[int, Message]] = []
        damaged: list[int] = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                message = _message(line)
                if message is None:
                    damaged.append(number)
                else:
                    messages.append((number, message))
        return Loaded(messages, damaged)

    def append(self, messages: Iterable[Message]) -> None:
        """Append messages; they are on disk when this returns."""
        data = b"".join(_line(message) for message in messages)
        with self._lock:
            begun, self._begun = self._begun, False  # a failed write may leave half a line
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                if not begun and size > 0:
                    file.seek(-1, os.SEEK_END)
                    data = data if file.read(1) == b"\n" else b"\n" + data
                _write_or_undo(file, data, size)
            if not begun:
                _sync_folder(self.path.parent)
            self._begun = True

    def replace(self, messages: Iterable[Message]) -> None:
        """Replace the content of the file; after a crash it holds either the old or the new messages."""
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.writelines(map(_line, messages))
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path.resolve())  # the target, if the path is a link
                _sync_folder(self.path.parent)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._begun = True


def _sync_folder(folder: Path) -> None:
    """Sync the folder: otherwise a power cut may lose the name of a synced file."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_or_undo(file: FileIO, data: bytes, size: int) -> None:
    """Write all of the data or, if the disk allows, none: the next append writes it again."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(size)
        raise


def _line(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _message(line: bytes) -> Message | None:
    try:
        value = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict and type(value.get("role")) is str else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def memory_message(path: str) -> Message:
    """Return a memory file as a system message. Raises `OSError` if it cannot be read.

    It is marked as added by a hook, so that a system prompt factory does not replace it.
    """
    text = Path(path).expanduser().read_text(encoding="utf-8", errors="replace")
    return {
        "role": "system",
        "content": text,
        "metadata": {"source": "hook", "hook_name": "memory_files", "path": path},
    }
