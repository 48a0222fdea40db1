"""The module's files: the transcript, one message a line, and memory files. Knows nothing of views or of the host.

A transcript is what its host wrote it to be: plain JSON lines that any tool can read, also those of context-persistent
and of Amplifier's own sessions. A message is appended when it was added and is on the disk when that returns. A line
that was torn by a crash is reported and passed over, and what comes next begins a line of its own.
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
    """What a transcript held."""

    messages: list[tuple[int, Message]]
    """With the numbers of their lines, from 1."""
    damaged: list[int]
    """Numbers of the lines that hold no message."""


def transcript_file(
    storage_path: str | None, transcript_path: str | None, session_id: str, *, child: bool = False
) -> Path | None:
    """Where the session's transcript is kept; None where it is not. A child inherits the configuration of its parent,
    whose file is not its own: it has another one in the same folder.
    """
    if transcript_path:
        path = Path(transcript_path).expanduser()
        return path.with_name(f"{_file_name(session_id)}.jsonl") if child else path
    if storage_path:
        return Path(storage_path).expanduser() / f"{_file_name(session_id)}.jsonl"
    return None


def _file_name(session_id: str) -> str:
    """The id where it is a plain name; else what is left of it, told apart by a hash: an id is no path."""
    plain = _NOT_IN_NAMES.sub("_", session_id).strip(".")[:80]
    return plain if plain == session_id else f"{plain}-{sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:12]}"


class TranscriptFile:
    """One file. Methods block and may be called from any thread; each leaves the file whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._begun = False
        """Whether the file's end was looked at: a torn last line must not swallow what is appended."""

    def load(self) -> Loaded:
        """The messages that the file holds; none where there is no file yet."""
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
        """Adds messages behind what is there; they are on the disk when this returns."""
        data = b"".join(_line(message) for message in messages)
        with self._lock:
            begun, self._begun = self._begun, False  # a write that fails may leave half a line
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file:
                size = file.tell()
                if not begun and size > 0:
                    file.seek(-1, os.SEEK_END)
                    data = data if file.read(1) == b"\n" else b"\n" + data
                _write_or_undo(file, data, size)
            if not begun:
                _sync_folder(self.path.parent)
            self._begun = True

    def replace(self, messages: Iterable[Message]) -> None:
        """Makes the file hold these messages and no others; a crash leaves the old file or the new one."""
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.writelines(map(_line, messages))
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path.resolve())  # the file itself, where the path is a link to it
                _sync_folder(self.path.parent)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._begun = True


def _sync_folder(folder: Path) -> None:
    """A power cut must not lose the name of a file that is on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_or_undo(file: FileIO, data: bytes, size: int) -> None:
    """All of the data or, as far as the disk allows it, none: what failed is written once more, in full."""
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
    """A memory file as the system message that stands for it. Raises `OSError` where it cannot be read.

    It is marked as put in by a hook, so that it stays beside the text of a system prompt factory.
    """
    text = Path(path).expanduser().read_text(encoding="utf-8", errors="replace")
    return {
        "role": "system",
        "content": text,
        "metadata": {"source": "hook", "hook_name": "memory_files", "path": path},
    }
