"""What the provider counted for a call, read from LiteLLM's response."""

from typing import Any

from backscroll.messages.counted import Counted


def counted_in(response: Any) -> Counted | None:
    """Return the tokens of a response, or of a stream's last chunk; `None` if they cannot be used.

    LiteLLM's `prompt_tokens` include cached ones for every provider. With tools that the provider ran by itself, they
    sum several passes. A response out of LiteLLM's own cache was counted before.
    """
    usage = getattr(response, "usage", None)
    if usage is None or getattr(usage, "server_tool_use", None):
        return None
    if (getattr(response, "_hidden_params", None) or {}).get("cache_hit"):
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    read = _tokens(details, "cached_tokens")
    written = _tokens(usage, "cache_creation_input_tokens") or _tokens(details, "cache_creation_tokens")
    fresh = _tokens(usage, "prompt_tokens") - read - written
    return (
        Counted(fresh, read, written, _tokens(usage, "completion_tokens"))
        if fresh >= 0 and fresh + read + written
        else None
    )


def _tokens(holder: Any, name: str) -> int:
    found = getattr(holder, name, None)
    return found if type(found) is int else 0
