"""Candidates next to the defaults: changes, their intervals, and how often chance passes for a gain."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.evaluation.tune.judging import BALANCED, COST, RETENTION, Figures, Pair, judge
from backscroll.evaluation.tune.split import LEAST


def pair(cost, then, kept=0.8, kept_then=0.8):
    return Pair(Figures(cost, kept, kept), Figures(then, kept_then, kept_then))


def test_judge_changes_are_those_of_the_sums_and_means():
    found = judge([pair(1.0, 0.5), pair(3.0, 2.5), *[pair(1.0, 1.0, 0.5, 0.6)] * 4], seed=0)
    assert found.cost.mean == pytest.approx(-1 / 8)
    assert found.kept.mean == pytest.approx(0.4 / 3.6)
    assert found.balanced.mean == pytest.approx(-1 / 8 - 0.4 / 3.6)
    assert found.default.cost == pytest.approx(8 / 6)
    assert found.candidate.kept == pytest.approx(4.0 / 6)
    assert found.better(COST) == found.cost
    assert found.better(BALANCED) == found.balanced
    assert found.better(RETENTION).high == -found.kept.low


def test_judge_what_is_the_same_everywhere_has_no_interval():
    found = judge([pair(size, 0.9 * size) for size in range(1, 9)], seed=0)
    assert found.cost.low == pytest.approx(found.cost.high) == pytest.approx(-0.1)
    assert (found.kept.low, found.kept.high) == (0.0, 0.0)


def test_judge_conversations_under_the_budget_count_for_the_cost():
    below = Pair(Figures(1.0, None, None), Figures(0.5, None, None))
    found = judge([*[pair(1.0, 1.0, 0.5, 0.55)] * LEAST, below], seed=0)
    assert (found.conversations, found.over_budget) == (LEAST + 1, LEAST)
    assert found.cost.mean == pytest.approx(-0.5 / 7)
    assert found.kept.mean == pytest.approx(0.1)


shares = st.floats(0.05, 1.0)


@settings(max_examples=15)
@given(st.lists(st.tuples(shares, shares, shares, shares), min_size=LEAST, max_size=8), st.integers(0, 99))
def test_judge_interval_holds_the_mean_and_repeats(values, seed):
    pairs = [pair(*each) for each in values]
    found = judge(pairs, seed)
    assert found == judge(pairs, seed)
    for change in (found.cost, found.kept):
        assert change.low <= change.mean + 1e-12
        assert change.mean <= change.high + 1e-12


def test_judge_worse_ends_decide_about_the_margin():
    mixed = [pair(1.0, 0.5, 0.8, 0.8 - 0.02 * at) for at in range(LEAST)]  # 6 % less is kept in the mean
    found = judge(mixed, seed=0)
    assert found.kept.low < -0.07 < found.kept.mean
    assert found.beyond(COST, 0.07)[0].startswith("what is kept may fall by")
    assert found.beyond(COST, 0.2) == []
    dear = judge([pair(1.0, 1.5, 0.6, 0.8)] * LEAST, seed=0)
    assert dear.beyond(RETENTION, 0.4) == ["the cost may rise by 50.00%, more than 40.00%"]
    assert len(judge([pair(1.0, 1.5, 0.8, 0.6)] * LEAST, seed=0).beyond(BALANCED, 0.1)) == 2


def test_judge_chance_seldom_passes_for_a_gain():
    """Without a difference, about one of 40 intervals lies below zero, also with few conversations."""
    chance = random.Random(5)
    gains = 0
    for _ in range(100):
        pairs = [pair(1.0, 1.0 + chance.gauss(0, 0.1)) for _ in range(LEAST)]
        gains += judge(pairs, seed=0).cost.high < 0
    assert gains <= 6
