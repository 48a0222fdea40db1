"""Signed thoughts and bound reasoning: no request holds what a provider would refuse."""

import asyncio
from typing import Any

import pytest

from tests.integrations import world
from tests.integrations.adk.agents import Running, agent_of, plugin_of
from tests.integrations.adk.bound import gemini
from tests.integrations.adk.scripted import as_gemini
from tests.integrations.thinking import thinker

pytestmark = pytest.mark.frameworks


def worked(model: Any, budget: int, **options: Any) -> Running:
    plugin = plugin_of(budget=budget)
    run = Running(agent_of(model, plugin, **options), plugin)

    async def talk() -> None:
        for turn in range(2):
            await run.hear(f"Turn {turn}.")

    asyncio.run(talk())
    assert run.conversation.usage(model.model).compactions > 1
    return run


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
def test_no_request_is_refused_for_its_signatures(ids):
    model = gemini(thinker(3), ids=ids)
    run = worked(model, 5_000)
    assert len(model.requests) == 24
    assert model.sealed > 8
    pairs = zip(model.requests, run.recorder.given, strict=True)
    assert world.faults((as_gemini(request), as_gemini(given)) for request, given in pairs) == []


def test_no_request_is_refused_for_its_bound_reasoning():
    """The framework's own model of Claude pairs calls by id, also behind ours."""
    pytest.importorskip("anthropic", reason="clients are no part of the extra")
    from tests.integrations.adk.claude import claude

    model, sent = claude(thinker(5))
    worked(model, 4_000)
    assert len(sent.requests) == 24
    assert sent.dropped == []
    assert sum("signature" in str(request["messages"]) for request in sent.requests) > 8
    blocks = [block for request in sent.requests for message in request["messages"] for block in message["content"]]
    assert all(block["id"] for block in blocks if isinstance(block, dict) and block["type"] == "tool_use")


def test_reasoning_bound_to_another_instruction_is_not_sent():
    pytest.importorskip("anthropic", reason="clients are no part of the extra")
    from tests.integrations.adk.claude import claude

    model, sent = claude(thinker(5))
    worked(model, 4_000, instruction=lambda context: f"You see {len(context.session.events) // 10} tens of events.")
    systems = [request["system"] for request in sent.requests]
    assert len({str(system) for system in systems}) > 1
    assert len(sent.requests) == 24
    assert sent.dropped == []
