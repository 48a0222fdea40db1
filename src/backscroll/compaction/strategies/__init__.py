"""The strategies, one a file, with their names and the default order of harm.

- `deduplicate.py`: results that a later result made redundant, and old media, become stubs
- `clear.py`: old results, old media and long arguments become stubs with a reference
- `shorten.py`: what would take the room of all else is cut by its structure
- `excerpt.py`: old results are cut to the lines that matter most
- `preview.py`: long results are shown by these lines from the start
- `importance.py`: groups with the lowest score are digested first
- `digest.py`: the oldest turns leave the view, and the summary covers them
- `truncate.py`: the oldest groups leave the view, and the user's own words last
- `native.py`: the provider's own block takes the place of the beginning
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal

from backscroll.compaction.decision import Strategy
from backscroll.errors import ConfigurationError

STRATEGIES = ("deduplicate", "shorten", "excerpt", "clear", "digest", "importance", "truncate")
"""The names that a list may hold."""
NATIVE = "native"
"""The strategy that needs the option `native`, which only programs can give."""
AUTO = "auto"
"""All strategies of the default order."""
DEFAULT_ORDER = ("deduplicate", "excerpt", "digest")
"""Least harm first: repeated content, then what a cut result no longer shows, then what only a digest covers."""

Choice = str | Sequence[str | Strategy] | None


def choose(strategies: Choice, order: Sequence[str] = DEFAULT_ORDER) -> Callable[[], tuple[Strategy, ...]]:
    """Return a function that returns the strategies to run, in order. Its first call loads them.

    Args:
        strategies: `"auto"`: those of `order`. A list of names (`"clear"`) and strategies (`ClearStrategy(over=200)`,
            or a `Strategy` of the caller's own). `None`: only the last resort keeps a view in its budget.
        order: The names that `"auto"` means.

    Raises:
        ConfigurationError: A name is unknown, or an item is no strategy.
    """
    chosen = [_checked(given) for given in (order if strategies == AUTO else strategies or ())]
    return cache(lambda: tuple([_classes()[given]() if isinstance(given, str) else given for given in chosen]))


def masks_batches(strategies: Choice) -> bool:
    """Return whether old results may be cleared for their price alone: with `"auto"`, or with `"clear"` in the list."""
    if strategies is None or strategies == AUTO:
        return strategies == AUTO
    return any(_is(given, "clear") for given in strategies)


def shortens(strategies: Choice) -> bool:
    """Return whether the strategies shorten results."""
    return any(_is(given, name) for given in _given(strategies) for name in ("excerpt", "shorten"))


def uses_native(strategies: Choice, given: object) -> Literal["no", "auto", "always"]:
    """Return whether a provider's own compactions are used: with `"auto"` where they pay, with `"native"` in the list
    whenever they can be had.

    Args:
        strategies: The option `strategies`.
        given: The option `native`. `None`: nothing can ask for one.

    Raises:
        ConfigurationError: One of the two options is of no use without the other.
    """
    named = isinstance(strategies, Sequence) and strategies != AUTO and any(_is(each, NATIVE) for each in strategies)
    if named and given is None:
        raise ConfigurationError("the strategy 'native' needs the option `native`: pass native=NativeCompaction(fn)")
    if given is not None and not named and strategies != AUTO:
        raise ConfigurationError(f"`native` has no effect with strategies={strategies!r:.80}: add 'native' to them")
    return "no" if given is None else "always" if named else "auto"


def _given(strategies: Choice) -> Sequence[str | Strategy]:
    return DEFAULT_ORDER if strategies == AUTO else strategies or ()


def _is(given: str | Strategy, name: str) -> bool:
    return given == name if isinstance(given, str) else isinstance(given, _classes()[name])


def _classes() -> Mapping[str, type[Strategy]]:
    """Return the strategies by name. They are loaded here: only a compaction needs them, and what they import."""
    from backscroll.compaction.strategies.clear import ClearStrategy  # noqa: PLC0415  see above
    from backscroll.compaction.strategies.deduplicate import DeduplicateStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.digest import DigestStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.excerpt import ExcerptStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.importance import ImportanceStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.native import NativeStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.shorten import ShortenStrategy  # noqa: PLC0415
    from backscroll.compaction.strategies.truncate import TruncateStrategy  # noqa: PLC0415

    return {
        "deduplicate": DeduplicateStrategy,
        "shorten": ShortenStrategy,
        "excerpt": ExcerptStrategy,
        "clear": ClearStrategy,
        "digest": DigestStrategy,
        "importance": ImportanceStrategy,
        "truncate": TruncateStrategy,
        NATIVE: NativeStrategy,
    }


def _checked(given: Any) -> str | Strategy:
    if isinstance(given, str):
        if given == NATIVE or given in STRATEGIES:
            return given
        near = get_close_matches(given, STRATEGIES, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(
            f"unknown strategy {given!r}{hint}; known are 'auto', {', '.join(map(repr, STRATEGIES))}"
        )
    if not callable(given) or isinstance(given, type) or not isinstance(getattr(given, "name", None), str):
        raise ConfigurationError(f"a strategy must be a name or a callable with a `name`, not {given!r:.80}")
    chosen: Strategy = given
    return chosen
