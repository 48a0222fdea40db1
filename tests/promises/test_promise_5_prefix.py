"""Promise 5: a view begins with the whole view before it on its lane, unless an event gives the reason."""

from typing import Any

from hypothesis import given

from backscroll import events
from tests.builders import ASK, BUDGETS, conversations, feed, session_with_both_triggers


@given(conversations(), BUDGETS, ASK)
def test_view_extends_the_last_one_unless_an_event_explains(messages, budget, ask):
    """A view extends the one before unless an event says why not."""
    watched = session_with_both_triggers()
    before: list[Any] = []

    def check(_: list[Any]) -> None:
        nonlocal before
        view = watched.view(budget)
        if view is None:
            return
        if view[: len(before)] != before:
            assert {name for name, _ in watched.events} & events.MOVES_PREFIX
        before = view
        watched.events.clear()

    feed(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_5_asking_twice_gives_the_same(messages, budget, ask):
    watched = session_with_both_triggers()

    def check(_: list[Any]) -> None:
        assert watched.view(budget) == watched.view(budget)

    feed(messages, ask, check, watched)
