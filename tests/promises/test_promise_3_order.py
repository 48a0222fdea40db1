"""Promise 3: a view keeps the order of the conversation and the messages that must stay."""

from typing import Any

from hypothesis import given

from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from tests.builders import ASK, BUDGETS, conversations, feed, mode_of, session_with_both_triggers
from tests.views import is_typed_by_user


@given(conversations(strange=False), BUDGETS, ASK)
def test_views_are_valid_ordered_and_hold_required_messages(messages, budget, ask):
    """Views are valid in order and hold what must stay."""
    watched = session_with_both_triggers(mode=mode_of(ask))

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            assert problems(view, so_far) == []
            assert strangers(view, so_far) == []
            for message in so_far:
                if message.get("metadata", {}).get("pinned"):
                    assert message in view

    feed(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_first_and_last_user_message_stay_until_the_last_resort(messages, budget, ask):
    """First and last user message stay word for word unless nothing else is left. A hand-over quotes them, which the
    rules of views check above.
    """
    watched = session_with_both_triggers(mode=mode_of(ask))
    quoted = ("digest", "shorten") if mode_of(ask) == "standard" else ()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is None:
            return
        users = [m for m in so_far if m["role"] == "user" and is_typed_by_user(m)]
        explained = {found.seq: found for found in watched.manager.explain()}
        for message in users[:1] + users[-1:]:
            seq = next(n for n, found in enumerate(so_far) if found is message)
            assert message in view or explained[seq].reason in ("floor", *quoted)

    feed(messages, ask, check, watched)
