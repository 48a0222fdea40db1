"""Searches options on the training half, by steps along one option at a time.

Options act mostly for themselves, so a step along one at a time finds nearly what all combinations would, with a number
of replays that grows with the values and not with their product; and each step can be explained. A search over the same
figures always ends with the same candidate.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from backscroll.evaluation.tune.candidates import DEFAULTS, GRID, Candidate, neighbors
from backscroll.evaluation.tune.judging import BALANCED, COST, RETENTION, Evidence

WORTH = {COST: 0.01, RETENTION: 0.0025, BALANCED: 0.01}
"""Share by which a step must improve on the one before: a smaller gain is not worth one more option. Views keep over
nine tenths of what is needed, so what they keep changes less than what they cost.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate and what the training half said of it."""

    candidate: Candidate
    evidence: Evidence | None
    faults: tuple[str, ...]
    """Why it cannot win: requests that could not be sent, or the other figure beyond the margin."""


Try = Callable[[Sequence[Candidate]], Sequence[Trial]]
"""Replays candidates over the training half."""


@dataclass(slots=True)
class Search:
    """One search.

    Args:
        goal: What to choose for, one of `judging.GOALS`.
        budget: Tokens of a request.
        trials: Candidates that may be replayed.
        run: Replays candidates over the training half.
    """

    goal: str
    budget: int | float
    trials: int
    run: Try
    tried: dict[Candidate, Trial] = field(default_factory=dict)
    """All that was replayed, in order."""
    complete: bool = True
    """Whether no candidate was left out because of `trials`."""

    def best(self) -> Candidate:
        """Return the best candidate found; the defaults, if none improves on them."""
        best = DEFAULTS
        while True:
            before = best
            for name in GRID:
                best = self._step(best, name)
            if best == before:
                return best

    def _step(self, best: Candidate, name: str) -> Candidate:
        """Return the best candidate along one option, or the same one."""
        near = [candidate for candidate in neighbors(best, name, self.budget) if candidate != DEFAULTS]
        new = [candidate for candidate in near if candidate not in self.tried]
        left = max(0, self.trials - len(self.tried))
        self.complete &= len(new) <= left
        if new[:left]:
            self.tried |= {trial.candidate: trial for trial in self.run(new[:left])}
        # of equal ones the first of the grid wins
        return min([best, *self._improving(near, self._score(best))], key=self._score)

    def _improving(self, near: Sequence[Candidate], score: float) -> Iterator[Candidate]:
        for candidate in near:
            trial = self.tried.get(candidate)
            if trial and not trial.faults and self._score(candidate) <= score - WORTH[self.goal]:
                yield candidate

    def _score(self, candidate: Candidate) -> float:
        if candidate == DEFAULTS:
            return 0.0
        evidence = self.tried[candidate].evidence
        assert evidence is not None
        return evidence.better(self.goal).mean
