"""Answer a provider that rejects a request as too long: get a shorter view, send that, until one fits."""

from backscroll.errors import RequestTooLargeError
from backscroll.integrations.overflow_errors import overflow_sizes
from backscroll.manager.base import ManagerBase
from backscroll.session.past import estimated_tokens

MOST_REJECTIONS = 24
"""In a row for one request: each retry has four fifths of the size, so the last has a two-hundredth."""


class OverflowRetry:
    """The rejections of one request that is sent again, each time with a shorter view.

    Args:
        context: The manager whose view was sent.
    """

    def __init__(self, context: ManagerBase) -> None:
        self._context = context
        self._rejections = 0

    def rejected(self, error: BaseException, lane: str) -> None:
        """Record a rejection of the lane's newest view. The next view is shorter: send that.

        Args:
            error: The provider's error, for which `is_overflow` is true.
            lane: The lane whose view was sent.

        Raises:
            RequestTooLargeError: The provider rejected too many requests in a row.
        """
        self._rejections += 1
        if self._rejections > MOST_REJECTIONS:
            self._rejections = 0
            tokens = estimated_tokens(self._context._session, lane) or 0  # noqa: SLF001  an adapter's view of a manager
            raise RequestTooLargeError(
                f"the provider rejected the request {MOST_REJECTIONS} times in a row as too long, the last with about "
                f"{tokens:,} estimated tokens: check the model's context window; it said: {error!s:.200}"
            ) from error
        requested, limit = overflow_sizes(error)
        self._context.observe_overflow(requested_tokens=requested, limit_tokens=limit, lane=lane)

    def accepted(self) -> None:
        """Record that the provider accepted a request, or that another one begins."""
        self._rejections = 0
