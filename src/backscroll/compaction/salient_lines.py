"""Cut results to their first and last line and the lines between that matter most among all of them.

The first line of a result says what it is and the last how it ended. The lines between compete across all results for
the room, by what they mention (`digest/relevance.py`).
"""

from collections.abc import Iterator, Sequence
from functools import partial

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.digest.line_selection import FRAME, cover, stretches
from backscroll.compaction.digest.line_selection import Candidate as Line
from backscroll.compaction.digest.relevance import discounted
from backscroll.compaction.digest.terms import bare, significant_text, spans
from backscroll.history.plan import Excerpt

_END = 160  # characters of the first and of the last line that always stay
_LAST = 4_096  # characters that usually contain a text's last line
_FRAME = 4  # tokens that a range costs on top of its text, for the mark before it


def cut_to_lines(window: Window, results: Sequence[CandidatePart], room: int, by: str) -> Iterator[Excerpt]:
    """Yield the excerpts of these results that keep about `room` tokens in all; none of a result that frees nothing."""
    kept = _choose(window, results, room)
    for number, candidate in enumerate(results):
        head, tail = _ends(candidate.part.text)
        edit = window.cut(candidate, head, tail, stretches(kept.get(number, ())), by)
        if edit is not None:
            yield edit


def _choose(window: Window, results: Sequence[CandidatePart], room: int) -> dict[int, list[tuple[int, int]]]:
    """Return the spans that stay of each result, by its number, within `room` tokens in all."""
    salience = window.salience
    hidden = {(candidate.entry.seq, candidate.number) for candidate in results}
    shown = salience.shown((unit.entries for unit in window.units), hidden)
    weights = discounted(salience.weights, shown)
    lines: list[Line] = []
    places: list[tuple[int, int, int]] = []
    for number in range(len(results) - 1, -1, -1):  # newest first: of equal lines the newest is taken
        candidate = results[number]
        text, seq = candidate.part.text, candidate.entry.seq
        each = candidate.count.tokens / max(1, len(text))
        head, tail = _ends(text)
        room -= int((head + tail) * each) + 5 * _FRAME
        found = list(spans(text, head, len(text) - tail))
        reading = salience.read([significant_text(text[start:end]) for start, end in found], weights)
        for (start, end), (words, factor, weight) in zip(found, reading, strict=True):
            if not (salience.removes and salience.stale(bare(text[start:end]), seq)):
                tokens = int((end - start) * each) + _FRAME
                lines.append((words, tokens, factor, factor * weight / (tokens + FRAME)))
                places.append((number, start, end))
    kept: dict[int, list[tuple[int, int]]] = {}
    for chosen in cover(lines, weights, room, beside=partial(_beside, places)):
        number, start, end = places[chosen]
        kept.setdefault(number, []).append((start, end))
    return kept


def _beside(places: Sequence[tuple[int, int, int]], number: int) -> Iterator[int]:
    """Yield the lines next to one in the same result."""
    for near in (number - 1, number + 1):
        if 0 <= near < len(places) and places[near][0] == places[number][0]:
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
