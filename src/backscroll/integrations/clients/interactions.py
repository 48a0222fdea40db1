"""Arguments for Gemini's Interactions API, from a view."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import ConfigurationError
from backscroll.integrations.clients.accepted import leading_system, without_metadata
from backscroll.messages import SYSTEM_ROLES, Message
from backscroll.messages.dialects.interactions import INTERACTIONS

_KINDS = {"user": "user_input", "assistant": "model_output"}
"""The types of steps that say a text, by role."""


def interactions_request(view: Sequence[Message]) -> dict[str, Any]:
    """Return `input`, `system_instruction` and `store` for `client.interactions.create(**...)` of google-genai.

    The steps of all messages are put in a row. The leading system messages become `system_instruction`. `store` is
    false, since each view is the whole conversation: no `previous_interaction_id` goes with it.

    Args:
        view: What `get_messages_for_request` returned.

    Raises:
        ConfigurationError: The view holds messages of another API, or a system message behind the first others.
    """
    first = leading_system(view)
    messages = without_metadata(view, INTERACTIONS.taken, apart=first)
    late = next((at for at, each in enumerate(messages) if at >= first and each["role"] in SYSTEM_ROLES), None)
    if late is not None:
        raise ConfigurationError(
            f"view[{late}] is a system message in the middle, for which the Interactions API has no step: append it "
            "before all others"
        )
    request: dict[str, Any] = {"input": [step for message in messages[first:] for step in _steps(message)]}
    if texts := [text for message in messages[:first] for text in _texts(message)]:
        request["system_instruction"] = "\n\n".join(texts)
    return {**request, "store": False}


def _steps(message: Message) -> list[Any]:
    """Return the steps of a message; a text alone is one."""
    content = message.get("content")
    if type(content) is list:
        return content
    return [{"type": _KINDS[message["role"]], "content": [{"type": "text", "text": content}]}]


def _texts(message: Message) -> list[str]:
    content = message.get("content")
    blocks: list[Any] = content if type(content) is list else [{"text": content}]
    return [block["text"] for block in blocks if block.get("text")]
