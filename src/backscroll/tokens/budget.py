"""How many tokens a request may hold, and the options of compaction with their ranges. Pure; providers are asked
outside.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.errors import BudgetError, ConfigurationError
from backscroll.ports import Ask, Operation

UNTOLD_OUTPUT = 4_096
"""Tokens kept free for an answer where the provider names its window only. Source: the Amplifier context contract."""

_TOLD = ("context_window", "max_output_tokens")


SEEN, ARRIVAL = "seen", "arrival"


@dataclass(frozen=True, slots=True)
class Previews:
    """Long tool results stand in views as previews, head and tail. Raises `ConfigurationError` for what cannot work."""

    over: int = 2_500
    """Tokens from which a result is long."""
    keep: int = 1_500
    """Tokens of its preview; below `over`."""
    when: str = SEEN
    """`seen`: with the next compaction or batch after the model has seen it whole. `arrival`: before that. One over a
    quarter of the budget is never shown whole.
    """
    spared: tuple[str, ...] = ("recall",)
    """Tools whose results are shown whole once in any case: they bring back what was left out."""

    def __post_init__(self) -> None:
        """Checks every range."""
        _whole("over", self.over, 2)
        _whole("keep", self.keep, 1)
        if self.keep >= self.over:
            raise ConfigurationError(
                f"`keep` ({self.keep:,} tokens) must be below `over` ({self.over:,}), from which a result has a preview"
            )
        if self.when not in (SEEN, ARRIVAL):
            raise ConfigurationError(f"`when` must be {SEEN!r} or {ARRIVAL!r}, not {self.when!r:.40}")


@dataclass(frozen=True, slots=True)
class Options:
    """The figures a `AsyncContextManager` was configured with. Raises `ConfigurationError` for what can never work."""

    max_tokens: int = 200_000
    """Input tokens of a request where neither the caller nor the provider names a budget."""
    compact_threshold: float = 0.92
    """Share of the budget (less overhead) from which a lane is compacted; above 0, at most 1."""
    target_usage: float = 0.60
    """Share of the budget (less overhead) that a compaction aims at; above 0, below the threshold."""
    protected_recent: float = 0.30
    """Share of the budget whose newest messages strategies spare, unless it cannot fit otherwise; 0 to 1."""
    protected_results: int = 0
    """How many of the newest tool results strategies leave whole, unless it cannot fit otherwise."""
    protected_first: int = 0
    """Messages at the beginning, behind leading system messages, that never leave a view: at most they are cut."""
    protected_last: int = 0
    """The same of the newest messages."""
    previews: Previews | None = None
    """How long results stand in views once they were seen; None = whole, until a compaction."""
    max_messages: int | None = None
    """Messages of a view from which its oldest are folded, whatever they take; at least 8. None = any number."""
    min_batch_tokens: int | None = 20_000
    """Tokens that old results must be worth together before they are masked to save reading them; None = never."""
    overhead_tokens: int | None = None
    """Tokens of the request outside the messages; None = learned from reported usage."""
    margin_tokens: int = 1_000
    """Kept free of a provider's window. Source: the Amplifier context contract's budget formula."""
    output_reserve: float = 1.0
    """Share of the provider's largest output that is kept free of its window; 0 to 1."""

    def __post_init__(self) -> None:
        """Checks every range."""
        _whole("max_tokens", self.max_tokens, 1)
        _whole("margin_tokens", self.margin_tokens, 0)
        _whole("protected_results", self.protected_results, 0, "results")
        _whole("protected_first", self.protected_first, 0, "messages")
        _whole("protected_last", self.protected_last, 0, "messages")
        if self.previews is not None and not isinstance(self.previews, Previews):
            raise ConfigurationError(f"`previews` must be a Previews, not {self.previews!r:.80}")
        if self.max_messages is not None:
            _whole("max_messages", self.max_messages, 8, "messages")
        if self.min_batch_tokens is not None:
            _whole("min_batch_tokens", self.min_batch_tokens, 1)
        if self.overhead_tokens is not None:
            _whole("overhead_tokens", self.overhead_tokens, 0)
        _share("compact_threshold", self.compact_threshold, above=0.0)
        _share("target_usage", self.target_usage, above=0.0)
        _share("protected_recent", self.protected_recent)
        _share("output_reserve", self.output_reserve)
        if self.target_usage >= self.compact_threshold:
            raise ConfigurationError(
                f"`target_usage` ({self.target_usage}) must be below `compact_threshold` ({self.compact_threshold}), "
                "or every compaction would start the next one"
            )


def _whole(name: str, value: Any, least: int, unit: str = "tokens") -> None:
    if type(value) is not int or value < least:
        raise ConfigurationError(f"`{name}` must be a whole number of {unit}, at least {least}, not {value!r}")


def _share(name: str, value: Any, above: float | None = None) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1 or (above is not None and value <= above):
        low = "above 0" if above is not None else "from 0"
        raise ConfigurationError(f"`{name}` must be a share of the budget, {low} to 1, not {value!r}")


@dataclass(frozen=True, slots=True)
class Budget:
    """Input tokens of one request and who said so."""

    tokens: int
    source: str


class TokenTargets(NamedTuple):
    """What one request of a lane may take and what a compaction of it aims at, in tokens of the whole request."""

    total: int
    """The request may take this much: the budget, or less where the provider refused a shorter request."""
    overhead: int
    """Expected outside the messages, of the total."""
    room: int
    """What the overhead leaves to the messages; never below 0."""
    threshold: int
    """A request above this is compacted."""
    target: int
    """A compaction ends here."""

    def exactly(self) -> "TokenTargets":
        """The same total, with no share of it kept free."""
        return self._replace(threshold=self.total, target=self.total)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller asks of one request in addition to its budget."""

    measure: Callable[[list[dict[str, Any]]], int] | None = None
    """The caller's own measure of what is sent: the budget holds in it as well, as far as a valid view can be made so
    small.
    """
    hard: bool = False
    """The budget is what the view may take, not what shares are taken of. Where it cannot be met in both measures, the
    request fails.
    """
    retain: frozenset[int] = frozenset()
    """`seq`s of messages that stand in the view word for word."""


NO_LIMITS = Limits()


def resolve_budget(token_budget: Any, window: Mapping[str, Any] | None, options: Options) -> Budget:
    """The explicit budget, else the provider's window less output and margin, else `max_tokens`.

    `window` holds `context_window` and `max_output_tokens` as the provider told them, or is None. Where it told one of
    them only, the window is `max_tokens` and the output 4,096. Raises `ConfigurationError` for an explicit budget of
    the wrong type, and `BudgetError` for one that is not positive and for a window that its own reserves use up.
    """
    if token_budget is not None:
        if type(token_budget) is not int:
            raise ConfigurationError(
                f"`token_budget` must be a whole number of tokens such as 16_000, or None, not {token_budget!r:.80}"
            )
        if token_budget <= 0:
            raise BudgetError(f"`token_budget` must be a positive whole number of tokens, not {token_budget!r}")
        return Budget(token_budget, "token_budget")
    told, most = _positive(window, "context_window"), _positive(window, "max_output_tokens")
    if told is None and most is None:
        return Budget(options.max_tokens, "max_tokens")
    size = told or options.max_tokens
    output = int((most or UNTOLD_OUTPUT) * options.output_reserve)
    # some providers name the whole window as their largest output: input and output share it then
    output = min(output, size // 2) if output >= size - options.margin_tokens else output
    tokens = size - output - options.margin_tokens
    if tokens <= 0:
        raise BudgetError(
            f"the provider's window of {size:,} tokens leaves nothing for input after {output:,} for output and a "
            f"margin of {options.margin_tokens:,}: lower output_reserve or margin_tokens, or give token_budget"
        )
    return Budget(tokens, "provider")


def _positive(window: Mapping[str, Any] | None, key: str) -> int | None:
    value = window.get(key) if window else None
    return value if type(value) is int and value > 0 else None


def provider_window(provider: Any) -> Operation[tuple[Mapping[str, Any] | None, list[str]]]:
    """What a provider tells of its window, by `get_model_info()`, else by `get_info().defaults`; None if nothing.

    Both may be plain or async, and may fail: a provider that cannot say falls back to `max_tokens`, it never fails a
    request. One figure may come from the one and the other from the other.
    """
    found: dict[str, Any] = {}
    failures: list[str] = []
    for name in ("get_model_info", "get_info"):
        method = getattr(provider, name, None)
        if not callable(method) or len(found) == len(_TOLD):
            continue
        told = yield Ask(method, tolerant=True)
        if isinstance(told, Exception):
            failures.append(f"{name}() of {type(provider).__name__} failed: {told!r:.200}")
            continue
        for source in (told, _field(told, "defaults")):
            window = {key: _field(source, key) for key in _TOLD}
            found = {key: value for key in _TOLD if (value := _positive(window, key))} | found
    return found or None, failures


def _field(source: Any, key: str) -> Any:
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)
