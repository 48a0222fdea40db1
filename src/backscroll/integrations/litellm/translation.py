"""LiteLLM's messages to ours and back: OpenAI's chat dialect, as dicts or as LiteLLM's own objects."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.translation import Translation
from backscroll.messages import Message

_SEALED = ("thinking_blocks", "reasoning_items")
"""Signed thinking of Anthropic and encrypted reasoning of OpenAI, as LiteLLM carries them next to the content."""
_MARK = "cache_control"


class LiteLLMTranslation(Translation[Any]):
    """Messages as `litellm.completion` accepts them."""

    def to_message(self, native: Any) -> Message:
        """Return the message as a dict without marks for a cache; sealed reasoning is in `thinking_block`."""
        found: dict[str, Any] = _unmarked(as_dict(native))
        sealed = {key: found.pop(key) for key in _SEALED if found.get(key)}
        if sealed:
            found.pop("reasoning_content", None)  # says the same again, and is not sent then
            found["thinking_block"] = sealed
        return found

    def to_native(self, message: Message, natives: Sequence[Any]) -> Any:  # noqa: ARG002  a copy lacks nothing
        """Return a dict of OpenAI's chat dialect."""
        found = {key: value for key, value in message.items() if key not in ("metadata", "thinking_block")}
        return {**found, **message.get("thinking_block", {})}


def as_dict(native: Any) -> dict[str, Any]:
    """Return a message as a new dict of JSON's types."""
    found = _plain(native)
    given = found if isinstance(found, dict) else {"content": found}
    return {key: value for key, value in given.items() if value is not None or key == "content"}


def without_metadata(native: Any) -> Any:
    """Return the message itself, or a copy of one whose `metadata` only Backscroll reads."""
    held = native.get("metadata") if isinstance(native, dict) else getattr(native, "metadata", None)
    if held is None:
        return native
    found = native if isinstance(native, dict) else as_dict(native)
    return {key: value for key, value in found.items() if key != "metadata"}


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(exclude_none=True)
        return {"content": None, **dumped} if "role" in dumped else dumped
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _unmarked(block: Any) -> Any:
    """Return a message or a block without marks, which move from request to request."""
    if not isinstance(block, dict):
        return block
    found = {key: value for key, value in block.items() if key != _MARK}
    if isinstance(found.get("content"), list):
        found["content"] = [_unmarked(each) for each in found["content"]]
    return found
