"""A message or an item of a client's request, with the text in which the client wrote it."""

from typing import Any

from backscroll.integrations.proxy.json_text import Spelled, written

CACHE_MARK = "cache_control"
"""The member that a mark for Anthropic's prompt cache is."""


class Given(dict[str, Any]):
    """A JSON object as the client sent it. It must not be changed.

    Args:
        spelled: Its value and place.
        body: The text of the request.
    """

    __slots__ = ("is_marked", "text")

    def __init__(self, spelled: Spelled, body: str) -> None:
        super().__init__(spelled.value)
        self.text: str = body[spelled.start : spelled.end]
        """How the client wrote it."""
        self.is_marked: bool = CACHE_MARK in self.text
        """Whether it may have a mark for a prompt cache. Asked for each message of each request, and searched once."""


def as_given(item: dict[str, Any]) -> Given:
    """Return a message as if the client had sent it."""
    if isinstance(item, Given):
        return item
    text = written(item)
    return Given(Spelled(item, 0, len(text)), text)
