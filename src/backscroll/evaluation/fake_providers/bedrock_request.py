"""A request of Converse, read once: messages, blocks by place, calls, results, and the row of the model."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.claude_models import ClaudeModel, find_model
from backscroll.evaluation.fake_providers.errors import bedrock_error

_CLAUDE = re.compile(r"(?:[a-z-]+\.)?anthropic\.(claude-.+?)(?:-v\d+(?::\d+)?)?")


class Place(NamedTuple):
    """A block of `messages`, or one in a result."""

    message: int
    role: str
    path: str
    """As error messages write it."""
    block: dict[str, Any]


class BedrockRequest:
    """A request as its caller passed it. It is not changed."""

    def __init__(self, raw: Mapping[str, Any], model: str) -> None:
        messages = raw.get("messages")
        if not isinstance(messages, list) or not messages:
            raise bedrock_error("A conversation must start with a user message. Add a user message and try again.")
        for at, message in enumerate(messages):
            if not isinstance(message, dict) or not isinstance(message.get("content"), list):
                raise bedrock_error(
                    f"Parameter validation failed:\nInvalid type for parameter messages[{at}].content, value:"
                    f" {message.get('content') if isinstance(message, dict) else message}, valid types: list, tuple",
                    kind="ParamValidationError",
                )
        self.raw = raw
        self.messages: list[dict[str, Any]] = messages
        found = _CLAUDE.fullmatch(model.rpartition("/")[2])
        self.claude: ClaudeModel | None = find_model(found[1]) if found else None
        self.is_claude: bool = found is not None

    def role(self, at: int) -> str:
        """Return the role of a message."""
        return str(self.messages[at].get("role"))

    def places(self) -> Iterator[Place]:
        """Yield every block of `messages` in order, without those inside results."""
        for at, message in enumerate(self.messages):
            for number, block in enumerate(message["content"]):
                if isinstance(block, dict):
                    yield Place(at, self.role(at), f"messages.{at}.content.{number}", block)

    def inner(self) -> Iterator[Place]:
        """Yield every block inside a result."""
        for place in self.places():
            content = holder(place.block, "toolResult").get("content")
            for number, block in enumerate(content if isinstance(content, list) else ()):
                if isinstance(block, dict):
                    yield Place(place.message, place.role, f"{place.path}.toolResult.content.{number}", block)

    def calls(self, at: int) -> list[dict[str, Any]]:
        """Return the calls of a message that the client has to answer."""
        found = [holder(block, "toolUse") for block in self.messages[at]["content"]]
        return [call for call in found if call and call.get("type") != "server_tool_use"]

    def results(self, at: int) -> list[dict[str, Any]]:
        """Return the results in a message of the user."""
        found = [holder(block, "toolResult") for block in self.messages[at]["content"]]
        return [result for result in found if result] if self.role(at) == "user" else []

    def turns(self) -> list[int]:
        """Return the indexes of the messages that are no system messages."""
        return [at for at in range(len(self.messages)) if self.role(at) != "system"]


def holder(block: Any, key: str) -> dict[str, Any]:
    """Return what a block holds under its key; empty for other blocks."""
    held = block.get(key) if isinstance(block, dict) else None
    return held if isinstance(held, dict) else {}
