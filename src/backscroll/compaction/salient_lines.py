"""Cut results to their first and last line and the lines between that matter most among all of them.

The first line of a result says what it is and the last how it ended. The lines between compete across all results for
the room, by what they mention (`digest/relevance.py`).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.digest.line_selection import FRAME, cover, stretches
from backscroll.compaction.digest.line_selection import Candidate as Line
from backscroll.compaction.digest.relevance import Line as Mentions
from backscroll.compaction.digest.relevance import Relevance, discounted
from backscroll.compaction.digest.terms import bare, significant_text, spans
from backscroll.history.plan import Excerpt
from backscroll.messages.structure import JSON, Piece, Pieces, frames_of, joined, line_pieces, next_pieces, pieces_of

_END = 160  # characters of the first and of the last line that always stay
_LAST = 4_096  # characters that usually contain a text's last line
_SIGN, _NAMED = 0.5, 1.0
"""Weight of showing for the first time what a result has, such as prices; and the same of an id, a name, a status or an
error. A mention by a tool weighs 1.
"""
_FRAME = 4  # tokens that a range costs on top of its text, for the mark before it


def cut_to_lines(window: Window, results: Sequence[CandidatePart], room: int, by: str) -> Iterator[Excerpt]:
    """Yield the excerpts of these results that keep about `room` tokens in all; none of a result that frees nothing."""
    split = [_split(candidate.part.text) for candidate in results]
    kept = _choose(window, results, split, room)
    for number, (candidate, (kind, head, tail, _, _)) in enumerate(zip(results, split, strict=True)):
        ranges = stretches(kept.get(number, ()))
        if kind == JSON:
            ranges = joined(candidate.part.text, ranges)
        edit = window.cut(candidate, head, tail, ranges, by, structure=kind)
        if edit is not None:
            yield edit


def _split(text: str) -> Pieces:
    """Take a result apart: into pieces of its structure, or into lines."""
    found = pieces_of(text)
    if found is not None:
        return found
    head, tail = _ends(text)
    lines = list(spans(text, head, len(text) - tail))
    return line_pieces(text, head, tail, lines) or Pieces(
        kind="", head=head, tail=tail, frames=(), pieces=[Piece(*line) for line in lines]
    )


class _Candidates(NamedTuple):
    """Pieces that may stay, of all results, newest result first: of equal ones the newest is taken."""

    lines: list[Line]
    places: list[tuple[int, int]]
    """The number of the result of each, and of the piece."""


def _choose(
    window: Window, results: Sequence[CandidatePart], split: Sequence[Pieces], room: int
) -> dict[int, list[tuple[int, int]]]:
    """Return the spans that stay of each result, by its number, within `room` tokens in all."""
    salience = window.salience
    hidden = {(candidate.entry.seq, candidate.number) for candidate in results}
    shown = salience.shown((unit.entries for unit in window.units), hidden)
    weights = discounted(salience.weights, shown)
    each = [candidate.count.tokens / max(1, len(candidate.part.text)) for candidate in results]
    found = _Candidates([], [])
    for number in range(len(results) - 1, -1, -1):
        room -= int((split[number].head + split[number].tail) * each[number]) + 5 * _FRAME
        _add(found, salience, weights, (number, results[number], split[number], each[number]))
    order = cover(found.lines, weights, room, neighbors=partial(_next_to, found.places, split))
    kept = _Kept(split, each, room)
    for chosen in order:
        number, at = found.places[chosen]
        pieces = split[number].pieces
        if kept.take(number, pieces[at]) and not salience.asked.isdisjoint(found.lines[chosen][0]):
            for piece in next_pieces(split[number], at):
                kept.take(number, piece)
    return kept.spans


class _Kept:
    """What stays of each result, within a number of tokens."""

    def __init__(self, split: Sequence[Pieces], each: Sequence[float], room: int) -> None:
        self._split, self._each, self._room = split, each, room
        self._taken: set[tuple[int, Piece]] = set()
        self._frames: set[tuple[int, int]] = set()
        self.spans: dict[int, list[tuple[int, int]]] = {}
        """By the number of the result."""

    def take(self, number: int, piece: Piece) -> bool:
        """Keep a piece with what it is in. Return whether there is room for it, or it stays already."""
        if (number, piece) in self._taken:
            return True
        split, each = self._split[number], self._each[number]
        new = [frame for frame in frames_of(split, piece.frame) if (number, frame) not in self._frames]
        size = sum(split.frames[frame].size for frame in new)
        tokens = int((piece.end - piece.start) * each) + _FRAME + int(size * each)
        if tokens > self._room:
            return False
        self._room -= tokens
        self._taken.add((number, piece))
        self._frames.update((number, frame) for frame in new)
        headings = (split.frames[frame].heading for frame in new)
        self.spans.setdefault(number, []).extend([(piece.start, piece.end), *filter(None, headings)])
        return True


def _add(
    found: _Candidates,
    salience: Relevance,
    weights: defaultdict[str, float],
    result: tuple[int, CandidatePart, Pieces, float],
) -> None:
    """Add the pieces of a result that mention something, or show what it looks like."""
    number, candidate, split, each = result
    text, seq = candidate.part.text, candidate.entry.seq
    removes = salience.removes
    reading = salience.read([significant_text(text[piece.start : piece.end]) for piece in split.pieces], weights)
    for at, (piece, line) in enumerate(zip(split.pieces, reading, strict=True)):
        words, factor, weight = _with_sign(line, piece, number, weights) if piece.sign else line
        if (weight or not split.kind) and not (removes and salience.stale(bare(text[piece.start : piece.end]), seq)):
            tokens = int((piece.end - piece.start) * each) + _FRAME
            found.lines.append((words, tokens, factor, factor * weight / (tokens + FRAME)))
            found.places.append((number, at))


def _with_sign(line: Mentions, piece: Piece, number: int, weights: defaultdict[str, float]) -> Mentions:
    words, factor, weight = line
    sign = f"\0{number} {piece.sign}"  # no word has a null in it
    weights[sign] = _NAMED if piece.names else _SIGN
    return (*words, sign), max(factor, piece.names), weight + weights[sign]


def _next_to(places: Sequence[tuple[int, int]], split: Sequence[Pieces], at: int) -> Iterator[int]:
    """Yield the lines next to one in the same result. What has a structure has frames instead of neighbors."""
    number = places[at][0]
    for near in (at - 1, at + 1):
        if 0 <= near < len(places) and places[near][0] == number and not split[number].kind:
            yield near


def _body(text: str) -> int:
    """Return the length of a text without the blanks at its end."""
    end = text[-_LAST:]
    return len(text) - len(end) + len(shown) if (shown := end.rstrip()) else len(text.rstrip())


def _ends(text: str) -> tuple[int, int]:
    """Return the characters of the first and of the last line."""
    first = text.find("\n", 0, _END)
    head = first + 1 if first >= 0 else _END
    body = _body(text)
    last = text.rfind("\n", max(head, body - _END), body)
    tail = len(text) - last - 1 if last >= 0 else min(_END, max(0, len(text) - head))
    return head, tail
