"""Promise 10: no view shows reasoning that its provider would refuse or drop because something before it changed."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from tests.bound_agent import OPS, BoundAgent
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
ACTS = st.lists(st.sampled_from(OPS), min_size=10, max_size=60)


@settings(max_examples=examples(40))
@given(st.sampled_from(("anthropic", "openai")), st.integers(0, 2**32), ACTS)
def test_every_request_is_answered_and_keeps_its_reasoning(vendor, seed, acts):
    """Compactions, undo, rewinds, late results, ephemeral messages, new prompts, restarts and other models included."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "session.db"
        agent = BoundAgent(vendor, seed, lambda: ContextManager(session="s", store=store))
        try:
            for op in acts:
                agent.act(op)
        finally:
            agent.manager.close()
