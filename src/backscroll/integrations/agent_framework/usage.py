"""What a provider counted for a call, in the framework's form."""

from collections.abc import Mapping
from typing import Any

from backscroll.messages.counted import Counted

_APART = "anthropic"
"""Providers with this in their name count tokens of the cache apart from the others."""


def counted_in(usage: Mapping[str, Any] | None, provider: str) -> Counted | None:
    """Return what the provider counted for one call; `None` if it did not count the prompt.

    Clients differ in whether the count of the prompt includes what the cache held. The total says it, where there is
    one; else the provider's name does.

    Args:
        usage: `usage_details` of a response.
        provider: The provider's name.
    """
    if not usage or type(usage.get("input_token_count")) is not int:
        return None
    counts = {
        name: _number(usage.get(f"{name}_token_count"))
        for name in ("input", "output", "total", "cache_read_input", "cache_creation_input")
    }
    read, written, answer = counts["cache_read_input"], counts["cache_creation_input"], counts["output"]
    given, total = counts["input"], counts["total"]
    apart = total >= given + read + written + answer if total else _APART in provider
    fresh = given if apart else max(0, given - read - written)
    return Counted(fresh, read, written, answer)


def _number(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
