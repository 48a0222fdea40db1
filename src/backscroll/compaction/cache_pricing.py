"""The second trigger: clear a batch of old results if that is cheaper than sending them again.

A provider charges a fraction of the price for a cached token and more for one that it has to cache again. Clearing
results in the middle of a view saves reading them with every later request. It costs caching everything after them
once. So it is done in batches large enough to pay, and never result by result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Clear, Excerpt

BY = "cache savings"
SPARED = 3  # newest groups with results that the model has seen: it is working with them
_LEAST = 25  # tokens from which a result is worth a stub


Make = Callable[[CandidatePart], Excerpt | Clear | None]


@dataclass(frozen=True, slots=True)
class CachePricing:
    """Prices of an input token, relative to one that is neither read from nor written to the prompt cache.

    Args:
        read: Price of a token read from the cache; 0 to 1.
        write: Price of a token written to the cache; at least `read`.
        ttl_seconds: Seconds after a request for which the provider keeps it cached; above 0, `float("inf")` for always.
            The next request after that pays for everything again, so a lane is compacted at half of the way from its
            target to its threshold.

    The defaults are Anthropic's for its cache of 5 minutes, which each use renews. For its cache of one hour they are
    0.1, 2.0 and 3600 (its documentation on prompt caching, as of October 2025). If writing costs nothing extra (OpenAI,
    Gemini), `write` is 1.0.

    Raises:
        ConfigurationError: A value is out of range.
    """

    read: float = 0.1
    write: float = 1.25
    ttl_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        given = self.read, self.write, self.ttl_seconds
        if any(type(value) not in (int, float) for value in given):
            raise ConfigurationError(f"`read`, `write` and `ttl_seconds` must be numbers, not {given}")
        if not self.ttl_seconds > 0:
            raise ConfigurationError(f"`ttl_seconds` must be a number of seconds above 0, not {self.ttl_seconds}")
        if not 0 <= self.read <= 1 or self.write < self.read:
            raise ConfigurationError(
                f"`read` must be from 0 to 1 and `write` at least `read`, not {self.read} and {self.write}"
            )

    def cost(self, sent: int, kept: int) -> float:
        """Price a request, in millions of input token equivalents.

        Args:
            sent: Input tokens of the request.
            kept: How many of them the cache held. All others count as written, as if the whole prompt were marked for
                caching.
        """
        return (self.read * kept + self.write * (sent - kept)) / 1e6


def batch(
    window: Window,
    least: int,
    prices: CachePricing,
    spared: int = SPARED,
    make: Make | None = None,
    *,
    cold: bool = False,
) -> Sequence[Excerpt | Clear]:
    """Return the edits that clear old results, if that pays; else none.

    The next requests are expected to be at least as many as those since the first of these results.

    Args:
        window: The window of the view.
        least: Tokens that the edits must free together.
        prices: The cache's prices.
        spared: Newest groups with results that stay.
        make: Makes another edit of a result, such as a preview.
        cold: The provider's cache has expired, so everything is written anyway.
    """
    found = _candidates(window, max(spared, SPARED))
    made = [(candidate, make(candidate) if make else window.mask(candidate, BY)) for candidate in found]
    edits = [(candidate, edit) for candidate, edit in made if edit is not None]
    won = sum(window.tokens(candidate.count) - window.tokens(edit.count) for candidate, edit in edits)
    if won < least:
        return ()
    if cold:
        return [edit for _, edit in edits]
    first = edits[0][0].unit
    behind = window.units[window.units.index(first) :]
    requests = sum(entry.reading.role == "assistant" for unit in behind for entry in unit.entries)
    rewritten = sum(unit.tokens for unit in behind) - won
    if won * prices.read * requests <= rewritten * (prices.write - prices.read):
        return ()
    return [edit for _, edit in edits]


def _candidates(window: Window, spared: int) -> list[CandidatePart]:
    """Return results and media that the model has seen, except those of the newest `spared` groups; oldest first."""
    seen = [
        [
            candidate
            for candidate in window.parts_of(unit, ("result", "media"))
            if candidate.part.id is not None and window.tokens(candidate.count) > _LEAST
        ]
        for unit in window.units
        if not (unit.floor or unit.unseen)
    ]
    return [candidate for group in [group for group in seen if group][:-spared] for candidate in group]
