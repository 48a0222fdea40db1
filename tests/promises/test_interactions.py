"""Views of steps of Gemini's Interactions: a provider that enforces its rules answers each request."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import FakeProviderError
from tests.bound_agent import OPS
from tests.interactions_agent import InteractionsAgent
from tests.long_run import usually
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
ACTS = st.lists(st.sampled_from(OPS), min_size=10, max_size=60)
BUDGETS = ((8_000, 3_000, 20_000), (16_000, 32_000), (200_000, 8_000))


def played(seed, acts, budgets):
    """An agent whose requests were all answered; the oracle judged each view, too."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "session.db"
        agent = InteractionsAgent(seed, lambda: ContextManager(session="s", store=store), budgets=budgets)
        try:
            for op in acts:
                agent.act(op)
        finally:
            agent.manager.close()
    return agent


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32), ACTS, st.sampled_from(BUDGETS))
def test_every_request_of_interactions_is_answered(seed, acts, budgets):
    """Parallel calls, missing and late results, thoughts, pictures, compactions, rewinds, restarts, other models."""
    played(seed, acts, budgets)


@pytest.mark.parametrize("sessions", usually([4, 12], 1))
def test_requests_hold_what_the_interactions_api_is_strict_about(sessions):
    """Thoughts, filled gaps, pictures and digests; without its thoughts a request is refused."""
    seen: Counter[str] = Counter()
    for seed in range(sessions):
        agent = played(seed, OPS * 2, BUDGETS[0])
        for request in list(agent.provider.requests):
            text = str(request["input"])
            for mark in ("'signature'", "no result recorded", "<summary>", "'image'", "left out, recall"):
                seen[mark] += mark in text
            seen["refused"] += is_refused_unsigned(agent.provider, request)
    assert min(seen.values()) >= sessions // 2, seen


def is_refused_unsigned(provider, request):
    try:
        provider.create(**request | {"input": [step for step in request["input"] if step["type"] != "thought"]})
    except FakeProviderError as error:
        return "missing the thought" in str(error)
    return False
