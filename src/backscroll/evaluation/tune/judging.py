"""Judges options against the defaults, paired by conversation: relative changes with an interval.

Means over a few dozen conversations differ by chance. The interval holds what the change may be over other
conversations of the same kind: conversations are drawn with replacement (a paired bootstrap), always by the same seed.
Both halves are judged by the same rule.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from statistics import NormalDist
from typing import NamedTuple

from backscroll.evaluation.compare.jobs import Row
from backscroll.evaluation.retention import mean
from backscroll.evaluation.tune.split import LEAST

COST, RETENTION, BALANCED = "cost", "retention", "balanced"
GOALS = {
    COST: "pay less for input",
    RETENTION: "keep more of what requests need",
    BALANCED: "weigh both changes alike",
}
"""What options may be chosen for."""
LEVEL = 0.95
_RESAMPLES = 2_000


SHARES = ("recall", "reachable", "far_recall", "far_reachable")


class Figures(NamedTuple):
    """What the replays of one conversation gave."""

    cost: float
    """Millions of input token equivalents, summed over its transcripts."""
    recall: float | None
    """Means over its transcripts, as `backscroll compare` defines them; `None`: nothing was over the budget."""
    reachable: float | None
    far_recall: float | None = None
    """The same for facts last mentioned further back than the budget. They are shown, and decide nothing."""
    far_reachable: float | None = None

    @property
    def kept(self) -> float | None:
        """Share of the needed facts that was kept: in the view counts 1, one recall away counts 1/2."""
        return None if self.recall is None or self.reachable is None else (self.recall + self.reachable) / 2


def figures(rows: Sequence[Row]) -> Figures | None:
    """Return the figures of a conversation; `None` if a request of it could not have been sent."""
    done = [row.outcome for row in rows if row.outcome]
    if len(done) < len(rows) or any(one.refused or one.invalid or one.over_budget for one in done):
        return None
    return Figures(math.fsum(one.cost for one in done), *(mean(getattr(one, name) for one in done) for name in SHARES))


class Pair(NamedTuple):
    """The same conversation with the defaults and with a candidate's options."""

    default: Figures
    candidate: Figures


class Change(NamedTuple):
    """A relative change: -0.1 is 10 % less."""

    mean: float
    low: float
    high: float
    """Ends of the interval."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A candidate next to the defaults, over the same conversations. Figures are means over these."""

    conversations: int
    over_budget: int
    """How many of them were larger than the budget and needed facts: they decide what is kept."""
    default: Figures
    candidate: Figures
    cost: Change
    kept: Change
    balanced: Change
    """The change of the cost less that of what is kept."""

    def better(self, goal: str) -> Change:
        """Return the change by which a goal chooses, so that less is better."""
        if goal == RETENTION:
            return Change(-self.kept.mean, -self.kept.high, -self.kept.low)
        return self.cost if goal == COST else self.balanced

    def beyond(self, goal: str, margin: float) -> list[str]:
        """Return what may be worse by more than the margin, by the worse ends of the intervals."""
        found = []
        if goal != COST and self.cost.high > margin:
            found.append(f"the cost may rise by {self.cost.high:.2%}, more than {margin:.2%}")
        if goal != RETENTION and self.kept.low < -margin:
            found.append(f"what is kept may fall by {-self.kept.low:.2%}, more than {margin:.2%}")
        return found


def judge(pairs: Sequence[Pair], seed: int) -> Evidence:
    """Compare a candidate with the defaults. There must be at least `LEAST` pairs over the budget."""
    known = sum(pair.default.kept is not None for pair in pairs)
    assert known >= LEAST
    sums = [_Sums(pair.default.cost, pair.candidate.cost, pair.default.kept or 0.0, pair.candidate.kept or 0.0)
            for pair in pairs]  # fmt: skip
    drawn = list(zip(*(_changes(draw(sums)) for draw in _draws(len(sums), seed)), strict=True))
    numbers = len(pairs), known, known
    changes = [
        Change(value, *_interval(sorted(others), number))
        for value, others, number in zip(_changes(sums), drawn, numbers, strict=True)
    ]
    default, candidate = (_means(side) for side in zip(*pairs, strict=True))
    return Evidence(len(pairs), known, default, candidate, *changes)


def _means(found: Sequence[Figures]) -> Figures:
    cost = math.fsum(one.cost for one in found) / len(found)
    return Figures(cost, *(mean(getattr(one, name) for one in found) for name in SHARES))


class _Sums(NamedTuple):
    """What a conversation adds to the sums; what is kept is 0 on both sides where nothing was over the budget."""

    cost: float
    cost_then: float
    kept: float
    kept_then: float


def _changes(sample: Sequence[_Sums]) -> tuple[float, float, float]:
    """Return the relative changes of the cost, of what is kept, and the first less the second."""
    cost, cost_then, kept, kept_then = map(sum, zip(*sample, strict=True))
    dearer = cost_then / cost - 1 if cost else 0.0
    more = kept_then / kept - 1 if kept else 0.0
    return dearer, more, dearer - more


@lru_cache(maxsize=2)  # all candidates of a half are compared over the same samples
def _draws(number: int, seed: int) -> list[Callable[[Sequence[_Sums]], tuple[_Sums, ...]]]:
    chance = random.Random(seed)  # noqa: S311  statistics, not secrets
    return [itemgetter(*chance.choices(range(number), k=number)) for _ in range(_RESAMPLES)]


def _interval(drawn: Sequence[float], number: int) -> tuple[float, float]:
    """Return the ends of the interval: percentiles, further out where there are few conversations.

    Plain percentiles are too narrow by sqrt((n - 1) / n), and by the normal distribution in place of Student's
    (Hesterberg, What Teachers Should Know About the Bootstrap, 2015: the expanded percentile interval).
    """
    tail = NormalDist().cdf(-math.sqrt(number / (number - 1)) * _student(number - 1))
    cut = int(tail * len(drawn))
    return drawn[cut], drawn[-1 - cut]


def _student(freedom: int) -> float:
    """Return the quantile of Student's distribution for both sides of `LEVEL`, within 0.2 % from 5 degrees on.

    The series is 26.7.5 of Abramowitz and Stegun's handbook.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
