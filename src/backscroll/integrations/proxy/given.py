"""A message or an item of a client's request, with the text in which the client wrote it."""

from typing import Any

from backscroll.integrations.proxy.json_text import Spelled, written


class Given(dict[str, Any]):
    """A JSON object as the client sent it. It must not be changed.

    Args:
        spelled: Its value and place.
        body: The text of the request.
    """

    __slots__ = ("text",)

    def __init__(self, spelled: Spelled, body: str) -> None:
        super().__init__(spelled.value)
        self.text: str = body[spelled.start : spelled.end]
        """How the client wrote it."""


def as_given(item: dict[str, Any]) -> Given:
    """Return a message as if the client had sent it."""
    if isinstance(item, Given):
        return item
    text = written(item)
    return Given(Spelled(item, 0, len(text)), text)
