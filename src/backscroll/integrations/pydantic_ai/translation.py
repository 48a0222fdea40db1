"""How messages of Pydantic AI are read, compared and rebuilt."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from backscroll.integrations.pydantic_ai.blocks import flags_of, pieces_of, role_of
from backscroll.integrations.pydantic_ai.rebuilding import rebuilt
from backscroll.integrations.pydantic_ai.sayings import says_of
from backscroll.integrations.translation import Translation
from backscroll.messages import Message


class PydanticAITranslation(Translation[ModelMessage]):
    """Messages of Pydantic AI as dicts of content blocks.

    Attributes:
        first: The message that begins the conversation.
    """

    def __init__(self) -> None:
        self.first: ModelMessage | None = None

    def to_message(self, native: ModelMessage) -> Message:
        """Return the message with one block for each part, or each item of a user's prompt."""
        content = [piece.block for piece in pieces_of(native.parts)]
        flags = flags_of(native, is_first=native is self.first)
        return {"role": role_of(native), "content": content} | ({"metadata": flags} if flags else {})

    def to_native(self, message: Message, natives: Sequence[ModelMessage]) -> ModelMessage:
        """Return the message with those parts rebuilt that the view changed."""
        return rebuilt(message, natives)

    def says(self, native: ModelMessage) -> object:
        """Return the role, and what each part says."""
        return says_of(native)
