"""Bytes to transcripts: decoding, JSON, and detecting the format by content.

A file name does not determine the format, so names are only used in errors.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from backscroll.errors import TranscriptError
from backscroll.evaluation import codex, formats
from backscroll.evaluation.formats import Record
from backscroll.evaluation.transcript import Transcript, bad

__all__ = ["Records", "Transcript", "TranscriptError", "load", "read", "transcripts"]


def read(source: Path | bytes | BinaryIO, name: str | None = None) -> list[Transcript]:
    """Return all conversations of a source, in file order: at least one, with at least one message in all.

    Formats, detected by content: OpenAI chat as JSON (a list of messages, an object or request body with `messages`, a
    list of such objects) or as JSON Lines (one message or conversation per line), Claude Code and Codex sessions,
    SWE-agent files, tau-bench runs, Amplifier transcripts. Messages may have the shape of any dialect; Gemini's request
    bodies have `contents`.

    Args:
        source: A path, the content, or an open binary file.
        name: The name for errors and transcripts. `None`: the path.

    Raises:
        TranscriptError: The source is anything else; the error names file and line.
    """
    name = name or (str(source) if isinstance(source, Path) else "input")
    return transcripts(load(source, name), name)


class Records(NamedTuple):
    """The JSON values of a file."""

    lines: bool
    """Whether every record was on its own line."""
    all: list[Record]


def load(source: Path | bytes | BinaryIO, name: str) -> Records:
    """Return the JSON values of a source: one per line if the first line is an object, else one for the whole file.

    Raises:
        TranscriptError: It cannot be read, or is not JSON; the error names file and line.
    """
    return _records(_decode(_bytes(source, name), name), name)


def transcripts(records: Records, name: str) -> list[Transcript]:
    """Return the conversations that these values are: at least one, with at least one message in all.

    Raises:
        TranscriptError: They are anything else.
    """
    found = _transcripts(records, name)
    if not any(transcript.messages for transcript in found):
        raise bad(name, "holds no messages")
    return found


def _bytes(source: Path | bytes | BinaryIO, name: str) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return source.read_bytes() if isinstance(source, Path) else source.read()
    except OSError as error:
        raise bad(name, f"cannot be read: {error.strerror or error}") from error


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad(name, f"line {line}, byte {error.start}: not UTF-8 text ({error.reason})") from error
    if not text.strip():
        raise bad(name, "is empty")
    return text


def _records(text: str, name: str) -> Records:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) == 1 or not _is_object(lines[0][1]):
        return Records(False, [Record("", _parse(text, name, None))])
    last = lines[-1][0]
    return Records(True, [Record(f"line {at}", _line(line, name, at, at == last)) for at, line in lines])


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _line(line: str, name: str, number: int, last: bool) -> Any:
    value = _parse(line, name, number, last)
    if not isinstance(value, dict):
        raise bad(name, f"line {number}: expected a JSON object, found {formats.kind(value)}")
    return value


def _parse(text: str, name: str, line: int | None, last: bool = False) -> Any:
    """Parse JSON. `line`: the number of the only line in `text`; `None` if `text` is the whole file."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        if not text.lstrip().startswith(("{", "[")):
            raise bad(name, f"{place}: not JSON ({error.msg}); a transcript is JSON, or an object a line") from error
        if (last or line is None) and _ends_inside(text, error):
            raise bad(
                name, f"{place}: the last line is torn, the file ends inside a JSON value ({error.msg})"
            ) from error
        raise bad(name, f"{place}: not JSON ({error.msg})") from error
    except RecursionError:
        raise bad(name, f"line {line or 1}: nested too deeply for a JSON reader") from None
    except ValueError as error:
        line = line or _line_of_constant(text, error)
        raise bad(name, f"line {line}: not strict JSON ({error})") from error


def _ends_inside(text: str, error: json.JSONDecodeError) -> bool:
    text = text.rstrip()
    return error.pos >= len(text) or error.msg.startswith("Unterminated") or not text.endswith(("}", "]"))


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


def _line_of_constant(text: str, error: ValueError) -> int:
    """Return the line of NaN or a similar word, which the parser does not locate: the first in a value's place."""
    word = str(error).split(" ", 1)[0]
    found = re.search(rf"[:\[,]\s*{re.escape(word)}\b", text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _transcripts(records: Records, name: str) -> list[Transcript]:
    values = [record.value for record in records.all]
    if records.lines:
        return _from_lines(records.all, values, name)
    value = values[0]
    if isinstance(value, list):
        return _from_list(value, name)
    if isinstance(value, dict):
        return _from_object(records.all[0], name)
    raise bad(name, f"holds {formats.kind(value)}, expected messages")


def _from_lines(records: list[Record], values: list[Any], name: str) -> list[Transcript]:
    if any(formats.is_session_line(value) for value in values):
        return formats.claude_code(records, name)
    if codex.is_session(values):
        return [codex.codex(records, name)]
    if "role" in values[0] or (len(values) > 1 and "role" in values[1]):
        return [formats.chat(records, name)]
    return _from_many(records, name)


def _from_list(values: list[Any], name: str) -> list[Transcript]:
    records = [Record(f"item {number}", value) for number, value in enumerate(values, 1)]
    for record in records:
        if not isinstance(record.value, dict):
            raise bad(name, f"{record.place}: expected a JSON object, found {formats.kind(record.value)}")
    if any(formats.is_session_line(value) for value in values):
        return formats.claude_code(records, name)
    if values and "role" in values[0]:
        return [formats.chat(records, name)]
    return _from_many(records, name)


def _from_object(record: Record, name: str) -> list[Transcript]:
    if formats.is_session_line(record.value):
        return formats.claude_code([record], name)
    if "role" in record.value:
        return [formats.chat([record], name)]
    return _from_many([record], name)


Reader = Callable[[Record, str], Transcript]


def _from_many(records: list[Record], name: str) -> list[Transcript]:
    """Read one conversation per record."""
    found: list[Transcript] = []
    for number, record in enumerate(records, 1):
        own = name if len(records) == 1 else f"{name}#{number}"
        found.append(replace(_reader_of(record, name)(record, name), name=own))
    return found


def _reader_of(record: Record, name: str) -> Reader:
    value = record.value
    for key, reader in _READERS:
        if isinstance(value.get(key), list):
            return reader
    what = "no conversation: expected 'role', or a list under 'messages', 'contents', 'history' or 'traj'; found "
    what += formats.keys(value)
    raise bad(name, f"{record.place}: {what}" if record.place else what)


_READERS: tuple[tuple[str, Reader], ...] = (
    ("messages", formats.conversation),
    ("contents", formats.contents),
    ("traj", formats.tau_bench),
    ("history", formats.swe_agent),
    ("trajectory", formats.swe_agent),
)
