"""The strategy `clip`: old tool results, long arguments and long assistant texts are cut to head and tail."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.window import Window
from backscroll.errors import ConfigurationError
from backscroll.plan import Edit


@dataclass(frozen=True, slots=True)
class ClipStrategy:
    """The head of a result says what it is and the tail how it ended, so both are kept.

    `keep`: tokens that stay of each part, from 16 up. `over`: parts up to this many tokens are left alone, at least
    `keep`.
    """

    keep: int = 400
    over: int = 600
    name: str = "clip"

    def __post_init__(self) -> None:
        """Checks the ranges."""
        if not 16 <= self.keep <= self.over:
            raise ConfigurationError(f"clip needs 16 <= keep <= over, not keep={self.keep}, over={self.over}")

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Clips the oldest long parts first, until `tokens` are won."""
        edits: list[Edit] = []
        for candidate in window.candidates("result", "call", "text", over=self.over):
            if tokens <= 0:
                break
            if candidate.entry.reading.role == "user" and candidate.part.kind == "text":
                continue
            edit = window.clip(candidate, self.keep, self.name)
            if edit is not None:
                tokens -= window.tokens(candidate.count) - window.tokens(edit.count)
                edits.append(edit)
        return edits
