"""Promise 4: a view fits the budget by the upper estimate."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backscroll import ToolResultPreview
from tests.builders import ASK, BUDGETS, conversations, feed, session_with_both_triggers
from tests.views import weight

PREVIEWS = st.builds(
    ToolResultPreview,
    threshold_tokens=st.sampled_from([60, 300, 1_000]),
    preview_tokens=st.sampled_from([10, 40]),
    when=st.sampled_from(["seen", "arrival"]),
)


@given(conversations(), BUDGETS, ASK, st.none() | PREVIEWS)
def test_4_views_fit_the_budget_by_the_upper_estimate(messages, budget, ask, previews):
    """Also with previews, and nothing changes where nothing was added."""
    watched = session_with_both_triggers(tool_result_preview=previews)

    def check(_: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            usage = watched.manager.usage()
            assert usage.used_upper_bound <= budget
            assert weight(view) <= usage.used_upper_bound
            assert watched.view(budget) == view

    feed(messages, ask, check, watched)
