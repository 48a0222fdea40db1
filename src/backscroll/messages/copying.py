"""Copying many messages again and again. What is mutable in them is looked for once; nothing is checked here."""

from collections.abc import Sequence
from typing import Any

from backscroll.messages.validation import Message


class Copier:
    """Copies a list of messages that is only changed at its end, and never inside.

    A walk through each message takes most of the time of a copy. So its dictionaries and lists are noted at the first
    one, and which of them stands where in another: then all of them are copied in one go and put together again.
    """

    def __init__(self) -> None:
        self._mutable: list[Any] = []
        """Every dictionary and list, one that holds others before these."""
        self._links: list[tuple[int, str | int, int]] = []
        """Which of them holds which under what key, by their places in that list."""
        self._messages: list[int] = []
        """Those that are whole messages."""

    def cut(self, number: int) -> None:
        """The list has only its first `number` messages left."""
        if number >= len(self._messages):
            return
        first = self._messages[number]
        while self._links and self._links[-1][0] >= first:
            self._links.pop()
        del self._messages[number:], self._mutable[first:]

    def copies(self, messages: Sequence[Message]) -> list[Message]:
        """Copies of the whole list, which share nothing mutable with it."""
        for at in range(len(self._messages), len(messages)):
            self._messages.append(self._note(messages[at]))
        copies = [value.copy() for value in self._mutable]
        for holder, key, held in self._links:
            copies[holder][key] = copies[held]
        return [copies[at] for at in self._messages]

    def _note(self, value: Any) -> int:
        number = len(self._mutable)
        self._mutable.append(value)
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            if type(inner) is dict or type(inner) is list:
                self._links.append((number, key, self._note(inner)))
        return number
