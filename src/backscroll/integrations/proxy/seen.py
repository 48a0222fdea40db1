"""Messages of earlier requests: a client sends them again each time, and equal texts need not be read again."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from backscroll.integrations.proxy.given import Given

_LOOKED_AT = 200
"""Characters of the messages by which an earlier request is found."""
_CHANGING = 4
"""Newest messages that the next request may spell in another way, because marks for a cache move."""
_LARGEST = 32_000_000
"""Characters of all requests that are kept; parsed, they take several times as many bytes."""


class _Request(NamedTuple):
    text: str
    """Of its messages, up to the end of the newest that is kept."""
    items: list[Given]


class SeenMessages:
    """Messages of the newest requests. Safe for concurrent threads."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, _Request] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, text: str, at: int) -> tuple[list[Given], int]:
        """Return the known messages with which a request begins, and where the last of them ends.

        Args:
            text: The body of the request.
            at: Where its messages begin.
        """
        found = self._requests.get(text[at : at + _LOOKED_AT])
        if found is None or not text.startswith(found.text, at):
            return [], at
        return found.items, at + len(found.text)

    def note(self, text: str, at: int, items: Sequence[Given], ends: Sequence[int]) -> None:
        """Keep the messages of a request.

        Args:
            text: The body of the request.
            at: Where its messages begin.
            items: Its messages.
            ends: Where each of the newest of them ends.
        """
        kept = len(items) - _CHANGING
        if len(ends) <= _CHANGING or kept <= 0:
            return  # too few are new
        request = _Request(text[at : ends[-1 - _CHANGING]], list(items[:kept]))
        with self._lock:
            self._remove(text[at : at + _LOOKED_AT])
            self._requests[text[at : at + _LOOKED_AT]] = request
            self._size += len(request.text)
            while self._size > _LARGEST:
                self._remove(next(iter(self._requests)))

    def _remove(self, key: str) -> None:
        found = self._requests.pop(key, None)
        if found is not None:
            self._size -= len(found.text)
