"""The strategy `digest`: the oldest turns leave the view, and the summary covers them."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import Window
from backscroll.history.plan import Edit


@dataclass(frozen=True, slots=True)
class DigestStrategy:
    """Digest turns, oldest first. Code chooses what the digest says, not a model."""

    name: str = "digest"

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Digest the oldest groups, until `tokens` are free net of the digest."""
        return window.fold((unit for unit in window.units if unit.free), tokens, self.name)
