"""The strategy `importance`: groups with the lowest score are digested first, wherever they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Edit

Score = Callable[[CandidateGroup, Window], float]
"""The importance of a group; higher stays longer. Must be pure and deterministic."""

OF_USER = 3.0  # factor if a user wrote in it


def mentions_score(unit: CandidateGroup, window: Window) -> float:
    """The default score: a group's words per token, times its age, and times three if a user wrote in it.

    A specific word (path, identifier, number) weighs 4 for each mention by the user or the agent and 1 for each by a
    tool; newer mentions weigh up to three times as much as old ones. The newest group counts 1.5 times, the oldest
    half.
    """
    salience = window.salience
    words = {
        word
        for entry in unit.entries
        for number in range(len(entry.reading.parts))
        for word in salience.words(entry, number)
    }
    weight = sum(salience.weights.get(word, 0.0) for word in sorted(words))
    age = 0.5 + window.units.index(unit) / len(window.units)
    of_user = any(entry.reading.is_user_turn for entry in unit.entries)
    return weight / max(1, unit.tokens) * age * (OF_USER if of_user else 1.0)


@dataclass(frozen=True, slots=True)
class ImportanceStrategy:
    """Digest the least important groups.

    Args:
        score: The importance of a group; see `mentions_score` for the default.

    Raises:
        ConfigurationError: `score` is no function.
    """

    score: Score = mentions_score
    name: str = "importance"

    def __post_init__(self) -> None:
        """Check the score."""
        if not callable(self.score):
            raise ConfigurationError(f"`score` must be a function of a group and a window, not {self.score!r:.80}")

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Digest the groups with the lowest score, the oldest of equal ones, until `tokens` are free."""
        free = [unit for unit in window.units if unit.free]
        ranked = sorted(free, key=lambda unit: self.score(unit, window))
        return window.fold(ranked, tokens, self.name)
