"""Edits that take the clutter out of a result, and cut it to its ends where it is still too long."""

from collections.abc import Collection, Sequence

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.history.plan import Excerpt
from backscroll.messages.clutter import TIDY, Span, code_spans, cut_spans, tidy_spans
from backscroll.messages.structure import pieces_of

_CLUTTERED = 0.9  # of a part that remains without clutter: with more, its structure says more about what to keep
_HEAD = 0.6  # of what remains that is its beginning, as of any other part


def tidied(window: Window, candidate: CandidatePart, by: str, newer: Collection[str] = ()) -> Excerpt | None:
    """Return a result without clutter; None if it has too little of that. `newer`: as in `tidy_spans`."""
    return _kept(window, candidate, by, tidy_spans(candidate.part.text, newer)) if _is_result(candidate) else None


def without_codes(window: Window, candidate: CandidatePart, by: str) -> Excerpt | None:
    """Return a result without codes of a terminal; None if it has few."""
    return _kept(window, candidate, by, code_spans(candidate.part.text)) if _is_result(candidate) else None


def clipped(window: Window, candidate: CandidatePart, tidy: Excerpt | None, level: int, by: str) -> Excerpt | None:
    """Cut a part to about `level` tokens: without clutter if it has much of that, and else by its structure.

    Args:
        window: The window.
        candidate: The part.
        tidy: The part without clutter, from `tidied`.
        level: Tokens that it may take.
        by: The strategy.
    """
    size = 0 if tidy is None else sum(end - start for start, end in tidy.between)
    text = candidate.part.text
    if tidy is None or (size > _CLUTTERED * len(text) and pieces_of(text) is not None):
        return window.clip(candidate, level, by)
    room = int(size * level / max(1, tidy.count.tokens))
    return _kept(window, candidate, by, cut_spans(text, tidy.between, int(room * _HEAD), int(room * (1 - _HEAD))))


def _is_result(candidate: CandidatePart) -> bool:
    return candidate.part.kind == "result"


def _kept(window: Window, candidate: CandidatePart, by: str, spans: Sequence[Span]) -> Excerpt | None:
    return window.cut(candidate, 0, 0, spans, by, structure=TIDY) if spans else None
