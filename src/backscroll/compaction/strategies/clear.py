"""The strategy `clear`: old tool results, old media and long arguments become one-line stubs with a reference."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Edit


@dataclass(frozen=True, slots=True)
class ClearStrategy:
    """Clear old results, media and arguments.

    Args:
        over: Results and media up to this many tokens stay.
        arguments_over: Arguments of calls up to this many tokens stay.

    Raises:
        ConfigurationError: A value is negative.
    """

    over: int = 60
    arguments_over: int = 300
    name: str = "clear"

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.over < 0 or self.arguments_over < 0:
            raise ConfigurationError(
                f"`over` and `arguments_over` must be at least 0 tokens, not {self.over} and {self.arguments_over}"
            )

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Clear the oldest first, until `tokens` are free."""
        edits: list[Edit] = []
        for candidate in window.candidates("result", "media", "call", over=min(self.over, self.arguments_over)):
            if tokens <= 0:
                break
            edit = window.mask(candidate, self.name) if self._worth(candidate) else None
            if edit is not None:
                tokens -= window.tokens(candidate.count) - window.tokens(edit.count)
                edits.append(edit)
        return edits

    def _worth(self, candidate: CandidatePart) -> bool:
        return candidate.count.tokens > (self.arguments_over if candidate.part.kind == "call" else self.over)
