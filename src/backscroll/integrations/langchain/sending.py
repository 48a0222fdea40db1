"""One request, sent until the provider accepts it: after each rejection as too long with a shorter view."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from langchain.agents.structured_output import StructuredOutputError
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage

from backscroll.errors import BudgetError
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.integrations.langchain.errors import RequestTooLarge
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry

R = TypeVar("R")


class Sending(Generic[R]):
    """One request.

    Args:
        conversation: The conversation, in use until the request is answered.
        history: The messages that the view represents.
        call: What else is known of the request.
        answer_in: Returns the model's message in what was answered; `None` if it holds none.
    """

    def __init__(
        self,
        conversation: LangChainConversation,
        history: Sequence[BaseMessage],
        call: ModelCall,
        answer_in: Callable[[R], AIMessage | None],
    ) -> None:
        self._conversation = conversation
        self._history = history
        self._call = call
        self._answer_in = answer_in
        self._retry = OverflowRetry(conversation)
        self._view = 0
        """The number of the newest view."""

    def send_now(self, send: Callable[[list[BaseMessage]], R]) -> R:
        """Send views until one is accepted.

        Args:
            send: Sends the messages of a view.

        Raises:
            RequestTooLarge: The messages that must stay do not fit, or the provider rejected 24 views in a row. All
                other errors of `send` pass unchanged.
        """
        while True:
            with _too_large():
                view = self._conversation.view_now(self._history, self._call)
            self._view = self._conversation.views
            try:
                found = send(view)
            except Exception as error:
                if not _is_overflow(error):
                    raise
                self._rejected(error)
            else:
                self._accepted(self._answer_in(found))
                return found

    async def send(self, send: Callable[[list[BaseMessage]], Awaitable[R]]) -> R:
        """Do the same as `send_now` in an event loop."""
        while True:
            with _too_large():
                view = await self._conversation.view_of(self._history, self._call)
            self._view = self._conversation.views
            try:
                found = await send(view)
            except Exception as error:
                if not _is_overflow(error):
                    raise
                self._rejected(error)
            else:
                self._accepted(self._answer_in(found))
                return found

    def _rejected(self, error: Exception) -> None:
        with _too_large():
            self._retry.rejected(error, self._call.lane)

    def _accepted(self, answer: AIMessage | None) -> None:
        if answer is not None and self._view == self._conversation.views:
            self._conversation.answered(answer, self._call.lane)


def _is_overflow(error: Exception) -> bool:
    if isinstance(error, StructuredOutputError):  # it quotes an answer, which may speak of windows
        return False
    return isinstance(error, ContextOverflowError) or is_overflow(error)


@contextmanager
def _too_large() -> Iterator[None]:
    try:
        yield
    except BudgetError as error:
        raise RequestTooLarge(*error.args) from (error.__cause__ or error)
