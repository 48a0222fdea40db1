"""Promise 7: the same events give the same views."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import ASK, BUDGETS, conversations, feed, mode_of, session_with_both_triggers
from tests.present import present


@given(conversations(), BUDGETS, ASK, st.integers(0, 40))
def test_7_the_same_events_give_the_same_views(messages, budget, ask, usage_at):
    watched, twin = session_with_both_triggers(mode=mode_of(ask)), session_with_both_triggers(mode=mode_of(ask))

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget, "main" if len(so_far) % 3 else "other")
        if len(so_far) == usage_at and view is not None:
            lane = "main" if len(so_far) % 3 else "other"
            watched.manager.observe_usage(input_tokens=watched.manager.usage(lane).used.tokens + 50, lane=lane)

    feed(messages, ask, check, watched)
    watched.manager.append(messages[0])  # stores what was observed last
    for event in present(watched.manager._session.events):
        twin.manager._session.apply(event)
    assert twin.manager.get_messages() == watched.manager.get_messages()
    for lane in ("main", "other"):
        assert twin.view(budget, lane) == watched.view(budget, lane)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(conversations(most=30), BUDGETS)
def test_view_built_step_by_step_equals_view_built_at_once(messages, budget):
    """Where each view was asked for while no call was open: else its placeholder stays in later views."""
    stepwise, at_once = (
        session_with_both_triggers(clear_at_least_tokens=None, model="gpt-5.5"),
        session_with_both_triggers(clear_at_least_tokens=None, model="gpt-5.5"),
    )  # nothing is ever left out, not even reasoning that was made over another view
    for message in messages:
        stepwise.manager.append(message)
        if not stepwise.manager.open_calls():
            stepwise.view(100_000_000)
    at_once.manager.append(*messages)
    assert stepwise.view(100_000_000) == at_once.view(100_000_000)
    assert stepwise.manager.usage() == at_once.manager.usage()
    assert budget
