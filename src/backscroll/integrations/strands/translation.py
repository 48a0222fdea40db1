"""How Strands' messages are read and compared."""

from collections.abc import Sequence

from backscroll.integrations.strands.serialization import Message, from_json, said, to_json
from backscroll.integrations.strands.tool_result_storage import ToolResultArchive
from backscroll.integrations.translation import Translation


class StrandsTranslation(Translation[Message]):
    """Messages of Strands, which are in the dialect of Bedrock.

    Args:
        shelf: Where long results are stored; one that failed there stays whole in views. `None`: nowhere.
    """

    def __init__(self, shelf: ToolResultArchive | None) -> None:
        self._shelf = shelf

    def to_message(self, native: Message) -> Message:
        """Return the message with its bytes as JSON."""
        found: Message = to_json(native)
        if self._shelf is not None and self._shelf.failed(native):
            found["metadata"] = {**(found.get("metadata") or {}), "whole": True}
        return found

    def to_native(self, message: Message, natives: Sequence[Message]) -> Message:  # noqa: ARG002  a copy lacks nothing
        """Return the message with its bytes restored."""
        found: Message = from_json(message)
        return found

    def says(self, native: Message) -> object:
        """Return role and content."""
        return said(native)

    def said(self, message: Message) -> object:
        """Return role and content of a stored message."""
        return said(message)
