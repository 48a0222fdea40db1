"""Arguments for Anthropic's Messages API, from a view."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.clients.accepted import leading_system, without_metadata
from backscroll.messages import Message
from backscroll.messages.dialects.anthropic import ANTHROPIC
from backscroll.messages.parts import kind_of


def anthropic_request(view: Sequence[Message]) -> dict[str, Any]:
    """Return `messages` and, if the view begins with system messages, `system` for `client.messages.create(**...)`.

    The leading system messages become blocks of `system` with the marks that they bear. Later ones stay where they
    are. The results of one turn become one message, as the API asks for parallel calls. Nothing else changes: the
    option `cache_marks` of a manager marks its views.

    Args:
        view: What `get_messages_for_request` returned.

    Raises:
        ConfigurationError: The view holds messages of another API.
    """
    messages, first = without_metadata(view, ANTHROPIC.taken), leading_system(view)
    system = [block for message in messages[:first] for block in _blocks(message.get("content"))]
    request: dict[str, Any] = {"system": system} if system else {}
    return request | {"messages": _gathered(messages[first:])}


def _blocks(content: Any) -> list[Any]:
    """Return a content as blocks; an empty text is none, since the API refuses it."""
    return content if type(content) is list else [{"type": "text", "text": content}] if content else []


def _gathered(messages: Sequence[Message]) -> list[Message]:
    """Put results that follow each other into one message: apart, they teach a model to call tools one by one.

    Source: "Parallel tool use" (Claude Platform Docs).
    """
    found: list[Message] = []
    for message in messages:
        if found and _is_results(message) and _is_results(found[-1]):
            found[-1] = {**found[-1], "content": [*found[-1]["content"], *message["content"]]}
        else:
            found.append(message)
    return found


def _is_results(message: Message) -> bool:
    content = message.get("content")
    return type(content) is list and bool(content) and all(kind_of(block) == "tool_result" for block in content)
