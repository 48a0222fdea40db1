"""The messages of one request, with the history that they show."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any


class SentView(list[Any]):
    """A list for LiteLLM's `messages`, which knows where it came from.

    LiteLLM hands it back: with the outcome of the request, and as the messages of a fallback. The latter must be
    recognized, because a view is no history.

    Args:
        view: The messages to send.
        history: The caller's own list.
        conversation: The `LiteLLMConversation` that made the view.
        lane: The lane of the request.
        counted: Whether the answer will say what the provider counted.
    """

    conversation: Any
    counted: bool
    history: Sequence[Any]
    lane: str

    def __init__(
        self, view: Iterable[Any], history: Sequence[Any], conversation: Any, lane: str, *, counted: bool = True
    ) -> None:
        super().__init__(view)
        self.history, self.conversation, self.lane, self.counted = history, conversation, lane, counted

    def __deepcopy__(self, memo: dict[int, Any]) -> "SentView":
        """Copy the messages only: LiteLLM copies the arguments of a call for each fallback and for its logs."""
        return SentView(deepcopy(list(self), memo), self.history, self.conversation, self.lane, counted=self.counted)
