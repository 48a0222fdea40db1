"""Read what a log holds from a byte on: whole lines, each with the byte at which it begins."""

import json
from io import BytesIO
from typing import Any, NamedTuple
from zlib import crc32


class LogLines(NamedTuple):
    """The lines of a log from a byte on."""

    values: list[dict[str, Any]]
    starts: list[int]
    """The byte of the log at which each line begins."""
    end: int
    """The byte behind the last whole line."""
    data: bytes
    """What was read, up to `end`."""
    begin: int

    def checksum(self, start: int, end: int) -> int:
        """Return a checksum of the bytes of the log from `start` to `end`."""
        return crc32(self.data[start - self.begin : end - self.begin])


def read_lines(path: str, begin: int) -> LogLines:
    """Return the lines from a byte on, at which a line begins.

    The last line may still be written: it is left for the next time, unless it is a whole JSON object already. Lines
    that are no JSON object are passed over.

    Raises:
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        file.seek(begin)
        data = file.read()
    values, starts, at = list[dict[str, Any]](), list[int](), 0
    for line in BytesIO(data):  # lines end at "\n" only
        value = _value(line)
        if value is not None:
            values.append(value)
            starts.append(begin + at)
        elif not line.endswith(b"\n"):
            break
        at += len(line)
    return LogLines(values=values, starts=starts, end=begin + at, data=data[:at], begin=begin)


def _value(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=_refused)
        if b"\\ud" in line.lower():  # a surrogate alone is no character, and no store holds it
            text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")
