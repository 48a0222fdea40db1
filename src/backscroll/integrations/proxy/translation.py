"""How a client's messages are read and compared: as they are, without marks for a prompt cache."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.item_runs import Run, kind_of
from backscroll.integrations.item_translation import ItemTranslation
from backscroll.integrations.translation import Translation
from backscroll.messages import Message
from backscroll.messages.cache_marks import in_blocks, without_marks


class WireTranslation(Translation[dict[str, Any]]):
    """Messages of Anthropic's Messages API or of OpenAI's chat completions."""

    def to_message(self, native: dict[str, Any]) -> Message:
        """Return the message without marks, which move from request to request."""
        return _kept({key: value for key, value in without_marks(native).items() if key != "metadata"})

    def to_native(self, message: Message, natives: Sequence[dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG002  a copy lacks nothing
        """Return the message as it is sent."""
        return {key: value for key, value in message.items() if key != "metadata"}

    def said(self, message: Message) -> object:
        """Return what a message says. A text is one block: clients switch between the two forms to set a mark."""
        found = {key: value for key, value in message.items() if key != "metadata"}
        content = found.get("content")
        if type(content) is str:
            found["content"] = [{"type": "text", "text": content}]
        return found


class BlockTranslation(WireTranslation):
    """Messages of an API in which only blocks bear marks."""

    def to_native(self, message: Message, natives: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the message as it is sent; one that Backscroll wrote in blocks, with a mark or without."""
        found = super().to_native(message, natives)
        return found if natives else in_blocks(found)


class RunTranslation(ItemTranslation):
    """Runs of items of OpenAI's Responses API. Some clients, such as OpenCode, send the model's messages without type:
    in a run they are stored with it, else no reader would take the run for items.
    """

    def to_message(self, native: Run) -> Message:
        """Return the message to store."""
        return _kept(super().to_message(native if len(native) == 1 else tuple(map(typed, native))))

    def to_native(self, message: Message, natives: Sequence[Run]) -> Run:
        """Return the items of a message, each that is unchanged as the very object."""
        untyped = [own for run in natives for own in run if not kind_of(own)]
        found = super().to_native(message, natives)
        return tuple(next((own for own in untyped if typed(own) == item), item) for item in found) if untyped else found


def typed(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with its type."""
    return item if kind_of(item) else {**item, "type": "message"}


def _kept(message: Message) -> Message:
    """Return a message that the request's system prompt does not replace: the client sends both."""
    if message.get("role") != "system":
        return message
    return {**message, "metadata": {**(message.get("metadata") or {}), "source": "host"}}
