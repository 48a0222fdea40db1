"""Tables, logs, diffs, listings and other texts of lines: their lines as pieces, and the text cut to some of them."""

import re
from collections.abc import Sequence

from backscroll.messages.recall_lead import LEAD
from backscroll.messages.structure.outline import COLUMNS, CSV, LOG, NOUNS, TABLE, outline, template
from backscroll.messages.structure.pieces import Frame, Piece, Pieces

KINDS = frozenset((*NOUNS, "diff", "log", "markup"))
_HEADER = 1_000  # characters of a table's header that stay
_LINE = 1_000  # characters of a line by which it is judged
_SIGN = 120  # characters of what a log's entries have in common
_COUNTED = 3  # lines left out from which they are counted: a mark with a number takes two tokens more
_ALIKE = 20_000  # characters left out up to which it is said that they are alike
_TROUBLE = re.compile(r"\b(?:ERROR|WARN(?:ING)?|FATAL|CRITICAL|error|failed|Traceback|\w*(?:Exception|Error))\b")

Span = tuple[int, int]


def line_pieces(text: str, head: int, tail: int, spans: Sequence[Span]) -> Pieces | None:
    """Return these spans of a text as pieces, each with its headings; None if the text has no structure of lines.

    Args:
        text: The text.
        head: Characters of its first line, which stays.
        tail: Characters of its last line, which stays as well.
        spans: The lines between, or parts of long ones, ascending.
    """
    begins = [number for number, (start, _) in enumerate(spans) if not start or text[start - 1] == "\n"]
    found = outline([text[:head].rstrip("\n"), *(_line(text, spans[number][0]) for number in begins)])
    if found is None:
        return None
    if found.kind in (TABLE, CSV, COLUMNS):
        head = _header(text, head, 2 if found.kind == TABLE else 1)
        return Pieces(
            kind=found.kind, head=head, tail=tail, frames=(), pieces=[Piece(*span) for span in spans if span[0] >= head]
        )
    lines = {number: line for line, number in enumerate(begins, 1)}
    frames: list[Frame] = []
    frame_of: dict[int, int] = {0: -1, -1: -1}  # by the line that is a heading; the first one stays anyway
    pieces: list[Piece] = []
    line = 0
    for number, (start, end) in enumerate(spans):
        line = lines.get(number, line)
        heading = found.headings[line]
        if heading not in frame_of:
            first, last = spans[begins[heading - 1]]
            frame_of[heading] = len(frames)
            frames.append(Frame(frame_of.get(found.headings[heading], -1), last - first, (first, last)))
        sign, trouble = "", False
        if found.kind == LOG:
            sign, trouble = (
                template(text[start : min(end, start + _SIGN)]),
                bool(_TROUBLE.search(text, start, end)),
            )
        pieces.append(Piece(start=start, end=end, frame=frame_of[heading], sign=sign, names=trouble))
    return Pieces(kind=found.kind, head=head, tail=tail, frames=frames, pieces=pieces)


def _line(text: str, start: int) -> str:
    end = text.find("\n", start, start + _LINE)
    return text[start : end if end >= 0 else start + _LINE]


def _header(text: str, head: int, lines: int) -> int:
    """Return the characters of a table's first lines."""
    at = 0
    for _ in range(lines):
        end = text.find("\n", at, _HEADER)
        if end < 0:
            return max(head, at or min(_HEADER, len(text)))
        at = end + 1
    return max(head, at)


def cut_lines(text: str, head: int, tail: int, kept: Sequence[Span], ref: str, *, kind: str, lead: str = LEAD) -> str:
    """Cut a text to some of its lines, with marks that count the lines between them.

    Args:
        text: The text.
        head: Characters that stay at its start.
        tail: Characters that stay at its end.
        kept: Lines that stay, as (start, end) in characters, ascending and disjoint.
        ref: The reference under which models can recall the whole text.
        kind: What the lines are.
        lead: What comes between what is left out and the reference.
    """
    end = len(text) - tail
    if end <= head:
        return text
    left_out = end - head - sum(stop - start for start, stop in kept)
    out = [text[:head].removesuffix("\n"), f"[... {left_out:,} characters left out{lead}{ref} ...]"]
    last = (0, head)
    for start, stop in kept:
        if text[last[1] : start].strip("\r\n"):
            out.append(_mark(text, last, start, kind))
        out.append(text[start:stop])
        last = start, stop
    if text[last[1] : end].strip("\r\n"):
        out.append(_mark(text, last, end, kind))
    return "\n".join([*out, text[end:]])


def _mark(text: str, before: Span, end: int, kind: str) -> str:
    """Say what is left out behind a line."""
    start = before[1]
    between = text[start:end].strip("\r\n")
    count = between.count("\n") + 1
    if count < _COUNTED:
        return "[...]"
    if kind == LOG and len(between) <= _ALIKE and text[before[0] : start].strip():
        shape = template(text[before[0] : start])
        if all(template(line) == shape for line in between.splitlines()):
            return f"[... {count:,} more like this ...]"
    return f"[... {count:,} {NOUNS.get(kind, 'lines')} ...]"
