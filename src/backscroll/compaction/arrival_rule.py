"""Which new results are too large to be shown whole even once."""

from typing import NamedTuple

from backscroll.compaction.options import ARRIVAL, RECALLS, ToolResultPreview
from backscroll.history.history import History
from backscroll.view.view import View

MOST_AT_ONCE = 0.25  # of the budget: a longer result is never shown whole
AT_ONCE, USUAL = 0.125, 2_000  # of the budget, but at least these tokens: the same without the option
KEPT, MOST_KEPT = 0.5, 0.09  # of that limit, but at most of the budget, that such a result keeps without the option
_SMALL = 0.5  # of a result's limit that its preview takes, if the limit is below the usual one


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
