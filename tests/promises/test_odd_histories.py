"""Sessions of the odd messages that real histories hold: every view is one that its provider takes, and says it all.

`tests/odd` has the situations and the walk. `docs/troubleshooting/healed.md` explains what a view sends for each.
"""

from collections import Counter
from typing import Any

import pytest

from tests.builders import DIALECTS
from tests.odd.situations import KINDS, NOT_IN
from tests.odd.walk import Walk

STEPS = 20
FEW, MANY = 2, 170
"""Sessions of a dialect: 14 in all, and 1,190, the few among them."""
OF_FACTS, MANY_OF_FACTS = 1, 40
"""Sessions of a dialect in the mode `facts`, in which each takes a second."""
MET = 50
"""How often the long run meets each situation in each dialect that has it, at least."""


def walked(dialect: str, sessions: int, **options: Any) -> list[Walk]:
    """So many sessions with these options, the same in every run."""
    walks = [Walk(dialect, seed, **options) for seed in range(sessions)]
    for walk in walks:
        walk.run(STEPS)
    return walks


def faults(walks: list[Walk]) -> list[tuple[int, str]]:
    return [(seed, fault) for seed, walk in enumerate(walks) for fault in walk.faults]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_odd_histories_give_views_that_are_taken(dialect):
    """Nothing is refused, unsent, moved away from the end, or of another rank, and a resume changes no view."""
    assert faults(walked(dialect, FEW)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_odd_histories_in_mode_facts_give_views_taken(dialect):
    """The same where digests take the place of hand-overs."""
    assert faults(walked(dialect, OF_FACTS, mode="facts")) == []


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_odd_histories_in_mode_facts_are_taken(dialect):
    assert faults(walked(dialect, MANY_OF_FACTS, mode="facts")) == []


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_thousand_odd_histories_give_views_that_are_taken(dialect):
    """The same at length; and each situation is met often enough to say so."""
    walks = walked(dialect, MANY)
    assert faults(walks) == []
    met = Counter(kind for walk in walks for kind in walk.make.met)
    rare = {kind: met[kind] for kind in KINDS if kind not in NOT_IN[dialect] and met[kind] < MET}
    assert rare == {}
    assert not any(met[kind] for kind in NOT_IN[dialect])
