"""What a provider counted for one call, read from the objects of its client.

The interfaces differ in what their figure for the prompt includes. Sources: the types of the clients openai 3.54,
anthropic 2.12 and google-genai 3.4, and botocore's model of Bedrock's Converse (1.44), read in November 2026.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError

SUPPORTED = "OpenAI (chat and Responses), Anthropic, Gemini and Bedrock Converse"
IN_STREAMS = (
    'it holds no count of the prompt; of a stream, OpenAI\'s chat counts only with `stream_options={"include_usage": '
    "True}`, in the last chunk, Responses in `response.completed`, Anthropic in `get_final_message()`, Gemini in the "
    "last chunk, and Bedrock in the event `metadata`"
)
"""Why a response has no usage, and where a stream has it."""
_HOLDERS = ("usage", "usage_metadata", "usageMetadata")
_WRAPPERS = ("response", "message", "metadata")
"""Fields in which events of streams hold a response: OpenAI's `response.completed`, Anthropic's `message_start`,
Bedrock's `metadata`.
"""
_RESPONSES = (
    *("choices", "output", "candidates", "type", "stopReason"),
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"),
)
"""Fields that identify a response, or an event of its stream, without usage."""


class Counted(NamedTuple):
    """Tokens that a provider counted for one call."""

    fresh: int
    """Tokens of the prompt that were neither read from the provider's cache nor written to it."""
    read: int
    written: int
    answer: int
    """Tokens of the answer, including reasoning."""

    @property
    def cached(self) -> int:
        """Tokens read from and written to the provider's cache."""
        return self.read + self.written

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.fresh + self.cached


def read_usage(response: object) -> Counted | None:
    """Return what a provider counted for a call; None if the response has no count of its prompt.

    Args:
        response: The response of a client, an event of its stream that holds one, its usage alone, or any of these as a
            mapping.

    Raises:
        ConfigurationError: It is none of these.
    """
    usage = _usage_of(response)
    if usage is None:
        return None
    for read in (_anthropic_with_turns, _openai_chat, _gemini, _bedrock, _openai_responses, _anthropic):
        if (counted := read(usage)) is not None:
            return counted
    return None


def _usage_of(response: object) -> object:
    """Return the usage in a response, which may be the response itself; None if there is none yet."""
    if _is_usage(response):
        return response
    for name in _HOLDERS:
        if (found := _get(response, name)) is not None:
            if not _is_usage(found):
                raise _unknown(response, f", whose {name} is {named(found)}")
            return found
    for name in _WRAPPERS:
        found = _get(response, name)
        if found is not None and any(_get(found, holder) is not None for holder in _HOLDERS):
            return _usage_of(found)
    if not any(_has(response, name) for name in (*_HOLDERS, *_RESPONSES)):
        raise _unknown(response)
    return None


_PROMPTS = ("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount", "inputTokens")
_ANSWERS = ("completion_tokens", "output_tokens", "total_token_count", "totalTokenCount", "outputTokens")


def _is_usage(value: object) -> bool:
    return any(_has(value, name) for name in (*_PROMPTS, *_ANSWERS))


def _unknown(response: object, more: str = "") -> ConfigurationError:
    return ConfigurationError(
        f"usage cannot be read from {named(response)}{more}: give the response of a client, or its usage, as an "
        f"object or a dict, of {SUPPORTED}; else call `observe_usage` with the figures"
    )


def named(value: object) -> str:
    """Describe the kind of an object in words."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} with the keys {', '.join(map(repr, list(value)[:8])) or 'none'}" if type(value) is dict else name


# -- the usage of each interface --


def _openai_chat(usage: object) -> Counted | None:
    """Its prompt includes cached tokens. DeepSeek and Moonshot report these in fields of their own."""
    prompt = _count(usage, "prompt_tokens")
    if prompt is None:
        return None
    details = _get(usage, "prompt_tokens_details")
    read = _first(_count(details, "cached_tokens"), _count(usage, "prompt_cache_hit_tokens", "cached_tokens"))
    return _within(prompt, read, _first(_count(details, "cache_write_tokens")), _count(usage, "completion_tokens"))


def _openai_responses(usage: object) -> Counted | None:
    """Its prompt includes cached tokens, which its details list. Anthropic's interface has no such details."""
    prompt, details = _count(usage, "input_tokens"), _get(usage, "input_tokens_details")
    if prompt is None or details is None:
        return None
    read, written = (_first(_count(details, name)) for name in ("cached_tokens", "cache_write_tokens"))
    return _within(prompt, read, written, _count(usage, "output_tokens"))


def _anthropic(usage: object) -> Counted | None:
    """Its `input_tokens` were neither read from the cache nor written to it."""
    fresh = _count(usage, "input_tokens")
    if fresh is None:
        return None
    read, written = (_first(_count(usage, f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    return Counted(fresh, read, written, _first(_count(usage, "output_tokens")))


def _anthropic_with_turns(usage: object) -> Counted | None:
    """Read the first turn of a call in which the server ran tools: its totals add up the prompts of all turns, and we
    sent the first. Compactions by the server are listed apart and are no prompt of ours.
    """
    turns = _get(usage, "iterations")
    if not isinstance(turns, list | tuple) or not turns:
        return None
    sent = next((turn for turn in turns if _get(turn, "type") in ("message", "fallback_message")), None)
    counted = None if sent is None else _anthropic(sent)
    return counted and counted._replace(answer=_first(_count(usage, "output_tokens")))


def _gemini(usage: object) -> Counted | None:
    """Its prompt includes cached tokens; its thoughts are not part of its candidates."""
    prompt = _count(usage, "prompt_token_count", "promptTokenCount")
    if prompt is None:
        return None
    read = _first(_count(usage, "cached_content_token_count", "cachedContentTokenCount"))
    said = _count(usage, "candidates_token_count", "candidatesTokenCount", "response_token_count", "responseTokenCount")
    return _within(prompt, read, 0, _first(said) + _first(_count(usage, "thoughts_token_count", "thoughtsTokenCount")))


def _bedrock(usage: object) -> Counted | None:
    """Its input excludes cached tokens. Other providers in its shape may include them: the total decides, since it is
    the sum of all.
    """
    taken = _count(usage, "inputTokens")
    if taken is None:
        return None
    read, written = (_first(_count(usage, f"cache{name}InputTokens")) for name in ("Read", "Write"))
    answer = _first(_count(usage, "outputTokens"))
    if _count(usage, "totalTokens") == taken + answer:
        return _within(taken, read, written, answer)
    return Counted(taken, read, written, answer)


def _within(prompt: int, read: int, written: int, answer: int | None) -> Counted:
    """Split a prompt that includes its cached parts; parts larger than the whole are ignored."""
    if read + written > prompt:
        read = written = 0
    return Counted(prompt - read - written, read, written, answer or 0)


# -- fields of objects and of mappings --


def _has(value: object, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _count(value: object, *names: str) -> int | None:
    """Return the first of these fields that holds a number of tokens."""
    return next((found for name in names if type(found := _get(value, name)) is int and found >= 0), None)


def _first(*found: int | None) -> int:
    return next((tokens for tokens in found if tokens is not None), 0)
