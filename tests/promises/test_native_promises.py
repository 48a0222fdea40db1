"""Native compactions: every request is answered, keeps what reasoning it can, and represents the history."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import events
from tests.bound_agent import OPS
from tests.native_agent import NativeAgent
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
WORK = ("work",) * (3 * len(OPS))  # blocks need some turns to arrive
ACTS = st.lists(st.sampled_from(OPS + WORK), min_size=20, max_size=80)


@settings(max_examples=examples(12))
@given(
    st.sampled_from(("anthropic", "openai")),
    st.integers(0, 2**32),
    ACTS,
    st.sampled_from((0, 1, 4)),
    st.sampled_from(("auto", ["native", "excerpt", "digest"])),
)
def test_native_blocks_break_no_request(vendor, seed, acts, looks, strategies):
    """Blocks that come late or not at all, undo, rewinds, pins, new prompts, restarts and other models included."""
    with tempfile.TemporaryDirectory() as folder:
        agent = NativeAgent(vendor, seed, Path(folder) / "session.db", looks=looks, strategies=strategies)
        try:
            for op in acts:
                agent.act(op)
        finally:
            agent.manager.close()
        assert agent.refused == [], "what is compacted is exactly what was sent"


@pytest.mark.long
@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_work_alone_keeps_all_reasoning(vendor):
    """As long as only turns are taken, each compaction uses a block, and no kept reasoning is lost."""
    with tempfile.TemporaryDirectory() as folder:
        agent = NativeAgent(vendor, 7, Path(folder) / "session.db", looks=1, failing=0, budget=60_000)
        agent.budget = 60_000
        for _ in range(250):
            agent.act("work")
        agent.manager.close()
    used = [payload for name, payload in agent.events if name == events.COMPACTION]
    assert len(used) >= 3
    assert all("native" in payload["strategies"] for payload in used)
    assert events.REASONING_REMOVED not in [name for name, _ in agent.events]
