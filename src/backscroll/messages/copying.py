"""Copies of accepted messages; nothing is validated here."""

from collections.abc import Sequence
from typing import Any

from backscroll.messages.parts import Message


def copy_message(message: Message) -> Message:
    """Return a deep copy of an accepted message; texts are shared, because they are immutable."""
    copy = message.copy()
    for key, value in message.items():
        if type(value) is list:
            copy[key] = _copy_list(value)
        elif type(value) is dict:
            copy[key] = copy_message(value)
    return copy


def _copy_list(values: list[Any]) -> list[Any]:
    return [
        copy_message(value) if type(value) is dict else _copy_list(value) if type(value) is list else value
        for value in values
    ]


class Copier:
    """Copy a list of messages that changes only at its end.

    Walking through each message takes most of the time of a copy. The first walk therefore records all dictionaries and
    lists and how they are nested; later copies are made in one pass and linked again.
    """

    def __init__(self) -> None:
        self._mutable: list[Any] = []
        """Every dictionary and list; a container precedes its contents."""
        self._links: list[tuple[int, str | int, int]] = []
        """Links as (index of the container, key, index of the value)."""
        self._messages: list[int] = []
        """Indexes of those that are whole messages."""
        self._listed: list[int] = []
        """Numbers of the messages whose content is a list."""

    def cut(self, number: int) -> None:
        """Forget all messages after the first `number`."""
        if number >= len(self._messages):
            return
        first = self._messages[number]
        while self._links and self._links[-1][0] >= first:
            self._links.pop()
        while self._listed and self._listed[-1] >= number:
            self._listed.pop()
        del self._messages[number:], self._mutable[first:]

    @property
    def holds_lists(self) -> bool:
        """Whether the content of a message is a list, among those copied last."""
        return bool(self._listed)

    def copies(self, messages: Sequence[Message]) -> list[Message]:
        """Return copies of the whole list, which share nothing mutable with it."""
        for at in range(len(self._messages), len(messages)):
            message = messages[at]
            if type(message.get("content")) is list:
                self._listed.append(at)
            self._messages.append(self._note(message))
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
