"""What a model reads of a message, word for word, each part under a heading."""

from collections.abc import Iterable, Iterator

from backscroll.errors import ReferenceNotFoundError
from backscroll.history.history import Entry
from backscroll.history.plan import reference


def checked_part(entry: Entry, part: int | None) -> int | None:
    """Return the part unchanged.

    Raises:
        ReferenceNotFoundError: The entry has no such part.
    """
    if part is not None and part >= len(entry.reading.parts):
        last = len(entry.reading.parts) - 1
        has = f"its parts are {entry.seq}.0 to {entry.seq}.{last}" if last >= 0 else "it has none"
        raise ReferenceNotFoundError(f"message {entry.seq} has no part {part}: {has}")
    return part


def alone(entry: Entry, part: int | None) -> str | None:
    """Return the text of the given part, verbatim, or of the only one; None if there are several."""
    if part is None:
        shown = [number for number, found in enumerate(entry.reading.parts) if found.readable]
        if len(shown) != 1:
            return None
        part = shown[0]
    return part_text(entry, part)


def texts(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the text of entries, part by part, each with a heading."""
    for entry in entries:
        for number in range(len(entry.reading.parts)):
            yield f"{heading(entry, number)}\n{part_text(entry, number)}\n"


def part_text(entry: Entry, number: int) -> str:
    """Return what a model reads of a part. Media and encrypted reasoning are named: their bytes are no text."""
    part = entry.reading.parts[number]
    if part.media:
        return f"({part.media.kind})"
    return part.readable or ("(encrypted)" if part.text else "")


def heading(entry: Entry, number: int) -> str:
    """Return a heading such as `[ref:12.0] assistant, call read_file`."""
    part = entry.reading.parts[number]
    what = f", {part.kind}" if part.kind not in ("text", "result") else ""
    who = " ".join(filter(None, (entry.reading.role, entry.reading.speaker)))
    return f"{reference(entry.seq, part=number)} {who}{what}{f' {part.name}' if part.name else ''}"
