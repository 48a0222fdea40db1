"""Write the lines of messages that are not the agent's: a user's words, what came with them, and system messages."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.compaction.digest.user_rules import rules_in
from backscroll.history.history import Entry
from backscroll.history.plan import DigestLine, NoteKind
from backscroll.messages.inserted.piece import Piece
from backscroll.messages.inserted.pieces import without_field_tags
from backscroll.messages.inserted.shapes import QUIET, REPORTS, SUMMARIES
from backscroll.messages.prose import cut, first_line, short

_SHOWN = 200  # characters of what a host inserted that are shown: a longer text is named with its size and beginning
_REPORT = 320  # characters of a report that a host hands on
_NAMED = 60  # characters by which a longer text is named
_PASTED = 300  # characters of a pasted text that is shown as it is
_WORD = 12  # characters of a pasted text that is an answer, such as "ok", which is also the last line of many tests
_DOCUMENT = 3_000  # characters of a longer one at its first level: a specification's headings and orders in full
_RANKED = 1_500  # characters of a system message: its orders, and not its examples
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>")


class Asked(NamedTuple):
    """What a user's message holds that is the user's."""

    seq: int
    words: str
    """What the user typed; in its absence what else the message is."""
    typed: bool
    """Whether the user typed them. Only then they can state rules."""
    pasted: tuple[str, ...]
    by: str
    """The user's name, if messages have one."""


def read_user(entry: Entry) -> tuple[Asked | None, list[DigestLine]]:
    """Return what a user wrote in a message, None if nothing, and a line for each thing that a host put into it."""
    reading = entry.reading
    if reading.flags.injected:
        text = "\n".join(part.text for part in reading.parts if part.text.strip())
        return None, [_note(entry.seq, f"reminder: {cut(text, _SHOWN)}")]
    pieces = reading.pieces
    sure = "\n".join(piece.text for piece in pieces if piece.rank == "typed" and piece.text.strip()).strip()
    pasted = tuple([piece.text.strip() for piece in pieces if piece.rank == "pasted" and piece.text.strip()])
    inserted = (piece for piece in pieces if piece.rank == "inserted" and piece.name not in QUIET)
    notes = [_note(entry.seq, _inserted(piece)) for piece in inserted]
    media = _media(entry)
    if not (sure or pasted or media):
        return None, notes
    if not sure and len(pasted) == 1 and len(pasted[0]) <= _WORD:
        sure, pasted = pasted[0], ()
    words = sure or (f"(pasted) {_size(pasted[0])}" if pasted else f"({', '.join(media)})")
    asked = Asked(seq=entry.seq, words=words, typed=bool(sure), pasted=pasted, by=reading.speaker)
    return asked, notes


def user_lines(asked: Asked, last: int) -> Iterator[DigestLine]:
    """Yield the first line of an entry, with the user's words, the rules in them, and what was pasted.

    Args:
        asked: What the user wrote.
        last: The last message of the entry.
    """
    seq, by = asked.seq, asked.by
    yield DigestLine(first=seq, last=last, kind="user", text=asked.words, by=by)
    for rule in rules_in(asked.words) if asked.typed else ():
        yield DigestLine(first=seq, last=seq, kind="rule", text=rule, by=by)
    named = int(not asked.typed)  # in the first line
    for number, text in enumerate(asked.pasted):
        shown = _tidied(text) if number < named else _named(text)
        yield DigestLine(first=seq, last=seq, kind="pasted", text=shown, by=by)


def _note(seq: int, text: str) -> DigestLine:
    """Return a line about what came with a message."""
    return DigestLine(seq, seq, "note", text)


def system_line(entry: Entry) -> DigestLine:
    """Return what a system message says, under its rank."""
    text = "\n".join(part.text for part in entry.reading.parts if part.text)
    kind: NoteKind = "system" if entry.reading.role == "system" else "developer"
    return DigestLine(entry.seq, entry.seq, kind, short(text, _RANKED, document=True))


def _media(entry: Entry) -> list[str]:
    """Return the kinds of what is attached to a message."""
    own = [part for part in entry.reading.parts if part.id is None]
    media = [part.media.kind for part in own if part.media is not None]
    return [*media, *("document" for part in own if part.attached and part.media is None and part.text.strip())]


def _named(text: str) -> str:
    """Return a pasted text, or its size, its beginning and what it says in short."""
    if len(text) <= _PASTED:
        return text
    return f"{_size(text)}:\n{_tidied(text)}"


def _tidied(text: str) -> str:
    """Return a document without its marks; one with more than its room as it is, because its level shortens it."""
    return text if len(text) > _DOCUMENT else short(text, _DOCUMENT, document=True)


def _size(text: str) -> str:
    return f"{len(text):,} characters, “{cut(first_line(text), _NAMED)}”"


def _inserted(piece: Piece) -> str:
    text = _TAGS.sub(" ", without_field_tags(piece.text)).strip()
    if not text:
        return piece.name
    if piece.name in REPORTS:
        return f"{piece.name}: {short(text, _REPORT)}"
    if piece.name in SUMMARIES:
        return f"{piece.name}, {len(text):,} characters: {_tidied(text)}"
    if len(text) <= _SHOWN:
        return f"{piece.name}: {cut(text, _SHOWN)}"
    return f"{piece.name}, {len(text):,} characters, “{cut(first_line(text), _NAMED)}”"
