"""Promise 2: a view has no tool result without its call before it, and no call without all its results."""

from typing import Any

from hypothesis import given

from backscroll.evaluation.validity import problems
from tests.builders import ASK, BUDGETS, conversations, feed, mode_of, session_with_both_triggers


@given(conversations(), BUDGETS, ASK)
def test_2_pairs_hold_with_late_lost_repeated_and_orphan_results(messages, budget, ask):
    watched = session_with_both_triggers(mode=mode_of(ask))

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            assert [found for found in problems(view, so_far) if "call" in found and "order" not in found] == []

    feed(messages, ask, check, watched)
