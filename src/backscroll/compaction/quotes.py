"""Quote the messages that every view requires, for views whose beginning a provider's own block represents."""

from collections.abc import Iterable, Iterator, Sequence

from backscroll.compaction.floor import floor_seqs
from backscroll.history.history import Entry, History
from backscroll.history.plan import DigestLine, NoteKind
from backscroll.messages import holds_compaction

_LONGEST_QUOTE = 4_000  # characters of a user's first message that are quoted; head and tail of a longer one
_HEAD = 0.7  # of that, for the head


def first_unquotable(history: History, shown: Iterable[Entry]) -> int:
    """Return the first required message that notes cannot quote; a block may represent only what is before it.
    `shown`: the messages of the view, of which some keep their place.
    """
    leading = history.leading_seqs
    in_place = (entry for entry in shown if entry.reading.keeps_place and entry.seq not in leading)
    required = (*_required(history), *(entry for entry in in_place if not _is_compaction(entry)))
    found = (entry.seq for entry in required if entry is not history.first_user and _quote_of(entry) is None)
    return min(found, default=history.next_seq)


def _required(history: History) -> Iterator[Entry]:
    """Yield what every view requires, apart from leading system messages and compactions, in order."""
    leading = set(history.leading_seqs)
    for seq in sorted(floor_seqs(history, quoted=False) - leading):
        entry = history.get(seq)
        if entry is not None and not _is_compaction(entry):
            yield entry


def _is_compaction(entry: Entry) -> bool:
    return holds_compaction(entry.message)


def quotes(history: History, first: int, last: int) -> tuple[DigestLine, ...]:
    """Return the required messages among these entries, and the system messages, word for word."""
    found = {entry.seq: entry for entry in _required(history) if first <= entry.seq <= last}
    quoted = [_quote_of(entry) or _shortened(entry) for _, entry in sorted(found.items())]
    return tuple(quoted)


def system_quotes(entries: Sequence[Entry]) -> tuple[DigestLine, ...]:
    """Return the system messages among these entries: those within a compacted range stop to apply."""
    found = (_quote_of(entry) or _shortened(entry) for entry in entries if entry.reading.is_system)
    return tuple(found)


def _quote_of(entry: Entry) -> DigestLine | None:
    """Return a message word for word; None if it holds more than text, or too much of it."""
    parts = [part for part in entry.reading.parts if part.kind != "reasoning"]
    if any(part.kind != "text" or part.id is not None for part in parts):
        return None
    text = "\n".join(part.text for part in parts)
    if len(text) > _LONGEST_QUOTE and not entry.reading.flags.pinned:
        return None
    return _said(entry, text)


def _said(entry: Entry, text: str) -> DigestLine:
    """Return words under the rank of their speaker."""
    kind: NoteKind = "turn"
    if entry.reading.is_user_turn:
        kind = "user"
    elif entry.reading.is_system:
        kind = "system" if entry.reading.role == "system" else "developer"
    return DigestLine(entry.seq, entry.seq, kind, f"{entry.reading.role}: {text}" if kind == "turn" else text)


def _shortened(entry: Entry) -> DigestLine:
    text = entry.reading.typed or "(no text)"
    if len(text) > _LONGEST_QUOTE:
        head = int(_LONGEST_QUOTE * _HEAD)
        text = f"{text[:head]} [...] {text[head - _LONGEST_QUOTE :]}"
    return _said(entry, text) if entry.reading.is_system else DigestLine(entry.seq, entry.seq, "user", text)
