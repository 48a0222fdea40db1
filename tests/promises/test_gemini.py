"""Views of Gemini's contents: a provider that enforces its rules answers each request, whatever was compacted."""

import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import FakeProviderError
from tests.bound_agent import OPS
from tests.gemini_agent import GeminiAgent
from tests.long_run import usually
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
ACTS = st.lists(st.sampled_from(OPS), min_size=10, max_size=60)
IDS = ("both", "calls", "none")
BUDGETS = ((8_000, 3_000, 20_000), (16_000, 32_000), (200_000, 8_000))


def played(seed, acts, ids, budgets):
    """An agent whose requests were all answered; the oracle judged each view, too."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "session.db"
        agent = GeminiAgent(seed, lambda: ContextManager(session="s", store=store), ids=ids, budgets=budgets)
        try:
            for op in acts:
                agent.act(op)
        finally:
            agent.manager.close()
    return agent


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), ACTS, st.sampled_from(IDS), st.sampled_from(BUDGETS))
def test_every_request_to_gemini_is_answered(seed, acts, ids, budgets):
    """Parallel calls, missing and late results, signatures, pictures, compactions, rewinds, restarts, other models."""
    played(seed, acts, ids, budgets)


@pytest.mark.parametrize("sessions", usually([4, 12], 1))
@pytest.mark.parametrize("ids", usually(IDS, 1))
def test_requests_to_gemini_hold_what_it_is_strict_about(ids, sessions):
    """Signatures, parallel calls, filled gaps, pictures and digests; without its signatures a request is refused."""
    seen: Counter[str] = Counter()
    for seed in range(sessions):
        agent = played(seed, OPS * 2, ids, BUDGETS[0])
        for request in list(agent.provider.requests):
            text = str(request["contents"])
            for mark in ("thoughtSignature", "no result recorded", "<summary>", "inlineData", "left out, recall"):
                seen[mark] += mark in text
            seen["parallel"] += any(str(content).count("functionCall") > 1 for content in request["contents"])
            seen["refused"] += is_refused_unsigned(agent.provider, request)
    assert min(seen.values()) >= sessions // 2, seen


def is_refused_unsigned(provider, request):
    bare = deepcopy(request)
    for content in bare["contents"]:
        for part in content["parts"]:
            part.pop("thoughtSignature", None)
    try:
        provider.generate_content(**bare)
    except FakeProviderError as error:
        return "missing a thought_signature" in str(error)
    return False
