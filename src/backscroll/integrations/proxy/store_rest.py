"""When a store that failed is asked again."""

_LONGEST = 600.0
"""Seconds of the longest rest. Less would hold up more requests of a store that stays away; more would keep
conversations in memory for long after it is back.
"""


class StoreRest:
    """A store rests after a failure, twice as long after each further one, and then one request at a time tries it.

    Args:
        seconds: The first rest.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._failures = 0
        self._until = 0.0
        self._is_tried = False

    def is_over(self, now: float) -> bool:
        """Return whether the store may be asked again. `now`: of a clock that never goes back, in seconds."""
        return self._failures == 0 or now >= self._until

    def begin(self, now: float) -> bool:
        """Return whether a request may ask the store. Where it may, `end` or `fail` must follow."""
        if self._failures and (now < self._until or self._is_tried):
            return False
        self._is_tried = True
        return True

    def end(self, *, has_answered: bool) -> None:
        """Note that a request is done with the store. `has_answered`: the store did all that it was asked."""
        self._is_tried = False
        if has_answered:
            self._failures = 0

    def fail(self, now: float) -> float:
        """Note that the store failed a request. Returns the seconds of rest that are left: failures of requests that
        asked at the same time count once.
        """
        self._is_tried = False
        if self.is_over(now):
            rest = min(self._seconds * 2.0**self._failures, max(self._seconds, _LONGEST))
            self._failures, self._until = self._failures + 1, now + rest
        return self._until - now
