"""What an adapter has to know of its framework's messages: `Translation`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from backscroll.messages import Message

Native = TypeVar("Native")
"""The framework's message."""


class Translation(ABC, Generic[Native]):
    """Reads the messages of a framework, and writes those that a view changes. It decides nothing."""

    @abstractmethod
    def to_message(self, native: Native) -> Message:
        """Return the message to store for one of the framework's: a new dict, in one of the dialects."""

    @abstractmethod
    def to_native(self, message: Message, natives: Sequence[Native]) -> Native:
        """Return the framework's message for one that a view changed or added.

        Args:
            message: The message of the view.
            natives: Those that it represents, oldest first: what only the framework knows is copied from them. They
                must not be changed. Empty: Backscroll wrote the message.
        """

    def says(self, native: Native) -> object:
        """Return what a message says: messages of which this is equal are the same.

        Notes are left out: usage, ids, times, cache marks. The value holds the types of JSON, bytes and tuples.
        """
        return self.said(self.to_message(native))

    def said(self, message: Message) -> object:
        """Return the same of a stored message."""
        return {key: value for key, value in message.items() if key != "metadata"}
