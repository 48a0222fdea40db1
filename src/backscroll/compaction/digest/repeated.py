"""Recognize lines that hosts put into every message of a user: they are in several, next to other words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from backscroll.history.plan import DigestLine

_OFTEN = 3  # messages with the same line: a person repeats a rule, but seldom so often and word for word
_LENGTH = 40  # characters of a line that is no greeting and no short order


def without_repeated(notes: Sequence[DigestLine], known: Iterable[DigestLine] = ()) -> list[DigestLine]:
    """Return notes where such lines count as pasted, so that they state no rule.

    Args:
        notes: Users' words and others.
        known: Notes that stay as they are.
    """
    counts = Counter(line for note in (*known, *notes) for line in set(_long_lines(note)))
    repeated = {line for line, times in counts.items() if times >= _OFTEN}
    return list(_split(notes, repeated)) if repeated else list(notes)


def _long_lines(note: DigestLine) -> Iterator[str]:
    lines = note.text.split("\n") if note.kind in ("user", "pasted") else ()
    if note.kind == "pasted" or len([line for line in lines if line.strip()]) > 1:
        yield from (line for line in lines if len(line) >= _LENGTH)


def _split(notes: Iterable[DigestLine], repeated: set[str]) -> Iterator[DigestLine]:
    for note in notes:
        if note.kind == "rule" and any(note.text in line for line in repeated):
            continue
        lines = note.text.split("\n") if note.kind == "user" else []
        own = "\n".join(line for line in lines if line not in repeated).strip()
        if not own or own == note.text.strip():
            yield note
            continue
        yield note._replace(text=own)
        yield note._replace(kind="pasted", text="\n".join(line for line in lines if line in repeated))
