"""Requests that a provider accepted: agents whose views a fake provider answered, with edits of every kind between."""

import copy
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.evaluation.fake_providers.chain import count_bytes
from tests.bound_agent import OPS, BoundAgent
from tests.evaluation.lint.agents import Body, found_in
from tests.marked_agent import OPS as MARKED_OPS
from tests.marked_agent import MarkedAgent


def accepted(seed: int, vendor: str, folder: Path, acts: int) -> list[Body]:
    """The bodies of a session that the provider answered, in order."""
    options: dict[str, Any] = {"cache_marks": "anthropic"} if vendor == "marked" else {}

    def open_manager() -> ContextManager:
        return ContextManager(session="s", store=f"sqlite:///{folder}/s.db", tokenizer=count_bytes, **options)

    agent = MarkedAgent(seed, open_manager) if vendor == "marked" else BoundAgent(vendor, seed, open_manager)
    sent, create = list[Body](), agent.provider.create

    def recorded(**request: Any) -> Any:
        response = create(**request)
        sent.append(copy.deepcopy(request))
        return response

    agent.provider.create = recorded
    chance = random.Random(seed)
    try:
        for _ in range(acts):
            agent.act(chance.choice(MARKED_OPS if vendor == "marked" else OPS))
    finally:
        agent.manager.close()
    return sent


@pytest.mark.parametrize("vendor", ["marked", "anthropic", "openai"])
@pytest.mark.parametrize("seed", [1])
def test_requests_that_a_provider_accepts_have_no_error(vendor: str, seed: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # budgets are small on purpose
        sent = accepted(seed, vendor, tmp_path, 16)
    assert len(sent) > 5
    assert [(each.rule, str(each.place)) for each in found_in(sent) if each.severity == "error"] == []
    assert [each.what for each in found_in(sent) if each.rule == "stale-reasoning"] == []
