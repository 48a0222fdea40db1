"""Previews: views show long tool results as head and tail, after the model has seen them or at once."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.options import ARRIVAL, ToolResultPreview
from backscroll.history.history import History
from backscroll.history.plan import Clear, Edit, Excerpt
from backscroll.view.view import View

BY = "preview"
AT_ONCE = 0.25  # of the budget: a longer result is never shown whole
_SMALL = 0.5  # of a result's limit that its preview takes, if the limit is below the usual one


@dataclass(frozen=True, slots=True)
class PreviewStrategy:
    """Preview long results that the model has seen: its own words hold their essence, and the preview says where the
    rest is.
    """

    previews: ToolResultPreview
    name: str = BY

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Preview the oldest first, until `tokens` are free."""
        edits: list[Edit] = []
        for candidate in window.candidates("result", "media", over=self.previews.threshold_tokens):
            if tokens <= 0:
                break
            edit = preview(window, self.previews, candidate)
            if edit is not None:
                tokens -= window.tokens(candidate.count) - window.tokens(edit.count)
                edits.append(edit)
        return edits


def preview(
    window: Window, previews: ToolResultPreview, candidate: CandidatePart, over: int | None = None
) -> Excerpt | Clear | None:
    """Return the preview of a long result; None for a shorter one, or one cut before. `over`: tokens from which it is
    long.
    """
    over = previews.threshold_tokens if over is None else over
    if candidate.part.id is None or candidate.entry.reading.flags.whole:
        return None
    if (candidate.entry.seq, candidate.number) in candidate.unit.edits or window.tokens(candidate.count) <= over:
        return None
    if candidate.part.media is not None:
        return window.mask(candidate, BY, "set aside")
    keep = previews.preview_tokens
    if over < previews.threshold_tokens:
        keep = min(keep, int(over * _SMALL))
    return window.clip(candidate, max(1, keep), BY)


def shown_whole(view: View, history: History, room: int, previews: ToolResultPreview | None) -> bool:
    """Return whether an unseen result may be too large to be shown whole; cheap. `room`: tokens of all messages."""
    if previews is None:
        return False
    for segment in reversed(view.segments):
        if segment.group is None:
            continue
        if segment.group.members[-1] <= history.last_assistant:
            return False
        if segment.estimate.upper > _most(room, previews):
            return True
    return False


def arrivals(window: Window, previews: ToolResultPreview | None, whole: Set[int]) -> list[Edit]:
    """Return previews of unseen results that are too large, except in groups with entries of `whole`."""
    if previews is None:
        return []
    over = _most(window.budget, previews)
    found = (
        preview(window, previews, candidate, over)
        for unit in window.units
        if unit.unseen and whole.isdisjoint(unit.seqs)
        for candidate in _fresh(window, unit, previews)
    )
    return [edit for edit in found if edit is not None]


def _most(room: int, previews: ToolResultPreview) -> int:
    """Return the tokens that a result may take when it is first shown."""
    quarter = int(room * AT_ONCE)
    return min(previews.threshold_tokens, quarter) if previews.when == ARRIVAL else quarter


def _fresh(window: Window, unit: CandidateGroup, previews: ToolResultPreview) -> Iterator[CandidatePart]:
    """Return the results of a group, without those of exempt tools."""
    calls = (part for entry in unit.entries for part in entry.reading.call_parts)
    spared = {part.id for part in calls if part.name in previews.exempt_tools}
    return (found for found in window.parts_of(unit, ("result", "media")) if found.part.id not in spared)
