"""The manager of one conversation of Pydantic AI."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage

from backscroll.integrations.conversation import Conversation, ModelCall, Steps
from backscroll.integrations.pydantic_ai.translation import PydanticAITranslation


class PydanticAIConversation(Conversation[ModelMessage]):
    """The manager of one conversation.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._reads = PydanticAITranslation()
        super().__init__(self._reads, options)

    def _view_steps(self, history: Sequence[ModelMessage], call: ModelCall) -> Steps[ModelMessage]:
        self._reads.first = history[0] if history else None
        return super()._view_steps(history, call)
