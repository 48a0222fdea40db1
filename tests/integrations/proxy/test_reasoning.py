"""Reasoning that was made over a view, in requests of which nothing is left out any more."""

from contextlib import closing

import pytest

from backscroll.stores.memory import MemoryStore
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import ANTHROPIC_IS_TOO_LONG, AnthropicAgent, scripted
from tests.integrations.proxy.harness import proxied
from tests.long_run import usually

pytestmark = pytest.mark.filterwarnings("ignore:the provider refused a request")


def thoughtful(messages):
    """How many messages hold reasoning."""
    return sum(any(block["type"] == "thinking" for block in message["content"]) for message in messages)


def test_model_with_a_larger_window_reads_on(stack, proxy_of):
    """A view went to another model meanwhile: what that thought is bound to the view, and its answer goes on alone."""
    server = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=40_000)
    agent = stack.enter_context(closing(AnthropicAgent(proxy.url)))
    agent.run(12)
    agent.model = "claude-opus-4-8"
    server.faults += [ANTHROPIC_IS_TOO_LONG]
    agent.run(2)
    agent.model = AnthropicAgent.model
    agent.run(8)
    assert server.refusals == []
    assert proxy.outcomes(22)[11:14] == ["as it came", "compacted", "compacted"]
    said, sent = map(thoughtful, (agent.history, server.bodies[-1]["messages"]))
    assert 0 < said - sent <= 4


@pytest.mark.parametrize("restarts", usually([1, 2], 1))
def test_larger_budget_after_a_restart(stack, proxy_of, restarts):
    """All messages fit again, but not what the model thought over the view."""
    server, store = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create)), MemoryStore()
    with proxied(server.url, budget=6_000, store=store) as first:
        agent = stack.enter_context(closing(AnthropicAgent(first.url)))
        agent.run(20)
        assert first.outcomes(20)[-1] == "compacted"
    for _ in range(restarts):
        with proxied(server.url, budget=80_000, store=store) as second:
            agent.client = agent.connect(second.url)
            agent.run(3)
            agent.close()
    assert server.refusals == []
    assert len(server.bodies[-1]["messages"]) == len(agent.history) - 1


def test_branches_of_a_compacted_conversation(stack, proxy_of):
    """What they share was thought over views of the first one."""
    server = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=40_000)
    one, other = (stack.enter_context(closing(AnthropicAgent(proxy.url))) for _ in range(2))
    one.run(12)
    server.faults += [ANTHROPIC_IS_TOO_LONG]
    one.run(2)
    other.history, other.calls, other.between = list(one.history), list(one.calls), [one.said("In another way.")]
    for _ in range(3):
        one.run(1)
        other.run(1)
    assert server.refusals == []


def test_request_that_looks_back_leaves_it_out_too(stack, proxy_of):
    """The client asks for an earlier answer once more, of a model with a larger window."""
    server = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=40_000)
    agent = stack.enter_context(closing(AnthropicAgent(proxy.url)))
    agent.run(12)
    server.faults += [ANTHROPIC_IS_TOO_LONG]
    agent.model = "claude-opus-4-8"
    agent.run(3)
    agent.model = AnthropicAgent.model
    del agent.history[-3:]
    assert thoughtful(agent.history) > 0
    agent.ask()
    assert server.refusals == []
    sent = server.bodies[-1]["messages"]
    assert len(sent) == len(agent.history)
    assert thoughtful(sent) == 0


def test_conversation_goes_on_from_a_look_back(stack):
    """The client goes back to an earlier request, which no longer fits, and goes on from its answer, where all fits
    again: what the model thought over the view is left out.
    """
    server, store = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create)), MemoryStore()
    with proxied(server.url, budget=80_000, store=store) as first:
        agent = stack.enter_context(closing(AnthropicAgent(first.url)))
        agent.run(18)
    del agent.history[-5:]
    with proxied(server.url, budget=6_000, store=store) as smaller:
        agent.client = agent.connect(smaller.url)
        agent.calls = agent.answered(agent.ask())
        agent.close()
        assert smaller.outcomes(1) == ["compacted"]
    with proxied(server.url, budget=80_000, store=store) as larger:
        agent.client = agent.connect(larger.url)
        agent.run(3)
        agent.close()
    assert server.refusals == []


def test_client_that_changes_its_tools_sends_what_it_wants(stack, proxy_of):
    """No view was sent yet: a request that fits goes on as it came, with the reasoning that the client left in it."""
    server = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted(), account_created="2026-01-01").create))
    proxy = proxy_of(server.url, budget=40_000)
    agent = stack.enter_context(closing(AnthropicAgent(proxy.url)))
    agent.run(4)
    agent.tools = ({**agent.tools[0], "description": "Read it."},)
    agent.run(4)
    assert set(proxy.outcomes(8)) == {"as it came"}


@pytest.mark.parametrize("budget", [6_000, 80_000], ids=["over a view", "over all messages"])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_answers_of_another_branch_are_left_out(stack, budget, is_streamed):
    """An earlier request got a view, and the conversation was rewound: the answers that it had go on behind the other
    request, by whose view they were not thought.
    """
    server, store = stack.enter_context(serving(AnthropicAgent.fake(replies=scripted()).create)), MemoryStore()
    with proxied(server.url, budget=budget, store=store) as first:
        agent = stack.enter_context(closing(AnthropicAgent(first.url, is_streamed=is_streamed)))
        agent.run(18)
        agent.close()
    whole, calls = list(agent.history), list(agent.calls)
    with proxied(server.url, budget=6_000, store=store) as second:
        agent.client = agent.connect(second.url)
        agent.history = whole[:-5]
        agent.ask()
        agent.history = [*whole[:7], agent.said("In another way.")]
        agent.ask()
        agent.history, agent.calls = whole, calls
        agent.run(3)
        agent.close()
        assert len({report.session for report in second.reports}) == 3
    assert server.refusals == []
