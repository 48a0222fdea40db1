"""Copies of accepted messages; nothing is validated here."""

from collections.abc import Sequence
from typing import Any

from backscroll.messages.dialects.response_items import is_envelope
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


_Link = tuple[int, Any, int]
"""The number of a container, a key in it, and the number of the value there."""


class Copier:
    """Copy a list of messages that changes only at its end.

    Walking through each message takes most of the time of a copy. The first walk therefore records all dictionaries and
    lists and how they are nested; later copies are made in one pass and linked again.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._inner: list[Any] = []
        """Every dictionary and list inside the messages; a container precedes its contents."""
        self._begins: list[int] = []
        """For each message, how many of these precede its own."""
        self._outer_links: list[_Link] = []
        """The links from messages."""
        self._links: list[_Link] = []
        """The other links."""
        self._envelopes: list[int] = []
        """Numbers of the messages whose content are items."""

    def cut(self, number: int) -> None:
        """Forget all messages after the first `number`."""
        if number >= len(self._messages):
            return
        first = self._begins[number]
        for links, end in ((self._outer_links, number), (self._links, first)):
            while links and links[-1][0] >= end:
                links.pop()
        while self._envelopes and self._envelopes[-1] >= number:
            self._envelopes.pop()
        del self._messages[number:], self._begins[number:], self._inner[first:]

    @property
    def holds_items(self) -> bool:
        """Whether the content of a message are items, among those copied last."""
        return bool(self._envelopes)

    def copies(self, messages: Sequence[Message]) -> list[Message]:
        """Return copies of the whole list, which share nothing mutable with it."""
        for at in range(len(self._messages), len(messages)):
            self._add(at, messages[at])
        copies = list(map(dict.copy, self._messages))
        if self._outer_links:
            inner = [value.copy() for value in self._inner]
            for at, key, held in self._outer_links:
                copies[at][key] = inner[held]
            for holder, key, held in self._links:
                inner[holder][key] = inner[held]
        return copies

    def _add(self, at: int, message: Message) -> None:
        self._messages.append(message)
        self._begins.append(len(self._inner))
        for key, value in message.items():
            if type(value) is dict or type(value) is list:
                self._outer_links.append((at, key, self._note(value)))
        if type(message.get("content")) is list and is_envelope(message):
            self._envelopes.append(at)

    def _note(self, value: Any) -> int:
        number = len(self._inner)
        self._inner.append(value)
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            if type(inner) is dict or type(inner) is list:
                self._links.append((number, key, self._note(inner)))
        return number
