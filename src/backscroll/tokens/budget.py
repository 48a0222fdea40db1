"""How many input tokens a request may hold: as the call says, as the provider's window allows, or by default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.errors import BudgetError, ConfigurationError
from backscroll.ports import Ask, Operation

UNTOLD_OUTPUT = 4_096
"""Tokens kept free for an answer where the provider names its window only. Source: the Amplifier context contract."""

_TOLD = ("context_window", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """How many input tokens a request may hold. Raises `ConfigurationError` for values that can never work."""

    max_tokens: int = 200_000
    """Input tokens of a request where neither the call nor the provider names a budget; at least 1."""
    margin_tokens: int = 1_000
    """Tokens kept free of a provider's window; 0 or more. Source: the Amplifier context contract's budget formula."""
    output_reserve: float = 1.0
    """Share of the provider's largest output that is kept free of its window; 0 to 1."""

    def __post_init__(self) -> None:
        """Check every range."""
        check_whole("max_tokens", self.max_tokens, 1)
        check_whole("margin_tokens", self.margin_tokens, 0)
        check_share("output_reserve", self.output_reserve)


def check_whole(name: str, value: Any, least: int, unit: str = "tokens") -> None:
    """Raise `ConfigurationError` for what is no whole number of at least this much."""
    if type(value) is not int or value < least:
        raise ConfigurationError(f"`{name}` must be a whole number of {unit}, at least {least}, not {value!r}")


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise `ConfigurationError` for what is no share, from 0 (or above `above`) to 1."""
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


def resolve_budget(token_budget: Any, window: Mapping[str, Any] | None, options: BudgetOptions) -> Budget:
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
