"""Arguments for OpenAI's chat completions and its Responses API, from a view."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.clients.accepted import without_metadata
from backscroll.messages import Message
from backscroll.messages.dialects.openai_chat import OPENAI_CHAT
from backscroll.messages.dialects.responses import RESPONSES


def chat_request(view: Sequence[Message]) -> dict[str, Any]:
    """Return `messages` for `client.chat.completions.create(**...)`, of OpenAI or of any server that speaks its API.

    Args:
        view: What `get_messages_for_request` returned.

    Raises:
        ConfigurationError: The view holds messages of another API.
    """
    return {"messages": without_metadata(view, OPENAI_CHAT.taken)}


def responses_request(view: Sequence[Message]) -> dict[str, Any]:
    """Return `input` for `client.responses.create(**...)`.

    System messages stay in `input`. From GPT-6.2 on, `instructions` are rendered behind `input`, so that the prompt
    cache never holds them. Source: "Preserved reasoning" (OpenAI).

    Args:
        view: What `get_messages_for_request` returned.

    Raises:
        ConfigurationError: The view holds messages of another API.
    """
    return {"input": without_metadata(view, RESPONSES.taken)}
