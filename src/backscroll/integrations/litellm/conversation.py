"""The conversation of one session key: views, refusals and usage of its requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from litellm import ContextWindowExceededError

from backscroll.errors import BudgetError, RequestTooLargeError
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.litellm.errors import RequestTooLarge
from backscroll.integrations.litellm.reported_usage import counted_in
from backscroll.integrations.litellm.sent_view import SentView
from backscroll.integrations.litellm.translation import LiteLLMTranslation, without_metadata
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.session.usage_reports import observe_usage


class LiteLLMConversation(Conversation[Any]):
    """The manager of one conversation.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(LiteLLMTranslation(), options)
        self._retry = OverflowRetry(self)
        self.awaited: SentView | None = None
        """The newest view, until its outcome is known."""

    async def sent(self, history: Sequence[Any], call: ModelCall, *, counted: bool = True) -> SentView:
        """Return the view to send.

        Args:
            history: The caller's messages.
            call: The request.
            counted: Whether the answer will say what the provider counted.

        Raises:
            RequestTooLarge: The messages that must stay do not fit.
        """
        try:
            view = await self.view_of(history, call)
        except BudgetError as error:
            raise RequestTooLarge(error, call.lane) from error
        return self._noted(view, history, call, counted=counted)

    def sent_now(self, history: Sequence[Any], call: ModelCall, *, counted: bool = True) -> SentView:
        """Do the same as `sent`, for callers without an event loop."""
        try:
            view = self.view_now(history, call)
        except BudgetError as error:
            raise RequestTooLarge(error, call.lane) from error
        return self._noted(view, history, call, counted=counted)

    def _noted(self, view: list[Any], history: Sequence[Any], call: ModelCall, *, counted: bool) -> SentView:
        self.awaited = SentView(map(without_metadata, view), history, self, call.lane, counted=counted)
        return self.awaited

    def refused(self, sent: SentView, error: Exception) -> bool:
        """Record the failure of a request. Returns whether a shorter one may succeed.

        Raises:
            RequestTooLarge: The provider rejected too many requests in a row.
        """
        if not isinstance(error, ContextWindowExceededError) and not is_overflow(error):
            return False
        self.awaited = None
        try:
            self._retry.rejected(error, sent.lane)
        except RequestTooLargeError as gave_up:
            raise RequestTooLarge(gave_up, sent.lane) from error
        return True

    def answered(self, sent: SentView, response: Any) -> None:
        """Record that the provider answered a request, and what it counted.

        Nothing is recorded of a view that is not the newest: the figures would be taken for another request's.
        """
        if self.awaited is not sent:
            return
        self.awaited = None
        self._retry.accepted()
        counted = counted_in(response) if sent.counted else None
        if counted is not None:
            observe_usage(self._session, sent.lane, counted, read=True)
