"""Previews: views show long tool results by the lines that matter most, after the model has seen them or at once.

Where the lines mention little, head and tail say more.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.options import ARRIVAL, RECALLS, ToolResultPreview
from backscroll.compaction.salient_lines import cut_to_lines
from backscroll.history.history import History
from backscroll.history.plan import Clear, Edit, Excerpt
from backscroll.view.view import View

BY = "preview"
MOST_AT_ONCE = 0.25  # of the budget: a longer result is never shown whole
AT_ONCE, USUAL = 0.125, 2_000  # of the budget, but at least these tokens: the same without the option
KEPT, MOST_KEPT = 0.5, 0.09  # of that limit, but at most of the budget, that such a result keeps without the option
_FILLED = 0.5  # of these tokens that chosen lines must fill
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


def preview(window: Window, previews: ToolResultPreview, candidate: CandidatePart) -> Excerpt | Clear | None:
    """Return the preview of a long result that the model has seen; None for a shorter one, or one cut before."""
    return _preview(window, ArrivalRule(previews.threshold_tokens, previews.preview_tokens, ()), candidate)


class ArrivalRule(NamedTuple):
    """Which results are shortened before they are first shown."""

    over: int
    """Tokens from which a result is too long."""
    keep: int
    """Tokens of its preview."""
    exempt_tools: tuple[str, ...]
    """Tools whose results are shown whole."""


def arrival_rule(room: int, previews: ToolResultPreview | None, *, binds: bool) -> ArrivalRule:
    """Return which results are shortened before they are first shown.

    Args:
        room: Tokens that all messages may take.
        previews: The option of the session.
        binds: Shortening a result later costs the model's reasoning, so in a small room more is shortened at once.
    """
    over = int(room * MOST_AT_ONCE)
    if previews is None:
        over = min(over, int(max(room * AT_ONCE, 0 if binds else USUAL)))
        return ArrivalRule(over, int(min(over * KEPT, room * MOST_KEPT)), RECALLS)
    over = min(previews.threshold_tokens, over) if previews.when == ARRIVAL else over
    keep = previews.preview_tokens
    if over < previews.threshold_tokens:
        keep = min(keep, int(over * _SMALL))
    return ArrivalRule(over, keep, previews.exempt_tools)


def shown_whole(view: View, history: History, rule: ArrivalRule) -> bool:
    """Return whether an unseen result may be too large to be shown whole; cheap."""
    for segment in reversed(view.segments):
        if segment.group is None:
            continue
        if segment.group.members[-1] <= history.last_assistant:
            return False
        if segment.estimate.upper > rule.over:
            return True
    return False


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
    return (found for found in window.parts_of(unit, ("result", "media")) if found.part.id not in spared)


def _preview(window: Window, rule: ArrivalRule, candidate: CandidatePart) -> Excerpt | Clear | None:
    """Return the preview of a result that is too long; None for a shorter one, or one cut before."""
    if not _is_long(window, candidate, rule.over):
        return None
    if candidate.part.media is not None:
        return window.mask(candidate, BY, "set aside")
    lines = next(cut_to_lines(window, [candidate], rule.keep, BY), None)
    if lines is not None and rule.keep * _FILLED <= window.tokens(lines.count) <= rule.over:
        return lines  # otherwise its lines mention little, and head and tail say more
    return window.clip(candidate, max(1, rule.keep), BY)


def _is_long(window: Window, candidate: CandidatePart, over: int) -> bool:
    if candidate.part.id is None or candidate.entry.reading.flags.whole:
        return False
    return (candidate.entry.seq, candidate.number) not in candidate.unit.edits and window.tokens(candidate.count) > over
