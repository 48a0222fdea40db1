"""Agents of 40 and 200 requests behind the proxy, on each API: the fakes refuse what the providers refuse."""

import json
from contextlib import closing

import pytest

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import reply
from backscroll.stores.memory import MemoryStore
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import (
    AGENTS,
    ANTHROPIC_IS_TOO_LONG,
    OPENAI_IS_TOO_LONG,
    ResponsesAgent,
    mostly_anthropic,
    scripted,
)
from tests.long_run import usually

pytestmark = pytest.mark.frameworks

BUDGET = 6_000


def unmarked(value):
    """JSON without marks for a cache."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", usually(AGENTS, 2), ids=lambda kind: kind.format)
@pytest.mark.parametrize("is_streamed", usually([True, False], 1))
@pytest.mark.parametrize("requests", usually([40, 200], 1))
def test_agent_behind_the_proxy_is_never_refused(stack, proxy_of, kind, is_streamed, requests):
    """Reasoning is bound to its prefix in the fakes: 0 refused, 0 left out; and no more than half is sent."""
    fake = kind.fake(replies=scripted())
    server = stack.enter_context(serving(fake.create))
    proxy = proxy_of(server.url, budget=BUDGET)
    agent = stack.enter_context(closing(kind(proxy.url, is_streamed=is_streamed)))
    agent.run(requests)
    assert server.refusals == []
    assert getattr(fake, "transformations", []) == []
    assert len(server.bodies) == requests
    assert set(proxy.outcomes(requests)) == {"as it came", "compacted"}
    assert proxy.totals.sent_bytes < proxy.totals.received_bytes / 2
    assert proxy.totals.input_tokens > 0
    assert proxy.totals.cached_tokens / proxy.totals.input_tokens > 0.7
    assert max(report.input_tokens for report in proxy.reports) <= BUDGET


@mostly_anthropic
def test_everything_but_the_newest_answer_is_stored(stack, proxy_of, kind):
    store = MemoryStore()
    server = stack.enter_context(serving(kind.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=BUDGET, store=store)
    agent = stack.enter_context(closing(kind(proxy.url)))
    agent.run(30)
    (name,) = store.sessions()
    assert name.startswith(f"{kind.format}/")
    with ContextManager(store=store, session=name) as context:
        stored = context.get_messages()
    said = json.dumps(unmarked(stored))
    for message in agent.history[:-1]:
        for text in texts_of(message):
            assert json.dumps(text)[1:-1] in said


def texts_of(value):
    """All long texts in JSON."""
    if isinstance(value, str):
        return [value] if len(value) > 12 else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts_of(each)]


@mostly_anthropic
@pytest.mark.filterwarnings("ignore:the provider refused a request")
@pytest.mark.parametrize("after", usually([18, 20, 13, 14, 15, 16, 17, 19, 22, 27, 31], 1))
def test_refusal_is_answered_by_a_shorter_request(stack, proxy_of, kind, after):
    """The client sees nothing of it, its next requests stay as short, and reasoning stays valid."""
    server = stack.enter_context(serving(kind.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=BUDGET)
    agent = stack.enter_context(closing(kind(proxy.url, is_streamed=True)))
    agent.run(after)
    refusal = ANTHROPIC_IS_TOO_LONG if kind.format == "anthropic" else OPENAI_IS_TOO_LONG
    for refusals in (1, 2):
        server.faults += [refusal]
        agent.run(1)
        proxy.outcomes(agent.asked)
        assert proxy.totals.refusals == refusals
        assert len(json.dumps(server.bodies[-2])) > len(json.dumps(server.bodies[-1]))
        agent.run(8)
    assert server.refusals == []


@mostly_anthropic
def test_system_messages_in_the_middle_reach_the_model(stack, proxy_of, kind):
    """Beside a system prompt, and where the API takes them; the newest ones are in each view."""
    server = stack.enter_context(serving(kind.fake(replies=scripted()).create))
    agent = stack.enter_context(closing(kind(proxy_of(server.url, budget=BUDGET).url)))
    for number in range(20):
        agent.run(2)
        rule = {**agent.said(f"Rule {number}."), "role": "system"}
        agent.between = [rule] if number % 2 else []
        agent.run(1)
        agent.between = []
    assert server.refusals == []
    assert "Rule 19." in json.dumps(server.bodies[-1])


def test_reasoning_stays_with_messages_without_a_type(stack, proxy_of):
    """OpenCode leaves it out of the model's messages: the views have the same items as with it."""
    shown = []
    for is_typed in (True, False):
        script = lambda request: reply(  # noqa: E731
            "Look.", thinking="Read on.", calls=[("read", {"path": f"file{len(request['input'])}"})]
        )
        server = stack.enter_context(serving(ResponsesAgent.fake(replies=script).create))
        proxy = proxy_of(server.url, budget=BUDGET)
        agent = stack.enter_context(closing(ResponsesAgent(proxy.url)))
        for _ in range(20):
            agent.run(1)
            for item in agent.history:
                if not is_typed and item.get("type") == "message":
                    del item["type"]
        assert server.refusals == []
        assert "compacted" in proxy.outcomes(20)
        shown.append([item.get("type", "message") for item in server.bodies[-1]["input"]])
    assert shown[0] == shown[1]
    assert shown[0].count("reasoning") > 1
