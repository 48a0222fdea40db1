"""The strategy `excerpt`: old tool results are cut to their first and last line and the lines that matter most among
all of them; long arguments and assistant texts are cut to head and tail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.digest.line_selection import FRAME, cover, stretches
from backscroll.compaction.digest.line_selection import Candidate as Line
from backscroll.compaction.digest.relevance import discounted
from backscroll.compaction.digest.terms import bare, significant_text, spans
from backscroll.compaction.sampling import READ
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Clear, Edit, Excerpt

_END = 160  # characters of the first and of the last line that always stay
_LAST = 4_096  # characters that usually contain a text's last line
_FRAME = 4  # tokens that a range costs on top of its text, for the mark before it


@dataclass(frozen=True, slots=True)
class ExcerptStrategy:
    """Cut long parts to the lines that matter.

    The first line of a result says what it is and the last how it ended. The lines between compete across all results
    for the room, by what they mention (`compaction/digest/relevance.py`).

    Args:
        share: Share of the tokens of the cut results that stays; above 0, below 1.
        over: Parts up to this many tokens stay; at least 64.
        keep: Tokens that stay of long arguments and texts; 16 to `over`.

    Raises:
        ConfigurationError: A value is out of range.
    """

    share: float = 0.3
    over: int = 150
    keep: int = 120
    name: str = "excerpt"

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.share < 1 or self.over < 64 or not 16 <= self.keep <= self.over:
            raise ConfigurationError(
                "`share` must be above 0 and below 1, `over` at least 64 and `keep` from 16 to `over`, "
                f"not share={self.share}, keep={self.keep}, over={self.over}"
            )

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Cut the oldest long parts first, as many as needed to free `tokens`."""
        results: list[CandidatePart] = []
        others: list[Excerpt | Clear] = []
        whole = won = 0
        for candidate in self._candidates(window):
            if whole * (1 - self.share) + won >= tokens:
                break
            size = window.tokens(candidate.count)
            if candidate.part.kind == "result":
                results.append(candidate)
                whole += size
            elif (edit := self._shortened(window, candidate)) is not None:
                others.append(edit)
                won += size - window.tokens(edit.count)
        room = max(int(whole * self.share), whole + won - tokens)
        return [*others, *self._cut(window, results, room)]

    def _shortened(self, window: Window, candidate: CandidatePart) -> Excerpt | Clear | None:
        """Cut to head and tail; arguments too long to parse become a stub."""
        edit = window.clip(candidate, self.keep, self.name)
        if edit is None and candidate.part.kind == "call" and len(candidate.part.text) > READ:
            return window.mask(candidate, self.name)
        return edit

    def _candidates(self, window: Window) -> Iterator[CandidatePart]:
        for candidate in window.candidates("result", "call", "text", over=self.over):
            cut_before = (candidate.entry.seq, candidate.number) in candidate.unit.edits
            of_user = candidate.entry.reading.role == "user" and candidate.part.kind == "text"
            if not cut_before and not of_user:
                yield candidate

    def _cut(self, window: Window, results: Sequence[CandidatePart], room: int) -> Iterator[Excerpt]:
        kept = self._choose(window, results, room)
        for number, candidate in enumerate(results):
            head, tail = _ends(candidate.part.text)
            edit = window.cut(candidate, head, tail, stretches(kept.get(number, ())), self.name)
            if edit is not None:
                yield edit

    def _choose(self, window: Window, results: Sequence[CandidatePart], room: int) -> dict[int, list[tuple[int, int]]]:
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
                if weight and not (salience.taken_out and salience.stale(bare(text[start:end]), seq)):
                    tokens = int((end - start) * each) + _FRAME
                    lines.append((words, tokens, factor, factor * weight / (tokens + FRAME)))
                    places.append((number, start, end))
        kept: dict[int, list[tuple[int, int]]] = {}
        for chosen in cover(lines, weights, room):
            number, start, end = places[chosen]
            kept.setdefault(number, []).append((start, end))
        return kept


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
