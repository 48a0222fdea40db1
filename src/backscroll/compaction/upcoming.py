"""What the next compaction will digest, and the summary to request of it.

After three consecutive failures a summarizer is called again after one more compaction, then after two, four ... and at
most `LONGEST`, and only if that many times `_NEW` of the room was digested meanwhile. So in any number of compactions
it gets at most 3 + 6 calls and one for each further `LONGEST`.
"""

from collections.abc import Sequence
from dataclasses import replace

from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.compaction.summarization import MOST_FAILURES, Order, Summaries, as_turn, order_of
from backscroll.history.log import Tried
from backscroll.view.view import View

_WORTH = 0.05  # of the room: less is not worth a call
_NEW = 0.1  # of the room that must be digested per compaction for which a failing summarizer is skipped
LONGEST = 32  # compactions between two tries


def worth_summarizing(window: Window, tokens: int) -> list[CandidateGroup]:
    """Return what a compaction will digest to free so many tokens; nothing if a summary of it is not worth a call."""
    chosen = _oldest(window, tokens)
    return [] if sum(unit.tokens for unit in chosen) < window.budget * _WORTH else chosen


def may_try(tried: Tried, compactions: int, folded: int, room: int) -> bool:
    """Return whether a summarizer may be called after so many compactions and digested tokens of a lane."""
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
    """Order a summary of these groups, of at most `room` tokens; None if there are none.

    `pending`: the view ends with a call that waits for its results, which no other message may follow.
    """
    if not units:
        return None
    groups = [unit.entries for unit in units]
    order = order_of(lane, view.plan, groups, window=summaries.summarizer.context_tokens, room=room, focus=focus)
    digest = view.plan.digest
    said = tuple(segment.entries for segment in view.segments if segment.entries)
    instructions = summaries.summarizer.instructions or ""
    order = replace(order, said=said, noted=(*digest.notes, *digest.reserve), instructions=instructions)
    if pending or not summaries.summarizer.reuse_prefix:
        return order
    # By its entries: after a rewind, a group that the view shows already is another object with the same members.
    last = next(segment.messages for segment in view.segments if segment.entries is groups[-1])
    return as_turn(order, last, view.marked_copies(0), view.estimate.upper)


def _oldest(window: Window, tokens: int) -> list[CandidateGroup]:
    """Return the groups that a compaction will digest to free so much, as far as known."""
    chosen: list[CandidateGroup] = []
    for unit in window.units:
        if tokens <= 0:
            break
        if unit.free:
            chosen.append(unit)
            tokens -= unit.tokens
    return chosen
