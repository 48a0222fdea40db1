"""The strategy `digest`: the oldest turns leave the view, and its summary tells of them in few words."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import Window
from backscroll.history.plan import Edit


@dataclass(frozen=True, slots=True)
class DigestStrategy:
    """What was said and done goes into the summary, oldest first; what that tells is chosen by code, not by a model."""

    name: str = "digest"

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Folds the oldest groups, until `tokens` are won after what the digest takes."""
        return window.fold((unit for unit in window.units if unit.free), tokens, self.name)
