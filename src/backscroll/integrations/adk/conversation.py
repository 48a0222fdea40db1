"""The manager of one conversation of Google ADK."""

from collections.abc import Mapping
from typing import Any

from google.genai import types

from backscroll.integrations.adk.translation import ADKTranslation
from backscroll.integrations.conversation import Conversation


class ADKConversation(Conversation[types.Content]):
    """The manager of one agent's conversation in a session.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(ADKTranslation(), options)
        self._invocation = ""

    def begins(self, invocation: str) -> bool:
        """Return whether a request is the first of a run, after which the same run begins no more.

        Args:
            invocation: The id of the run.
        """
        known, self._invocation = self._invocation, invocation
        return known != invocation
