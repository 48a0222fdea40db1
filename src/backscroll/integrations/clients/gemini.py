"""Arguments for Gemini's `generateContent`, from a view."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import ConfigurationError
from backscroll.integrations.clients.accepted import leading_system
from backscroll.messages import Message

_ROLES = ("user", "model")


def gemini_request(view: Sequence[Message], config: Any = None) -> dict[str, Any]:
    """Return `contents` and `config` for `client.models.generate_content(**...)` of google-genai.

    The leading system messages become `system_instruction` of the config.

    Args:
        view: What `get_messages_for_request` returned.
        config: The rest of the config, such as `tools`: a dict or a `GenerateContentConfig`. It is not changed.

    Raises:
        ConfigurationError: The view holds messages of another API, both it and `config` have system instructions, or
            `config` has contents that are cached apart, or functions that the client would call by itself.
    """
    first = leading_system(view)
    contents = [_content(content, at) for at, content in enumerate(view[first:], first)]
    asked = dict(config or {})
    _check(asked)
    instructions = [part for content in view[:first] for part in _parts(content)]
    if instructions:
        if asked.get("system_instruction") or asked.get("systemInstruction"):
            raise ConfigurationError(
                "`config` has a `system_instruction`, and the view begins with system messages: use one of them"
            )
        asked["system_instruction"] = {"parts": instructions}
    return {"contents": contents, "config": asked}


def _check(config: dict[str, Any]) -> None:
    """Refuse what would put messages into the request, or into the conversation, that no view holds."""
    if config.get("cached_content") or config.get("cachedContent"):
        raise ConfigurationError(
            "`config` has `cached_content`, which comes before the view, and a view is the whole conversation: leave "
            "it out, since the provider caches what views have in common by itself"
        )
    if any(map(callable, config.get("tools") or ())):
        raise ConfigurationError(
            "`config` has functions as `tools`, which the client would call by itself, in requests that no view made: "
            "pass their declarations, and call them in your loop"
        )


def _content(content: Message, at: int) -> Message:
    if content.get("role") not in _ROLES or type(content.get("parts")) is not list:
        raise ConfigurationError(
            f"view[{at}] has the role {content.get('role')!r:.40} and the keys {', '.join(map(repr, content))}, which "
            "Gemini's API does not take: send the views of a session to the provider whose messages were appended to "
            "it, since messages are never converted"
        )
    return {"role": content["role"], "parts": content["parts"]}


def _parts(message: Message) -> list[Any]:
    """Return the parts of a system message; a text is one."""
    parts, content = message.get("parts"), message.get("content")
    if type(parts) is list:
        return parts
    blocks = content if type(content) is list else [{"text": content}] if content else []
    return [{"text": block["text"]} for block in blocks if block.get("text")]
