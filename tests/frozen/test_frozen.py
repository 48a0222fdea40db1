"""Views, events and stored bytes are what they were, and a step goes through no more files than it did."""

import json
from itertools import product
from pathlib import Path

import pytest

from tests.frozen.sessions import BUDGETS, SEEDS, frozen
from tests.frozen.tracing import Way, steps
from tests.long_run import usual_sets

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
FOLDER = Path(__file__).parent


def written(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


FROZEN = sorted({session.partition("/")[0] for session in written("views")})
PAIRS = list(product(FROZEN, SEEDS))
FIRST = list(zip(FROZEN, SEEDS, strict=False))
"""A session of each dialect, and of each variant of the options: another seed for each dialect."""


@pytest.mark.parametrize(
    ("dialect", "seed"), usual_sets([*FIRST, *(pair for pair in PAIRS if pair not in FIRST)], len(FIRST))
)
def test_views_events_and_stored_bytes_stay(dialect, seed):
    for budget in BUDGETS:
        session = f"{dialect}/{seed}/{budget}"
        assert frozen(dialect, seed, budget).hashes() == {
            name: written(name)[session] for name in ("views", "events", "stored")
        }, session


def test_a_step_goes_through_no_more_files():
    now = steps()
    for step, before in written("steps").items():
        assert now[step].files <= Way(*before).files
        assert now[step].changes <= Way(*before).changes
