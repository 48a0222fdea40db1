"""The last check: reject what a provider would reject. It checks the rendered messages, however they were made.

A view that fails this check is a fault of Backscroll, not of its caller. It is rejected all the same, because a request
that a provider rejects once would be rejected at every later turn.
"""

from collections.abc import Sequence

from backscroll.errors import BackscrollError
from backscroll.messages import ParsedMessage
from backscroll.messages.parts import CallId


def check_group(readings: Sequence[ParsedMessage], pending: bool) -> None:
    """Check the messages of one group: results behind their calls, every call answered.

    Args:
        readings: The messages.
        pending: Unanswered calls are allowed, as in the newest group.

    Raises:
        BackscrollError: A result or a call is alone.
    """
    waiting: dict[CallId, int] = {}
    for reading in readings:
        for answered, _ in reading.results:
            if not waiting.get(answered):
                raise BackscrollError(
                    f"a result for call {answered!r} would be sent without its call; please report this"
                )
            waiting[answered] -= 1
        for call in reading.calls:
            waiting[call] = waiting.get(call, 0) + 1
    if not pending and any(waiting.values()):
        left = sorted(call for call, number in waiting.items() if number)
        raise BackscrollError(f"calls {left} would be sent without their results; please report this")
