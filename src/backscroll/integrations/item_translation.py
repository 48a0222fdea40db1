"""How runs of items of the Responses API are read, compared and written."""

from collections.abc import Mapping, Sequence
from typing import Any

from backscroll.integrations.item_runs import Item, Run, kind_of, origin_of, plain
from backscroll.integrations.translation import Translation
from backscroll.messages import Message
from backscroll.messages.dialects.response_items import call_id, is_envelope

_WHOLE = "items"
"""The type of a block that holds a run which ends with reasoning, as older versions stored it."""
_ENVELOPE = {"items": True}
"""The metadata of a message whose content are items."""


class ItemTranslation(Translation[Run]):
    """Runs of items, which are in the dialect of the Responses API."""

    def to_message(self, native: Run) -> Message:
        """Return a message of the SDK as it is, and other items in an envelope."""
        items = [plain(item) for item in native]
        if len(items) == 1 and _is_message(items[0]):
            return items[0]
        return {"role": origin_of(native[0]), "content": items, "metadata": dict(_ENVELOPE)}

    def to_native(self, message: Message, natives: Sequence[Run]) -> Run:
        """Return the items of a message, each that is unchanged as the very object."""
        given = [item for run in natives for item in run]
        return tuple(next((own for own in given if own == item), item) for item in _shown(message, natives))

    def said(self, message: Message) -> object:
        """Return role and content of a stored message without the ids and states of its items."""
        return message["role"], [_says(item) for item in items_of(message)]


def items_of(message: Message) -> list[Item]:
    """Return the items of a message of `ItemTranslation.to_message`, as they were."""
    return _unwrapped(message["content"]) if (message.get("metadata") or {}).get("items") is True else [message]


def _shown(message: Message, natives: Sequence[Run]) -> list[Item]:
    """Return the items of a message of a view."""
    content = message.get("content")
    if is_envelope(message) or (type(content) is list and any(_is_wrapped(run) for run in natives)):
        return _unwrapped(content)
    return [{key: value for key, value in message.items() if key != "metadata"}]


def _unwrapped(content: Any) -> list[Item]:
    return list(content[0]["items"] if kind_of(content[0]) == _WHOLE else content)


def _is_wrapped(run: Run) -> bool:
    return len(run) > 1 or not _is_message(run[0])


def _is_message(item: Item) -> bool:
    if kind_of(item) not in ("", "message"):
        return False
    return "role" in item if isinstance(item, Mapping) else hasattr(item, "role")


def _says(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item without its notes. An id is none where it names something: a call, or another item."""
    named = kind_of(item) == "item_reference" or (kind_of(item) and call_id(item) == item.get("id"))
    notes = ("metadata", "status") if named else ("metadata", "status", "id")
    return {key: value for key, value in item.items() if key not in notes}
