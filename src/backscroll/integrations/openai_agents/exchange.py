"""One request and its answer: a view is sent, and a shorter one where the provider rejects it as too long."""

from collections.abc import Iterable

from agents import Usage
from agents.items import TResponseStreamEvent

from backscroll.errors import BudgetError, RequestTooLargeError
from backscroll.integrations.item_runs import Item
from backscroll.integrations.openai_agents.conversation import ItemConversation, starts_run
from backscroll.integrations.openai_agents.model_request import ModelRequest
from backscroll.integrations.openai_agents.recall import RecallTool
from backscroll.integrations.openai_agents.streaming import answer_in
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry


class Exchange:
    """A request to a model, until it is answered.

    Args:
        conversation: The conversation that it belongs to.
        request: The request.
        lane: The name of the model.
    """

    def __init__(self, conversation: ItemConversation, request: ModelRequest, lane: str) -> None:
        self._conversation = conversation
        self._request = request
        self._lane = lane
        self._first = starts_run(request.items)
        self._rejection: Exception | None = None
        self._streamed: list[Item] = []
        self._retry = OverflowRetry(conversation)
        self._view = 0
        """The number of the newest view."""

    async def view(self) -> list[Item]:
        """Return the items to send now.

        Raises:
            BudgetError: The items that must stay do not fit the budget.
            RequestTooLargeError: They do not fit what the provider accepts.
        """
        try:
            found = await self._conversation.view_for(self._request, self._lane, first=self._first)
        except BudgetError as error:
            if self._rejection is None:
                raise
            raise RequestTooLargeError(str(error)) from self._rejection
        self._first, self._view = False, self._conversation.views
        return found

    def rejected(self, error: Exception) -> None:
        """Note a rejection; the next view is shorter. Raises any other error, unchanged.

        Raises:
            RequestTooLargeError: The provider rejected too many requests in a row.
        """
        if not is_overflow(error):
            raise error
        self._rejection = error
        self._retry.rejected(error, self._lane)

    def saw(self, event: TResponseStreamEvent, recall: RecallTool) -> None:
        """Note what an event completes: an item of the answer, or all of it."""
        items, usage = answer_in(event)
        self._streamed += items
        if event.type == "response.completed":
            self.answered(self._streamed, usage, recall)

    def answered(self, output: Iterable[Item], usage: Usage | None, recall: RecallTool) -> None:
        """Note the answer, and what the provider counted for it."""
        items = list(output)
        self._conversation.answered(items)
        recall.note(items, self._conversation)
        if usage is None or usage.requests != 1 or not usage.input_tokens:  # the figures of several add up
            return
        if self._view == self._conversation.views:
            self._conversation.observe_response(usage, lane=self._lane)
