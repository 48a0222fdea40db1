"""The names of strategies, and the default order of harm. No strategy may live here."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from backscroll.compaction.candidates import Strategy
from backscroll.compaction.strategies.clear import MaskStrategy
from backscroll.compaction.strategies.deduplicate import SupersedeStrategy
from backscroll.compaction.strategies.digest import DigestStrategy
from backscroll.compaction.strategies.excerpt import ClipStrategy
from backscroll.compaction.strategies.importance import ImportanceStrategy
from backscroll.compaction.strategies.truncate import DropStrategy
from backscroll.errors import ConfigurationError

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {
    "supersede": SupersedeStrategy,
    "clip": ClipStrategy,
    "mask": MaskStrategy,
    "digest": DigestStrategy,
    "importance": ImportanceStrategy,
    "truncate": DropStrategy,
}
AUTO = ("supersede", "clip", "digest")
"""Least harm first: what is said again later, then what a cut result no longer says, then what only a digest tells."""


def choose(strategy: str | None, strategies: Sequence[Any] | None) -> tuple[Strategy, ...]:
    """The strategies to run, in order.

    `strategies` names them or brings them along (`"mask"`, `MaskStrategy(over=200)`, or a `Strategy` of the caller's
    own). Without it, `strategy` is `"auto"` (everything), one name, or None (nothing: only the last resort keeps a view
    in its budget).
    """
    if strategies is None:
        names: Sequence[Any] = () if strategy is None else AUTO if strategy == "auto" else (strategy,)
    else:
        names = strategies
        if isinstance(names, str) or strategy not in ("auto", None):
            raise ConfigurationError("give either strategy=NAME or strategies=[...], a list; not both")
    return tuple([_strategy(name) for name in names])


def masks_batches(strategy: str | None, strategies: Sequence[Any] | None) -> bool:
    """Whether old results may be masked for their price alone: with everything on, or with `"mask"` among the named."""
    if strategies is None:
        return strategy in ("auto", "mask")
    return any(given == "mask" or isinstance(given, MaskStrategy) for given in strategies)


def _strategy(given: Any) -> Strategy:
    if isinstance(given, str):
        if given in STRATEGIES:
            return STRATEGIES[given]()
        near = get_close_matches(given, STRATEGIES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"unknown strategy {given!r}{hint} Known: 'auto', {', '.join(map(repr, STRATEGIES))}")
    if not callable(given) or isinstance(given, type) or not isinstance(getattr(given, "name", None), str):
        raise ConfigurationError(f"a strategy is a name or a callable with a `name`, not {given!r:.80}")
    chosen: Strategy = given
    return chosen
