"""Gemini's Interactions API under ADK: each request is a whole view, and the server's history is not used."""

from typing import Any

import pytest
from google.adk.models.google_llm import Gemini

from backscroll.evaluation.fake_providers import FakeInteractions, reply
from tests.integrations.adk.agents import Running, agent_of, plugin_of
from tests.integrations.clients.provider_server import serving

pytestmark = pytest.mark.frameworks

STEPS, TURNS = 8, 3


def read(path: str) -> str:
    """Read a file."""
    return f"{path}\n" + "line of a file\n" * 100


def answers(thought: str) -> Any:
    """Turns of several rounds of two calls, so that some compactions come in the middle of one."""
    for turn in range(TURNS):
        for step in range(STEPS):
            paths = [{"path": f"{turn}-{step}-{name}"} for name in "ab"]
            yield reply("I look.", thinking=thought if step % 2 else (), calls=[("read", path) for path in paths])
        yield f"done {turn}"


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request):
    return request.param


@pytest.fixture
def server(monkeypatch, streamed):
    """Streamed, it sends no summaries of thoughts: with one, the framework loses the signature."""
    thought: Any = () if streamed else "I think."
    with serving(FakeInteractions(replies=answers(thought)).create) as served:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", served.url)
        monkeypatch.setenv("GEMINI_API_KEY", "k")
        yield served


def test_model_with_the_interactions_api_gets_whole_views(server, streamed):
    """With the thoughts of the current turn, also after a compaction in it; the server refuses none of them."""
    plugin = plugin_of(budget=3_000)
    model = Gemini(model="gemini-3.8-flash", use_interactions_api=True)
    run = Running(agent_of(model, plugin, tools=[read]), plugin)
    for turn in range(TURNS):  # the framework keeps the pieces of a streamed text apart
        assert run.say(f"question {turn}", stream=streamed) == ("don" if streamed else f"done {turn}")
    assert server.refusals == []
    assert len(server.bodies) == TURNS * (STEPS + 1)
    assert all("previous_interaction_id" not in body for body in server.bodies)
    compacted = [body["input"] for body in server.bodies if "<summary>" in str(body["input"])]
    assert len(compacted) > TURNS
    assert sum("signature" in str(steps) for steps in compacted) > TURNS
    assert model.use_interactions_api
