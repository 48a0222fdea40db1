"""The last gate: refuses to send what a provider would refuse. It checks what was rendered, not how it came about.
Pure.

A view that this gate stops is a fault of Backscroll, not of its caller; it is stopped all the same, because one request
that a provider rejects is rejected again at every later turn.
"""

from collections.abc import Sequence

from backscroll.errors import BackscrollError
from backscroll.messages import ParsedMessage


def check_group(readings: Sequence[ParsedMessage], pending: bool) -> None:
    """The messages of one group: results behind their calls, every call answered.

    `pending`: unanswered calls are allowed, for the newest group. Raises `BackscrollError`.
    """
    waiting: dict[str, int] = {}
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
