"""Thinking that Anthropic binds to what came before it, through Strands' own model and Anthropic's own client."""

import json
from typing import Any

import pytest
from strands import Agent

from backscroll.evaluation.fake_providers import FakeAnthropic, Reply, reply
from backscroll.integrations.strands import ContextManagerPlugin
from tests.bound_agent import BETAS, BINDING
from tests.integrations.strands.agents import agent_of, read

pytest.importorskip("anthropic", reason="the client is no part of the extra")

from strands.models.anthropic import AnthropicModel

from tests.integrations.clients.provider_server import ProviderServer, serving

pytestmark = pytest.mark.frameworks

NAME = "claude-opus-5-5"


def answers(calls: int) -> Any:
    """Each answer begins with thinking: so many calls, then a text."""
    number = 0

    def answer(_: Any) -> Reply:
        nonlocal number
        number += 1
        thought = f"What now? Step {number}. " * 8
        if number % (calls + 1) == 0:
            return reply(f"Done {number}.", thinking=thought)
        return reply("", thinking=thought, calls=[("read", {"path": f"a{number}.py"})])

    return answer


def thinker(server: ProviderServer) -> tuple[Agent, ContextManagerPlugin]:
    model = AnthropicModel(
        client_args={"api_key": "none", "base_url": server.url, "max_retries": 0},
        model_id=NAME,
        max_tokens=1_000,
        context_window_limit=6_000,
        params={"thinking": BINDING, "extra_headers": {"anthropic-beta": ",".join(BETAS)}},
    )
    plugin = ContextManagerPlugin()
    agent = agent_of(model, plugin, tools=[read], system_prompt="Be brief.")
    return agent, plugin


def thoughts(messages: Any) -> int:
    return json.dumps(messages, default=str).count('"signature"')


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("turns", [3, pytest.param(10, marks=pytest.mark.long)])
def test_no_request_with_thinking_is_refused(turns):
    provider = FakeAnthropic(model=NAME, replies=answers(7))
    with serving(provider.create) as server:
        agent, plugin = thinker(server)
        for turn in range(turns):
            agent(f"Turn {turn}: read on.")
    assert (server.refusals, provider.transformations) == ([], [])
    assert len(server.bodies) == 8 * turns
    assert plugin.usage(agent).compactions > 1
    assert sum(thoughts(body["messages"]) > 0 for body in server.bodies) > len(server.bodies) / 2
    assert thoughts(agent.messages) >= 8 * turns, "the agent's own messages keep all of it"
