"""What the next compaction will fold, and the summary to have made of it. Pure; asks nobody."""

from collections.abc import Sequence

from backscroll.compaction.window import Unit, Window
from backscroll.summaries import MOST_FAILURES, Order, Summaries, as_turn, order_of
from backscroll.view import View

_WORTH = 0.05  # of the room: less is not worth a call
_NEW = 0.1  # of the room that has to be new before a summarizer that failed again and again is asked once more


def worth_telling(window: Window, tokens: int, failures: int, tried: int) -> list[Unit]:
    """What a compaction will fold to win so many tokens; nothing where a summary of it is not worth a call.

    `failures`: summaries that failed in a row, the last of them one up to the entry `tried`.
    """
    chosen = _oldest(window, tokens)
    given_up = failures >= MOST_FAILURES
    fresh = sum(unit.tokens for unit in chosen if not given_up or unit.seqs[-1] > tried)
    return [] if fresh < window.budget * (_NEW if given_up else _WORTH) else chosen


def next_order(
    lane: str, view: View, units: Sequence[Unit], *, room: int, summaries: Summaries, focus: str | None, pending: bool
) -> Order | None:
    """The order for a summary of these, of at most `room` tokens; None where there are none.

    `pending`: the view ends with a call that waits for its results, behind which nothing else may stand.
    """
    if not units:
        return None
    groups = [unit.entries for unit in units]
    order = order_of(lane, view.plan, groups, window=summaries.window, room=room, focus=focus)
    if pending or not summaries.as_turn:
        return order
    leaving = groups[-1][0].group
    last = next(piece.messages for piece in view.pieces if piece.group is leaving)
    return as_turn(order, last, view.copies(), view.estimate.upper)


def _oldest(window: Window, tokens: int) -> list[Unit]:
    """The units that a compaction will fold to win so much, as far as can be told."""
    chosen: list[Unit] = []
    for unit in window.units:
        if tokens <= 0:
            break
        if unit.free:
            chosen.append(unit)
            tokens -= unit.tokens
    return chosen
