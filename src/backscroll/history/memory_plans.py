"""Keep the log events of a session without a store that hold plans.

Views of the past need the edits and the notes of each plan. What only the next digest is made from, which is much
larger, leaves with the packing. Plans repeat most notes of the one before, so several are packed at once.
"""

from bisect import bisect_right

from backscroll.history.packing import PlanEvent, pack_plans, unpack_plans

_TOGETHER = 16  # plans packed at once: fewer share too little, and more take too long to read


class MemoryPlans:
    """Events with plans, by their positions in the log."""

    def __init__(self) -> None:
        self._newest: dict[int, PlanEvent] = {}
        """Events that are not packed yet. Lanes have their plans too, for undoing."""
        self._packed: list[bytes] = []
        self._firsts: list[int] = []
        """The first position in each of `_packed`."""

    def add(self, place: int, event: PlanEvent) -> None:
        """Add the event at a position behind all others."""
        self._newest[place] = event
        if len(self._newest) >= 2 * _TOGETHER:
            old = list(self._newest.items())[:_TOGETHER]
            self._packed.append(pack_plans(old))
            self._firsts.append(old[0][0])
            for at, _ in old:
                del self._newest[at]

    def event(self, place: int) -> PlanEvent:
        """Return the event at a position; an old one with what views need of its plan."""
        if (event := self._newest.get(place)) is not None:
            return event
        return unpack_plans(self._packed[bisect_right(self._firsts, place) - 1])[place]
