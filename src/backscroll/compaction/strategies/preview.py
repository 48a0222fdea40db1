"""Previews: views show long tool results by the lines that matter most, after the model has seen them or at once.

Where the lines mention little, head and tail say more.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from backscroll.compaction.arrival_rule import ArrivalRule
from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window, is_outcome
from backscroll.compaction.options import ToolResultPreview
from backscroll.compaction.salient_lines import cut_to_lines
from backscroll.compaction.tidying import clipped, tidied
from backscroll.history.plan import Edit, PartEdit

BY = "preview"
_FILLED = 0.5  # of these tokens that chosen lines must fill


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


def preview(window: Window, previews: ToolResultPreview, candidate: CandidatePart) -> PartEdit | None:
    """Return the preview of a long result that the model has seen; None for a shorter one, or one cut before."""
    return _preview(window, ArrivalRule(previews.threshold_tokens, previews.preview_tokens, ()), candidate)


def arrivals(window: Window, rule: ArrivalRule | None, whole: Set[int]) -> list[Edit]:
    """Return previews of unseen results that are too large, except in groups with entries of `whole`."""
    if rule is None:
        return []
    found = (
        _preview(window, rule, candidate)
        for unit in window.units
        if unit.unseen and whole.isdisjoint(unit.seqs)
        for candidate in _fresh(window, unit, rule)
    )
    return [edit for edit in found if edit is not None]


def _fresh(window: Window, unit: CandidateGroup, rule: ArrivalRule) -> Iterator[CandidatePart]:
    """Return the results of a group, without those of exempt tools."""
    calls = (part for entry in unit.entries for part in entry.reading.call_parts)
    spared = {part.id for part in calls if part.name in rule.exempt_tools}
    found = (each for each in window.parts_of(unit, ("result", "media")) if each.part.id not in spared)
    return (each for each in found if not each.is_fixed)


def _preview(window: Window, rule: ArrivalRule, candidate: CandidatePart) -> PartEdit | None:
    """Return the preview of a result that is too long; None for a shorter one, or one cut before."""
    if not _is_long(window, candidate, rule.over):
        return None
    if candidate.part.media is not None:
        return window.mask(candidate, BY, "set aside")
    whole = window.digests.handover  # readers found picked lines of no use
    lines = None if whole else next(cut_to_lines(window, [candidate], rule.keep, BY), None)
    if lines is not None and rule.keep * _FILLED <= window.tokens(lines.count) <= rule.over:
        return lines  # otherwise its lines mention little, and head and tail say more
    tidy = tidied(window, candidate, BY) if whole else None
    return clipped(window, candidate, tidy, max(1, rule.keep), BY)


def _is_long(window: Window, candidate: CandidatePart, over: int) -> bool:
    if not is_outcome(candidate.part) or candidate.entry.reading.flags.whole:
        return False
    return (candidate.entry.seq, candidate.number) not in candidate.unit.edits and window.tokens(candidate.count) > over
