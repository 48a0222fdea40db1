"""Write a chronicle as a summary shows it: an entry for each turn with its reference, and its lines indented below it.

Every line of ours begins at the margin or with two spaces. Further lines of a text are indented by four, so that no
text of a message can imitate one.
"""

from collections.abc import Iterable
from functools import lru_cache

from backscroll.history.plan import DETAILS, LINES, DigestLine, reference
from backscroll.view.escaping import escaped

STATE_LINE = "State as of message {}; newer messages below override it:"
FILES_LINE = "Files that matter, with their newest version:"
_LABELS = {
    "user": "user", "pasted": "user pasted", "rule": "rule of the user", "prose": "in short", "system": "system",
    "developer": "developer", "asked": "asked", "said": "said", "report": "reported", "note": "with it",
}  # fmt: skip  # one list
_AS_ITEMS = ("did", "seen", "said", "line", "error")
_INDENT = "\n    "


def entries_of(notes: Iterable[DigestLine]) -> list[list[DigestLine]]:
    """Return the lines of a chronicle by entry. A line whose messages are part of the entry above belongs to it; any
    other begins an entry.
    """
    entries: list[list[DigestLine]] = []
    covered = -1
    for note in notes:
        if entries and (note.first <= covered or note.kind in LINES):
            entries[-1].append(note)
        else:
            entries.append([note])
        if note.kind not in DETAILS:
            covered = max(covered, note.last)
    return entries


def chronicle_texts(notes: Iterable[DigestLine]) -> list[str]:
    """Write the lines of a chronicle."""
    texts: list[str] = []
    for head, *lines in entries_of(notes):
        last = max([head.last, *(line.last for line in lines if line.kind not in DETAILS)])  # a turn in it goes on
        texts.append(f"{reference(head.first, last)} {_entry(head)}")
        texts += map(_line, lines)
    return texts


def digest_lines(notes: Iterable[DigestLine], now: Iterable[DigestLine]) -> list[str]:
    """Write a chronicle, and the state and the files behind it."""
    return [*chronicle_texts(notes), *now_texts(now)]


def now_texts(notes: Iterable[DigestLine]) -> list[str]:
    """Write the state and the files."""
    texts: list[str] = []
    kind, notes = "", tuple(notes)
    newest = max((note.last for note in notes), default=0)
    for note in notes:
        if note.kind != kind:
            texts.append(FILES_LINE if note.kind == "file" else STATE_LINE.format(newest))
            kind = note.kind
        texts.append(f"- {reference(note.first, note.last)} {_indented(note.text)}")
    return texts


def _line(note: DigestLine) -> str:
    return f"  - {_entry(note)}" if note.kind in _AS_ITEMS else f"  {_entry(note)}"


@lru_cache(maxsize=4_096)  # most of a chronicle is part of the next one as well
def _entry(note: DigestLine) -> str:
    label = _LABELS.get(note.kind, "")
    name = f" {note.by}" if note.by and note.kind not in ("prose", *DETAILS) else ""
    return f"{label}{name}: {_indented(note.text)}" if label else _indented(note.text)


def _indented(text: str) -> str:
    return _INDENT.join([line.rstrip() for line in escaped(text).splitlines() if line.strip()])
