"""The options of a manager: names, types and type checks."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from backscroll.compaction.decision import Strategy
from backscroll.compaction.native_request import NativeCompaction
from backscroll.compaction.options import CachePricing, Protection, ToolResultPreview
from backscroll.compaction.strategies import AUTO
from backscroll.compaction.summarization import Summarizer, SummarizerFunction
from backscroll.errors import ConfigurationError
from backscroll.messages import Redact
from backscroll.ports import EventHandler, Store, Tokenizer
from backscroll.stores.options import StorageOptions
from backscroll.tokens.budget import BudgetOptions
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.view.cache_marks import CacheMarks

__all__ = ["CHECKS", "ManagerOptions", "StorageOptions", "check_names"]


class Option(NamedTuple):
    """The check for the type of an option, and its description for errors."""

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


def _address_or(*methods: str) -> Callable[[Any], bool]:
    """Accept a text, a path, or an object with these methods."""

    def fits(value: Any) -> bool:
        known = isinstance(value, str | Path)
        return known or (not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods))

    return fits


def _list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _or_none(fits: Callable[[Any], bool], wants: str) -> Option:
    return Option(lambda value: value is None or fits(value), f"{wants}, or None")


_TOKENS = Option(_whole, "a whole number of tokens")
_SHARE = Option(_number, "a share of the budget, from 0 to 1")

CHECKS: Mapping[str, Option] = {
    "session": _or_none(_text, 'a name such as "support-42"'),
    "store": _or_none(
        _address_or("append", "read", "length", "tip", "find"),
        'an address such as "sqlite:///agent.db", a Path or a Store',
    ),
    "lease": _or_none(_number, "a number of seconds"),
    "budget": Option(
        lambda value: _whole(value) or isinstance(value, BudgetOptions),
        "a whole number of tokens or a BudgetOptions(max_tokens=...)",
    ),
    "mode": Option(_text, '"standard", "lean" or "facts"'),
    "compact_threshold": _or_none(*_SHARE),
    "target_usage": _or_none(*_SHARE),
    "compact_at": _or_none(*_TOKENS),
    "compact_to": _or_none(*_TOKENS),
    "strategies": _or_none(lambda value: value == AUTO or _list(value), f'"{AUTO}", a list of names and strategies'),
    "protect": _or_none(lambda value: isinstance(value, Protection), "a Protection(recent=..., last=...)"),
    "tool_result_preview": _or_none(
        lambda value: isinstance(value, ToolResultPreview),
        "a ToolResultPreview(threshold_tokens=...)",
    ),
    "max_messages": _or_none(_whole, "a whole number of messages"),
    "clear_at_least_tokens": _or_none(*_TOKENS),
    "plan_ahead": Option(lambda value: type(value) is bool, "True or False"),
    "overhead_tokens": _or_none(*_TOKENS),
    "tokenizer": Option(
        lambda value: _text(value) or callable(value) or inspect.getattr_static(value, "count", None) is not None,
        "a name, a function that returns the number of tokens of a text, or a Tokenizer",
    ),
    "model": _or_none(lambda value: isinstance(value, str | ModelProfile), "the model's name or a ModelProfile"),
    "cache_marks": _or_none(
        lambda value: value in ("anthropic", "auto") if _text(value) else isinstance(value, CacheMarks),
        '"anthropic", "auto" or a CacheMarks(ttl=...)',
    ),
    "cache_pricing": _or_none(lambda value: isinstance(value, CachePricing), "a CachePricing(read=..., write=...)"),
    "summarizer": _or_none(
        lambda value: callable(value) or isinstance(value, Summarizer),
        "a function that returns a text for a SummaryRequest, or a Summarizer(fn, ...)",
    ),
    "native": _or_none(
        lambda value: isinstance(value, NativeCompaction),
        "a NativeCompaction(fn), whose function asks the provider",
    ),
    "storage": Option(lambda value: isinstance(value, StorageOptions), "a StorageOptions(blob_store=...)"),
    "redact": _or_none(_plain_function, "a plain function that returns a message for a message"),
    "on_event": _or_none(callable, "a function of a name and a payload"),
    "telemetry": Option(lambda value: type(value) is bool, "True or False"),
}


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """The options of a manager, with their types checked. The parts that use an option check its range.

    Raises:
        ConfigurationError: A value is of the wrong type.
    """

    store: str | Path | Store | None
    session: str | None
    lease: float | None
    budget: int | BudgetOptions
    mode: str
    compact_threshold: float | None
    target_usage: float | None
    compact_at: int | None
    compact_to: int | None
    strategies: str | Sequence[str | Strategy] | None
    protect: Protection | None
    tool_result_preview: ToolResultPreview | None
    max_messages: int | None
    clear_at_least_tokens: int | None
    plan_ahead: bool
    overhead_tokens: int | None
    tokenizer: str | Callable[[str], int] | Tokenizer
    model: str | ModelProfile | None
    cache_marks: str | CacheMarks | None
    cache_pricing: CachePricing | None
    summarizer: Summarizer | SummarizerFunction | None
    native: NativeCompaction | None
    storage: StorageOptions
    redact: Redact | None
    on_event: EventHandler | None
    telemetry: bool

    def __post_init__(self) -> None:
        """Check every type."""
        for name, (fits, wants) in CHECKS.items():
            if not fits(value := getattr(self, name)):
                raise ConfigurationError(f"`{name}` must be {wants}, not {value!r:.80}")

    def as_arguments(self) -> dict[str, Any]:
        """Return the options as arguments of a manager."""
        return {name: getattr(self, name) for name in CHECKS}


def check_names(misplaced: Sequence[object], unknown: Iterable[str]) -> None:
    """Raise `ConfigurationError` for options without a name and for unknown names."""
    if misplaced:
        raise ConfigurationError(
            'options must be passed by name: write store="sqlite:///agent.db" for where the session is kept and '
            'session="support-42" for its name there'
        )
    for name in unknown:
        near = get_close_matches(name, CHECKS, n=1)
        instead = f"did you mean `{near[0]}`?" if near else f"the options are {', '.join(CHECKS)}"
        raise ConfigurationError(f"unknown option `{name}`: {instead}")
