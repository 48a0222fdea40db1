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
@given(
    st.sampled_from(("anthropic", "openai", "older openai")),
    st.integers(0, 2**32),
    ACTS,
    st.sampled_from(("2026-01-01", "2026-10-01")),
    st.sampled_from(((8_000, 3_000, 20_000), (16_000, 32_000), (200_000, 8_000))),
)
def test_every_request_is_answered_and_keeps_its_reasoning(vendor, seed, acts, created, budgets):
    """Compactions, undo, rewinds, late results, ephemeral messages, new prompts, restarts and other models included."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "session.db"
        agent = BoundAgent(
            vendor,
            seed,
            lambda: ContextManager(session="s", store=store),
            budgets=budgets,
            account_created=created,
        )
        try:
            for op in acts:
                agent.act(op)
        finally:
            agent.manager.close()
