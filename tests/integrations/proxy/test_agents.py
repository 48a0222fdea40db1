"""Agents of 60 and 200 requests behind the proxy, on each API: the fakes refuse what the providers refuse."""

import json

import pytest

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import each_api, scripted

BUDGET = 6_000
ANTHROPIC_IS_TOO_LONG = (
    400,
    {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 4500"}},
)
OPENAI_IS_TOO_LONG = (
    400,
    {"error": {"message": "Your input exceeds the context window", "code": "context_length_exceeded"}},
)


def unmarked(value):
    """JSON without marks for a cache."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@each_api
@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("requests", [60, pytest.param(200, marks=pytest.mark.long)])
def test_agent_behind_the_proxy_is_never_refused(stack, proxy_of, kind, is_streamed, requests):
    """Reasoning is bound to its prefix in the fakes: 0 refused, 0 left out; and no more than half is sent."""
    fake = kind.fake(replies=scripted())
    server = stack.enter_context(serving(fake.create))
    proxy = proxy_of(server.url, budget=BUDGET)
    agent = kind(proxy.url, is_streamed=is_streamed)
    agent.run(requests)
    assert server.refusals == []
    assert getattr(fake, "transformations", []) == []
    assert len(server.bodies) == requests
    assert proxy.totals.by_outcome.keys() == {"as it came", "compacted"}
    assert proxy.totals.sent_bytes < proxy.totals.received_bytes / 2
    assert proxy.totals.input_tokens > 0
    assert proxy.totals.cached_tokens / proxy.totals.input_tokens > 0.7
    assert max(report.input_tokens for report in proxy.reports) <= BUDGET


@each_api
def test_everything_but_the_newest_answer_is_stored(stack, proxy_of, kind):
    store = MemoryStore()
    server = stack.enter_context(serving(kind.fake(replies=scripted()).create))
    proxy = proxy_of(server.url, budget=BUDGET, store=store)
    agent = kind(proxy.url)
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


@each_api
@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_refusal_is_answered_by_a_shorter_request(stack, proxy_of, kind):
    """The client sees nothing of it, and its next requests stay as short."""
    server = stack.enter_context(serving(kind.fake(replies=scripted()).create))
    proxy = proxy_of(server.url)
    agent = kind(proxy.url, is_streamed=True)
    agent.run(20)
    refusal = ANTHROPIC_IS_TOO_LONG if kind.format == "anthropic" else OPENAI_IS_TOO_LONG
    server.faults += [refusal, refusal]
    agent.run(1)
    sizes = [len(json.dumps(body)) for body in server.bodies[-3:]]
    assert sizes[0] > sizes[1] > sizes[2]
    agent.run(5)
    assert server.refusals == []
    assert proxy.totals.refusals == 2
    assert len(json.dumps(server.bodies[-1])) < sizes[0]
