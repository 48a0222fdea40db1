"""Marks for a prompt cache: no provider refuses them, and it reads what the inspector forecasts."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import CacheMarks, ContextManager
from backscroll.cli.stores.render import Reader
from backscroll.evaluation.fake_providers.chain import count_bytes
from backscroll.stores.sqlite import SqliteStore
from tests.long_run import usually
from tests.marked_agent import OPS, MarkedAgent
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
ACTS = st.lists(st.sampled_from(OPS), min_size=10, max_size=50)
OPTIONS = st.sampled_from(
    ("anthropic", "auto", CacheMarks(ttl="1h"), CacheMarks(system_ttl="1h"), CacheMarks(reserved=1), None)
)


@settings(max_examples=examples(18))
@given(st.integers(0, 2**32), ACTS, st.lists(OPTIONS, min_size=1, max_size=3))
def test_every_marked_request_is_answered(seed, acts, options):
    """Steps of 30 parallel calls, marks of the agent's own, and restarts with other options included."""
    with tempfile.TemporaryDirectory() as folder:
        store, opened = Path(folder) / "session.db", list[Any]()

        def open_manager():
            opened.append(options[len(opened) % len(options)])
            return ContextManager(session="s", store=store, cache_marks=opened[-1], tokenizer=count_bytes)

        agent = TextAgent(seed, open_manager)
        try:
            for op in acts:
                agent.marks = []  # a restart may ask for fewer
                agent.act(op)
                if opened[-1] is not None:
                    reserved = getattr(opened[-1], "reserved", 0)
                    assert len(agent.marks) <= 4 - reserved
        finally:
            agent.manager.close()


class TextAgent(MarkedAgent):
    """Sends texts and the marks of its own as they are where views bear no marks of ours."""

    def anthropic_request(self, view):
        if any(type(message["content"]) is list for message in view if message["role"] == "system"):
            return super().anthropic_request(view)
        bare = [message | {"content": _unmarked(message["content"])} for message in view]
        return super(MarkedAgent, self).anthropic_request(bare)


def _unmarked(content):
    if isinstance(content, str):
        return content
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in content]


def worked(seed: int, folder: str) -> tuple[int, int]:
    """Returns the tokens read from the cache over one history: forecast, and counted by the provider."""
    store = Path(folder) / f"{seed}.db"
    agent = MarkedAgent(
        seed, lambda: ContextManager(session="s", store=store, cache_marks="auto", tokenizer=count_bytes)
    )
    chance = random.Random(seed)
    for _ in range(60):
        agent.act(chance.choice(OPS))
    agent.manager.close()
    reader = Reader(SqliteStore(store), "s", tokenizer="estimate")
    replay, steps = reader.replay(), {}
    while some := reader.advance(replay, 500):
        steps |= {step.at: step for step in some}  # the second one of a request is scaled to what was counted
    reader.close()
    assert len(steps) == len(agent.usages)
    return sum(step.kept for step in steps.values()), sum(use["cache_read_input_tokens"] for use in agent.usages)


@pytest.mark.parametrize("seed", usually(range(8), 1))
def test_cache_forecast_is_what_the_provider_counts(seed, tmp_path):
    """Within 2 % over each history, with compactions, undo, rewinds, restarts and changes of model and prompt."""
    forecast, counted = worked(seed, str(tmp_path))
    assert counted > 100_000
    assert abs(forecast - counted) <= 0.02 * counted
