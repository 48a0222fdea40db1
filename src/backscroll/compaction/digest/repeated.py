"""Recognize blocks of lines that hosts put into every message of a user: they are in several, next to other words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from backscroll.history.plan import DigestLine

_OFTEN = 3  # messages with the same lines in a row: a person repeats one rule, but seldom several, word for word
_LENGTH = 80  # characters of two such lines


def without_repeated(notes: Sequence[DigestLine], known: Iterable[DigestLine] = ()) -> list[DigestLine]:
    """Return notes where such lines count as pasted, so that they state no rule.

    Args:
        notes: Users' words and others.
        known: Notes that stay as they are.
    """
    counts = Counter(pair for note in (*known, *notes) for pair in set(_pairs(note)))
    repeated = {line for pair, times in counts.items() if times >= _OFTEN for line in pair}
    return list(_split(notes, repeated)) if repeated else list(notes)


def _pairs(note: DigestLine) -> Iterator[tuple[str, str]]:
    if note.kind in ("user", "pasted"):
        lines = [line for line in note.text.split("\n") if line.strip()]
        yield from (pair for pair in pairwise(lines) if pair[0] != pair[1] and len("".join(pair)) >= _LENGTH)


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
