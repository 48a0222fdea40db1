"""The second trigger: masking a batch of old results because that is cheaper than to go on sending them. Pure.

A provider reads a cached token at a fraction of its price and charges more for one that it has to cache anew. Masking
results in the middle of a view saves reading them with every later request, and costs to cache all that stands behind
them once. It is done in batches large enough to pay, and never as one result after the other.
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

    `read`: 0 to 1. `write`: from `read` up. `ttl_seconds`: seconds after a request for which the
    provider remembers it; above 0, `float("inf")` for always. After that the next request pays for everything anew, and
    a lane is compacted already half of the way from its target to its threshold.

    The defaults are Anthropic's for its cache of 5 minutes, which each use renews; for its cache of one hour they are
    0.1, 2.0 and 3600 (its documentation on prompt caching, as of October 2025). Where writing costs nothing extra
    (OpenAI, Gemini), 1.0 is the price of writing.
    """

    read: float = 0.1
    write: float = 1.25
    ttl_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Checks the ranges."""
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
        """Price of `sent` input tokens of which the cache already held `kept`, in millions of input token equivalents.

        Every other token counts as written to the cache, as where the whole prompt is marked for caching.
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
    """The masks that pay for themselves, worth at least `least` tokens together; none where they would not.

    The next requests are expected to be at least as many as those since the first of these results. `make`: what is
    made of a result instead of a mask. `cold`: the provider has nothing cached, so that everything is written anyway.
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
    """Results and media that the model has seen, save those of the newest `spared` groups; oldest first."""
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
