"""Promise 3, of a hand-over: behind it stand the newest messages and nothing else."""

from typing import Any

from hypothesis import given

from tests.builders import ASK, BUDGETS, conversations, feed, session_with_both_triggers
from tests.views import summary_of


@given(conversations(), BUDGETS, ASK)
def test_nothing_older_stands_behind_a_handover(messages, budget, ask):
    watched = session_with_both_triggers()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        at = next((at for at, message in enumerate(view or ()) if summary_of([message])), None)
        if view is None or at is None:
            return
        statuses = watched.manager.explain()
        newest = max((found.seq for found in statuses if found.state == "digested"), default=-1)
        for found in statuses:
            if found.state == "whole" and found.seq < newest:
                assert so_far[found.seq] in view[:at]

    feed(messages, ask, check, watched)
