"""What a provider counted for a call, in the framework's form."""

from typing import Any

from backscroll.messages.counted import Counted
from backscroll.tokens.responses import read_usage


def counted_in(usage: Any) -> Counted | None:
    """Return what the provider counted for one call; `None` if it did not count the prompt.

    Args:
        usage: `usage_metadata` of a response. Its prompt includes what the cache held. The framework's models of
            Anthropic and LiteLLM note what was written to the cache in an attribute that is no field.
    """
    counted = None if usage is None else read_usage(usage)
    written = getattr(usage, "cache_creation_input_tokens", None)
    if counted is None or type(written) is not int:
        return counted
    written = min(written, counted.fresh)
    return counted._replace(fresh=counted.fresh - written, written=written)
