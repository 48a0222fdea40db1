"""The strategy `excerpt`: old tool results are cut to their first and last line and the lines that matter most among
all of them; long arguments and assistant texts are cut to head and tail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.salient_lines import cut_to_lines
from backscroll.compaction.sampling import READ
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Edit, PartEdit


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
        others: list[PartEdit] = []
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
        return [*others, *cut_to_lines(window, results, room, self.name)]

    def _shortened(self, window: Window, candidate: CandidatePart) -> PartEdit | None:
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
