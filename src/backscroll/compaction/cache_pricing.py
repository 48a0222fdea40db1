"""The second trigger: clear a batch of old results if that is cheaper than sending them again.

A provider charges a fraction of the price for a cached token and more for one that it has to cache again. Clearing
results in the middle of a view saves reading them with every later request. It costs caching everything after them
once. So it is done in batches large enough to pay, and never result by result.
"""

from collections.abc import Sequence

from backscroll.compaction.candidates import CandidatePart, Window, is_outcome
from backscroll.compaction.options import CachePricing
from backscroll.history.plan import PartEdit

BY = "cache savings"
SPARED = 3  # newest groups with results that the model has seen: it is working with them
_LEAST = 25  # tokens from which a result is worth a stub


def batch(
    window: Window, least: int, prices: CachePricing, spared: int = SPARED, *, cold: bool = False
) -> Sequence[PartEdit]:
    """Return the edits that clear old results, if that pays; else none.

    A result is old if the model has seen it and it is in none of the newest groups. Its media count, too. The next
    requests are expected to be at least as many as those since the first of these results.

    Args:
        window: The window of the view.
        least: Tokens that the edits must free together.
        prices: The cache's prices.
        spared: Newest groups with results that stay.
        cold: Whether the provider's cache has expired: everything is then written anyway, so any batch of `least` pays.
    """
    found = _candidates(window, max(spared, SPARED))
    made = [(candidate, window.mask(candidate, BY)) for candidate in found]
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
            if is_outcome(candidate.part) and not candidate.is_spared and window.tokens(candidate.count) > _LEAST
        ]
        for unit in window.units
        if not (unit.floor or unit.unseen)
    ]
    return [candidate for group in [group for group in seen if group][:-spared] for candidate in group]
