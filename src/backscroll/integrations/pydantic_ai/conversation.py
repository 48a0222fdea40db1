"""The manager of one conversation of Pydantic AI."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage

from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.pydantic_ai.translation import PydanticAITranslation


class PydanticAIConversation(Conversation[ModelMessage]):
    """The manager of one conversation.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._reads = PydanticAITranslation()
        super().__init__(self._reads, options)

    async def messages_to_send(
        self, history: Sequence[ModelMessage], instructions: str, call: ModelCall
    ) -> list[ModelMessage]:
        """Load what is new in the history and return the view to send.

        Args:
            history: The run's messages, as Pydantic AI joins them.
            instructions: The instructions of the request. They are counted, and another text takes out the reasoning
                that is bound to the one before; Pydantic AI sends them itself.
            call: The rest of the request.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            MessageError: A message cannot be stored.
            StoreError: The store failed.
        """
        self._reads.first = history[0] if history else None
        self.set_system_prompt_factory((lambda: instructions) if instructions else None)
        view = await self.view_of(history, call)
        return view[1:] if instructions else view

    async def finish_summary(self) -> None:
        """Wait for a summary under way, as long as its options allow: the event loop may end with the run."""
        summaries = self._session.summaries
        seconds = 0.0 if summaries is None else summaries.summarizer.wait_seconds
        if seconds and self._background.running:
            await self._background.wait(seconds)
