"""How many input tokens a request may hold: as the call, the provider, the options or the model's window say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.errors import BudgetError, ConfigurationError
from backscroll.ports import Ask, Operation
from backscroll.tokens.windows import ModelWindow

DEFAULT_OUTPUT = 4_096
"""Tokens reserved for the output if the provider reports its window only. Source: the Amplifier context contract."""

DEFAULT_TOKENS = 200_000
"""Input tokens of a request if neither the call, the provider, the options nor the name of a model says more. Source:
the Amplifier context contract.
"""

ASSUMED = "assumed"
"""The source of a budget whose model has no known window."""

_WINDOW_KEYS = ("context_window", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """How many input tokens a request may hold.

    Raises:
        ConfigurationError: A value is out of range.
    """

    max_tokens: int | None = None
    """Input tokens of a request if neither the call nor the provider names a budget; at least 1. `None`: what the
    window of the model leaves for input; 200,000 if no model is named.
    """
    margin_tokens: int = 1_000
    """Tokens of a window that stay free; 0 or more. Source: the budget formula of the Amplifier context contract."""
    output_reserve: float = 1.0
    """Share of the model's maximum output that stays free in its window; 0 to 1."""
    windows: Mapping[str, int] | None = None
    """Windows in tokens by model name, at least 1 each; they take precedence over the table of known models. `None`:
    the table alone.
    """

    def __post_init__(self) -> None:
        """Check every range."""
        if self.max_tokens is not None:
            check_whole("max_tokens", self.max_tokens, 1)
        _check_windows(self.windows)
        check_whole("margin_tokens", self.margin_tokens, 0)
        check_share("output_reserve", self.output_reserve)


def _check_windows(windows: Any) -> None:
    if windows is None:
        return
    if not isinstance(windows, Mapping):
        raise ConfigurationError(
            f'`windows` must be a mapping such as {{"my-model": 32_000}}, or None, not {windows!r:.80}'
        )
    for name, tokens in windows.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"`windows` must have names of models as keys, not {name!r:.80}")
        check_whole(f"windows[{name!r:.80}]", tokens, 1)


def check_whole(name: str, value: Any, least: int, unit: str = "tokens") -> None:
    """Check that a value is a whole number of at least `least`.

    Raises:
        ConfigurationError: It is not.
    """
    if type(value) is not int or value < least:
        raise ConfigurationError(f"`{name}` must be a whole number of {unit}, at least {least}, not {value!r}")


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Check that a value is a share from 0 (or above `above`) to 1.

    Raises:
        ConfigurationError: It is not.
    """
    if type(value) not in (int, float) or not 0 <= value <= 1 or (above is not None and value <= above):
        low = "above 0" if above is not None else "from 0"
        raise ConfigurationError(f"`{name}` must be a share of the budget, {low} to 1, not {value!r}")


class Budget(NamedTuple):
    """Input tokens of one request, and where the figure comes from."""

    tokens: int
    source: str


class TokenTargets(NamedTuple):
    """What one request of a lane may take and what its compaction aims at, in tokens of the whole request."""

    total: int
    """Maximum of the request: the budget, or less if the provider rejected a shorter request."""
    overhead: int
    """Expected tokens outside the messages, part of the total."""
    room: int
    """Tokens that the overhead leaves for messages, less if a compaction is due earlier than the budget requires; never
    below 0.
    """
    threshold: int
    """A larger request is compacted."""
    target: int
    """A compaction stops here."""

    @property
    def size(self) -> int:
        """Tokens that overhead and room take together, at most the total."""
        return min(self.total, self.overhead + self.room)

    def exactly(self) -> "TokenTargets":
        """Return targets with the same total, which threshold and target equal."""
        return self._replace(threshold=self.total, target=self.total)

    def deeper(self, share: float) -> "TokenTargets":
        """Return targets whose target leaves only this share of the messages of the present one."""
        return self._replace(target=self.overhead + int((self.target - self.overhead) * share))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that a caller sets for one request in addition to its budget."""

    measure: Callable[[list[dict[str, Any]]], int] | None = None
    """The caller's own measure of the messages. The budget holds in it as well, as far as a valid view can be that
    small.
    """
    hard: bool = False
    """Use the budget itself as the view's limit instead of shares of it. The request fails if it exceeds either
    measure.
    """
    retain: frozenset[int] = frozenset()
    """`seq`s of messages that the view shows word for word."""


NO_LIMITS = Limits()


def resolve_budget(
    token_budget: Any,
    window: Mapping[str, Any] | None,
    options: BudgetOptions,
    known: Mapping[str, ModelWindow | None],
    lane: str,
) -> Budget:
    """Return the explicit budget, else the provider's window less output and margin, else the options' budget.

    Args:
        token_budget: Input tokens of this request. `None`: not given.
        window: `context_window` and `max_output_tokens` as the provider reported them, or None. A missing window is
            taken as `max_tokens` or as the model's, a missing output as 4,096 tokens.
        options: The manager's options.
        known: The windows of lanes.
        lane: The lane of the request.

    Raises:
        ConfigurationError: The explicit budget is no whole number.
        BudgetError: The explicit budget is not positive, or the window's own reserves use it up.
    """
    if token_budget is not None:
        if type(token_budget) is not int:
            raise ConfigurationError(
                f"`token_budget` must be a whole number of tokens such as 16_000, or None, not {token_budget!r:.80}"
            )
        if token_budget <= 0:
            raise BudgetError(f"`token_budget` must be a positive whole number of tokens, not {token_budget!r}")
        return Budget(token_budget, "token_budget")
    size, most = _positive(window, "context_window"), _positive(window, "max_output_tokens")
    if size is None and most is None:
        return default_budget(options, known, lane)
    if size is None:
        named = known[lane]
        size = options.max_tokens or (named.tokens if named else DEFAULT_TOKENS)
    return Budget(_input_of(size, most, options, "provider's window"), "provider")


def default_budget(options: BudgetOptions, known: Mapping[str, ModelWindow | None], lane: str) -> Budget:
    """Return the budget of a request for which neither the call nor the provider names one.

    Its source is `max_tokens`, `model` (a known window), `ASSUMED` (the window of an unknown model) or `default`.

    Raises:
        BudgetError: The reserves use up the window of the model.
    """
    if options.max_tokens is not None:
        return Budget(options.max_tokens, "max_tokens")
    found = known[lane]
    if found is None:
        return Budget(DEFAULT_TOKENS, "default")
    tokens = _input_of(found.tokens, found.max_output, options, "model's window")
    if found.max_input is not None:
        tokens = min(tokens, found.max_input)
    return Budget(tokens, ASSUMED if found.assumed else "model")


def _input_of(size: int, most: int | None, options: BudgetOptions, whose: str) -> int:
    """Return what a window leaves for input."""
    output = int((most or DEFAULT_OUTPUT) * options.output_reserve)
    # some providers report the whole window as their largest output: input and output share it then
    output = min(output, size // 2) if output >= size - options.margin_tokens else output
    tokens = size - output - options.margin_tokens
    if tokens <= 0:
        raise BudgetError(
            f"the {whose} of {size:,} tokens leaves nothing for input after {output:,} for output and a "
            f"margin of {options.margin_tokens:,}: lower `output_reserve` or `margin_tokens`, or pass `token_budget`"
        )
    return tokens


def _positive(window: Mapping[str, Any] | None, key: str) -> int | None:
    value = window.get(key) if window else None
    return value if type(value) is int and value > 0 else None


def provider_window(provider: Any) -> Operation[tuple[Mapping[str, Any] | None, list[str]]]:
    """Ask a provider for its window, by `get_model_info()` and `get_info().defaults`.

    Both may be plain or async, and may fail: a provider without an answer falls back to the options and never fails a
    request. The two figures may come from different methods.

    Returns:
        The figures found, or None, and a description of each failure.
    """
    found: dict[str, Any] = {}
    failures: list[str] = []
    for name in ("get_model_info", "get_info"):
        method = getattr(provider, name, None)
        if not callable(method) or len(found) == len(_WINDOW_KEYS):
            continue
        info = yield Ask(method, tolerant=True)
        if isinstance(info, Exception):
            failures.append(f"{name}() of {type(provider).__name__} failed: {info!r:.200}")
            continue
        for source in (info, _field(info, "defaults")):
            window = {key: _field(source, key) for key in _WINDOW_KEYS}
            found = {key: value for key in _WINDOW_KEYS if (value := _positive(window, key))} | found
    return found or None, failures


def _field(source: Any, key: str) -> Any:
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)
