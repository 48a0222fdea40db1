"""The strategy `truncate`: the oldest groups leave the view, and the user's own words last."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.history.plan import Edit, Truncate


@dataclass(frozen=True, slots=True)
class TruncateStrategy:
    """Truncate the agent's turns before the user's words: a stated decision is final, while a file can be read
    again.
    """

    name: str = "truncate"

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Truncate the oldest groups first, until `tokens` are free."""
        edits: list[Edit] = []
        free = [unit for unit in window.units if unit.free]
        for units in ([unit for unit in free if not of_user(unit)], [unit for unit in free if of_user(unit)]):
            for unit in units:
                if tokens <= 0:
                    return edits
                edits += drop_unit(unit, self.name)
                tokens -= unit.tokens
        return edits


def of_user(unit: CandidateGroup) -> bool:
    """Return whether a user wrote something in it."""
    return any(entry.reading.is_user_turn for entry in unit.entries)


def drop_unit(unit: CandidateGroup, by: str) -> list[Edit]:
    """Return the edits that leave a whole group out."""
    return [Truncate(seq, seq, by) for seq in unit.seqs]
