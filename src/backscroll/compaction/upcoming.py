"""What the next compaction will fold, and the summary to have made of it. Pure; asks nobody.

A summarizer that failed three times in a row is asked again after one more compaction, then after two, four ... and at
most `LONGEST`, and only if that many times `_NEW` of the room was folded meanwhile. So in any number of compactions it
is asked no more than 3 + 6 times and once for each further `LONGEST`.
"""

from collections.abc import Sequence
from dataclasses import replace

from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.compaction.summarization import MOST_FAILURES, Order, Summaries, as_turn, order_of
from backscroll.history.log import Tried
from backscroll.view.view import View

_WORTH = 0.05  # of the room: less is not worth a call
_NEW = 0.1  # of the room that has to be folded with each compaction that a summarizer which failed is spared for
LONGEST = 32  # compactions between two tries


def worth_telling(window: Window, tokens: int) -> list[CandidateGroup]:
    """What a compaction will fold to win so many tokens; nothing where a summary of it is not worth a call."""
    chosen = _oldest(window, tokens)
    return [] if sum(unit.tokens for unit in chosen) < window.budget * _WORTH else chosen


def may_try(tried: Tried, compactions: int, folded: int, room: int) -> bool:
    """Whether a summarizer may be asked where a lane stands at so many compactions and folded tokens."""
    if tried.failures < MOST_FAILURES:
        return True
    wait = min(LONGEST, 1 << tried.failures - MOST_FAILURES)
    return compactions - tried.compactions >= wait and folded - tried.folded >= wait * room * _NEW


def next_order(
    lane: str,
    view: View,
    units: Sequence[CandidateGroup],
    *,
    room: int,
    summaries: Summaries,
    focus: str | None,
    pending: bool,
) -> Order | None:
    """The order for a summary of these, of at most `room` tokens; None where there are none.

    `pending`: the view ends with a call that waits for its results, behind which nothing else may stand.
    """
    if not units:
        return None
    groups = [unit.entries for unit in units]
    order = order_of(lane, view.plan, groups, window=summaries.summarizer.context_tokens, room=room, focus=focus)
    digest = view.plan.digest
    said = tuple(piece.entries for piece in view.pieces if piece.entries)
    order = replace(order, said=said, noted=(*digest.notes, *digest.spare))
    if pending or not summaries.summarizer.reuse_prefix:
        return order
    leaving = groups[-1][0].group
    last = next(piece.messages for piece in view.pieces if piece.group is leaving)
    return as_turn(order, last, view.copies(), view.estimate.upper)


def _oldest(window: Window, tokens: int) -> list[CandidateGroup]:
    """The units that a compaction will fold to win so much, as far as can be told."""
    chosen: list[CandidateGroup] = []
    for unit in window.units:
        if tokens <= 0:
            break
        if unit.free:
            chosen.append(unit)
            tokens -= unit.tokens
    return chosen
