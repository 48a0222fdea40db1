"""Promise 1: `get_messages()` returns what was added, after any number of compactions."""

from hypothesis import given

from tests.builders import ASK, BUDGETS, conversations, feed, mode_of, session_with_both_triggers


@given(conversations(), BUDGETS, ASK)
def test_history_equals_what_was_added_after_any_compactions(messages, budget, ask):
    """History is what was added after any number of compactions."""
    watched = session_with_both_triggers(mode=mode_of(ask))
    feed(messages, ask, lambda _: watched.view(budget), watched)
    assert watched.manager.get_messages() == messages
