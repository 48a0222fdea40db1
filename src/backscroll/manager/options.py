"""The options of a manager: their names, and the type of each. Raises for what was given wrongly; opens nothing.

Ranges, and what goes together, are checked by the room that uses an option.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from backscroll.compaction.cache_pricing import Prices
from backscroll.errors import ConfigurationError
from backscroll.tokens.budget import Previews
from backscroll.tokens.model_profiles import Family


class Option(NamedTuple):
    """What a value has to be."""

    fits: Callable[[Any], bool]
    wants: str


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _plain_function(value: Any) -> bool:
    return callable(value) and not inspect.iscoroutinefunction(value)


def _truth(value: Any) -> bool:
    return type(value) is bool


def _address_or(*methods: str) -> Callable[[Any], bool]:
    """A text, a path, or an object with these methods."""

    def fits(value: Any) -> bool:
        known = isinstance(value, str | Path)
        return known or (not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods))

    return fits


def _list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _or_none(fits: Callable[[Any], bool], wants: str) -> Option:
    return Option(lambda value: value is None or fits(value), f"{wants}, or None")


_TOKENS = Option(_whole, "a whole number of tokens")
_MESSAGES = Option(_whole, "a whole number of messages")
_SHARE = Option(_number, "a share of the budget, from 0 to 1")
_SWITCH = Option(_truth, "True or False")

OPTIONS: Mapping[str, Option] = {
    "session": _or_none(_text, 'a name such as "support-42"'),
    "store": _or_none(
        _address_or("append", "read", "end", "tip", "find"),
        'an address such as "sqlite:///agent.db", a Path or a Store',
    ),
    "lease": _or_none(_number, "a number of seconds"),
    "strategy": _or_none(_text, '"auto" or the name of one strategy'),
    "strategies": _or_none(_list, "a list of names and strategies"),
    "max_tokens": _TOKENS,
    "compact_threshold": _SHARE,
    "target_usage": _SHARE,
    "protected_recent": _SHARE,
    "protected_results": Option(_whole, "a whole number of results"),
    "protected_first": _MESSAGES,
    "protected_last": _MESSAGES,
    "previews": _or_none(lambda value: isinstance(value, Previews), "a Previews(over, keep, when)"),
    "max_messages": _or_none(*_MESSAGES),
    "min_batch_tokens": _or_none(*_TOKENS),
    "overhead_tokens": _or_none(*_TOKENS),
    "margin_tokens": _TOKENS,
    "output_reserve": Option(_number, "a share of the provider's largest output, from 0 to 1"),
    "tokenizer": Option(
        lambda value: _text(value) or callable(value) or inspect.getattr_static(value, "count", None) is not None,
        "a name, a function from a text to its tokens, or a Tokenizer",
    ),
    "model": _or_none(lambda value: isinstance(value, str | Family), "the model's name or a Family"),
    "prices": _or_none(
        lambda value: isinstance(value, Prices), "a Prices(cache_read=..., cache_write=..., cache_lifetime=...)"
    ),
    "summarizer": _or_none(callable, "a function from a SummaryRequest to a text"),
    "summary_window": _TOKENS,
    "summary_timeout": Option(_number, "a number of seconds"),
    "summary_as_turn": _SWITCH,
    "blobs": _or_none(
        _address_or("put", "get", "delete", "names"), 'a folder, an address such as "s3://bucket/prefix", or a Blobs'
    ),
    "offload_over": Option(_whole, "a whole number of bytes"),
    "encryption_key": _or_none(lambda value: isinstance(value, str | bytes), "32 bytes, or these as base64 text"),
    "redact": _or_none(_plain_function, "a plain function from a message to a message"),
    "on_event": _or_none(callable, "a function of a name and a payload"),
    "telemetry": _SWITCH,
}
_SECRET = frozenset(("encryption_key",))


def checked(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the local variables of a constructor, where `misplaced` holds what was given without a
    name and `unknown` what has an unknown one.

    Raises `ConfigurationError` for these, and for a value of the wrong type.
    """
    if found["misplaced"]:
        raise ConfigurationError(
            'options are given by name, so that no address is taken for a name: write store="sqlite:///agent.db" '
            'for where a session is kept, and session="support-42" for what it is called there'
        )
    for name in found["unknown"]:
        near = get_close_matches(name, OPTIONS, n=1, cutoff=0.0)[0]
        raise ConfigurationError(f"there is no option `{name}`: the nearest is `{near}`")
    for name, (fits, wants) in OPTIONS.items():
        if not fits(value := found[name]):
            given = f"a {type(value).__name__}" if name in _SECRET else f"{value!r:.80}"
            raise ConfigurationError(f"`{name}` must be {wants}, not {given}")
    return {name: found[name] for name in OPTIONS}
