"""The messages of a list behind its leading system messages. Nothing is copied."""

from collections.abc import Sequence
from typing import overload

from langchain_core.messages import BaseMessage, SystemMessage


class Behind(Sequence[BaseMessage]):
    """The messages behind the leading system messages of a list.

    Args:
        messages: The list; it must not change while this is used.
    """

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = messages
        """The whole list."""
        self.begin: int = next(
            (at for at, each in enumerate(messages) if not isinstance(each, SystemMessage)), len(messages)
        )
        """How many system messages it begins with."""

    def __len__(self) -> int:
        """Return how many messages there are."""
        return len(self.messages) - self.begin

    @overload
    def __getitem__(self, at: int) -> BaseMessage: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[BaseMessage]: ...
    def __getitem__(self, at: int | slice) -> BaseMessage | Sequence[BaseMessage]:
        """Return a message, or a list of messages."""
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self.messages[at + self.begin if at >= 0 else at]
