"""Which client is managed: a client whose requests are all left alone is warned of once, and counted."""

import json

import pytest

from backscroll.integrations.proxy.clients import Clients, client_name
from backscroll.integrations.proxy.request_budget import RequestBudget
from backscroll.notices import BackscrollWarning
from tests.integrations.proxy.conversations import turns

ALONE = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}


@pytest.fixture
def proxy(provider, proxy_of):
    return proxy_of(provider.url, budget=8_000)


def said(recwarn):
    return [str(each.message) for each in recwarn if each.category is BackscrollWarning]


def post(proxy, requests, *, agent="agent/1.0 (linux)", messages=5, **more):
    before = len(proxy.reports)
    for _ in range(requests):
        body = {"model": "m", "max_tokens": 9, "messages": turns(messages // 2), **more}
        proxy.client.post("/v1/messages", content=json.dumps(body), headers={"user-agent": agent})
    proxy.outcomes(before + requests)


def test_client_that_is_left_alone_is_warned_of_once(proxy, recwarn):
    post(proxy, 2, **ALONE)
    assert said(recwarn) == []
    post(proxy, 4, **ALONE)
    assert said(recwarn) == [
        "no request of agent/1.0 is managed: the provider shortens the conversation (`clear_tool_uses_20250919`). "
        "Its conversations grow as they would without the proxy. Change that in its settings",
    ]
    assert proxy.totals.clients.unmanaged() == {"agent/1.0": 6}
    post(proxy, 3, agent="other/2", **ALONE)
    assert [text[:21] for text in said(recwarn)] == ["no request of agent/1", "no request of other/2"]


def test_titles_do_not_make_a_client_managed(proxy, recwarn):
    """They hold one message, and nothing of the conversation."""
    post(proxy, 2, messages=1)
    post(proxy, 3, **ALONE)
    assert len(said(recwarn)) == 1
    assert proxy.client.get("/backscroll/status").json()["clients"] == {"agent/1.0": {"managed": 0, "left alone": 3}}


def test_client_with_a_managed_conversation_is_not_warned_of(proxy, recwarn):
    post(proxy, 1)
    post(proxy, 5, **ALONE)
    assert said(recwarn) == []
    assert proxy.totals.clients.unmanaged() == {}
    assert proxy.totals.as_json()["clients"] == {"agent/1.0": {"managed": 1, "left alone": 5}}


def test_bodies_that_cannot_be_read_are_warned_of(proxy, recwarn):
    for _ in range(3):
        proxy.client.post("/v1/responses", content=b"no JSON", headers={"user-agent": "codex_exec/1 x"})
    proxy.outcomes(3)
    assert len(said(recwarn)) == 1
    assert "no request of codex_exec/1 is managed: the body is no JSON object" in said(recwarn)[0]


def test_other_requests_are_no_sign(proxy, recwarn):
    for _ in range(4):
        proxy.client.get("/v1/models")
    proxy.outcomes(4)
    assert said(recwarn) == []
    assert proxy.totals.as_json()["clients"] == {}


def test_names_from_outside_take_no_more_memory():
    """From the hundredth client on, all others are one; so are the budgets that are said of a client."""
    clients = Clients()
    for number in range(5_000):
        clients.left_alone(client_name(f"{number} agent"))
        clients.left_alone(client_name("x" * 10_000))
        assert bool(clients.budget_note("one", f"model {number}", RequestBudget(1_000 + number, "y"))) == (number < 100)
    counted = clients.as_json()
    assert len(counted) == 101
    assert sum(each["left alone"] for each in counted.values()) == 10_000
    assert max(map(len, counted)) == 60
