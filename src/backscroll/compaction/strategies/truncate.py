"""The strategy `truncate`: the oldest groups leave the view; the user's own words leave it last."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.history.plan import Edit, Truncate


@dataclass(frozen=True, slots=True)
class TruncateStrategy:
    """A decision that the user stated is final, a file can be read again: so what the agent did goes first."""

    name: str = "truncate"

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Leaves out the oldest groups first, until `tokens` are won."""
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
    """Whether a user wrote something in it."""
    return any(entry.reading.is_user_turn for entry in unit.entries)


def drop_unit(unit: CandidateGroup, by: str) -> list[Edit]:
    """The edits that leave a whole unit out."""
    return [Truncate(seq, seq, by) for seq in unit.seqs]
