"""Summarizers over real sockets: the official clients against a server that answers as a test wants."""

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from backscroll import ConfigurationError, SummaryRequest, events
from backscroll.evaluation.validity import problems
from tests.integrations.model_server import chat, message, serving

pytest.importorskip("openai")
pytest.importorskip("anthropic")

from backscroll.integrations.summarizers.anthropic import AnthropicSummarizer
from backscroll.integrations.summarizers.openai import OpenAISummarizer
from tests.compaction.summarizing import begin_summarized, may_fail
from tests.views import summary_in


@pytest.fixture
def serve():
    with ExitStack() as servers:
        yield lambda *answers: servers.enter_context(serving(*answers))


def openai_at(server, **more):
    return OpenAISummarizer("small", base_url=f"{server.url}/v1", api_key="k", **more)


def test_summary_turn_is_sent_in_the_agents_format(serve):
    """One more turn of a conversation goes out as the agent sends it."""
    server = serve((200, {}, chat("fine")))
    talk: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go", "metadata": {"pinned": True}},
        {"role": "assistant", "content": "done"},
    ]
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    request = SummaryRequest("", "sum up", 300, tuple(talk))
    asyncio.run(openai_at(server, tools=tools)(request))
    body = server.requests[0][1]
    assert [each["content"] for each in body["messages"]] == ["be brief", "go", "done", "sum up"]
    assert "metadata" not in body["messages"][1]
    assert body["tools"] == tools

    server = serve((200, {}, message("fine")))
    options = {"base_url": server.url, "api_key": "k", "cache_control": {"type": "ephemeral"}}
    asyncio.run(AnthropicSummarizer("claude", **options)(request))
    body = server.requests[0][1]
    assert body["system"] == "be brief"
    assert [each["content"] for each in body["messages"]] == ["go", "done", "sum up"]
    assert all(set(each) == {"role", "content"} for each in body["messages"])
    assert body["cache_control"] == {"type": "ephemeral"}


TOO_LONG = {"error": {"message": "maximum context length is 4096 tokens", "code": "context_length_exceeded"}}


def test_openai_client_sends_the_request_and_returns_the_usage(serve):
    """OpenAI's protocol is spoken and what was counted comes back."""
    server = serve((200, {}, chat("<summary>All went well.</summary>")))
    answer = asyncio.run(openai_at(server)(SummaryRequest("be brief", "the record", 300)))
    assert answer == ("<summary>All went well.</summary>", "small-1", 1_200, 40)
    path, body = server.requests[0]
    assert (path, body["model"]) == ("/v1/chat/completions", "small")
    assert [each["content"] for each in body["messages"]] == ["be brief", "the record"]


def test_anthropics_protocol_is_spoken_and_cached_tokens_count(serve):
    server = serve((200, {}, message("All went well.")))
    summarizer = AnthropicSummarizer("claude", base_url=server.url, api_key="k")
    answer = asyncio.run(summarizer(SummaryRequest("be brief", "the record", 300)))
    assert answer == ("All went well.", "claude-x", 1_200, 40)
    path, body = server.requests[0]
    assert (path, body["system"], body["messages"]) == (
        "/v1/messages",
        "be brief",
        [{"role": "user", "content": "the record"}],
    )


def test_a_summary_over_the_wire_stands_in_the_view(serve):
    server = serve((200, {}, chat("<summary>Over the wire.</summary>")))
    watched = begin_summarized(openai_at(server))
    assert "in short: Over the wire." in summary_in(watched.rounds(30))
    assert watched.manager.usage().summarizer.input_tokens == 1_200 * len(watched.payloads(events.SUMMARY_READY))


def test_the_client_waits_and_tries_again_where_that_may_help(serve):
    fine = 200, {}, chat("<summary>At last.</summary>")
    server = serve((429, {"retry-after": "0"}, {}), (500, {}, {}), fine)
    watched = begin_summarized(openai_at(server, max_retries=2))
    watched.rounds(24)
    assert watched.payloads(events.SUMMARY_FAILED) == []
    assert len(server.requests) == 2 + len(watched.payloads(events.SUMMARY_READY))


@may_fail
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((429, {"retry-after": "0"}, {}), "RateLimitError"),
        ((500, {}, {}), "InternalServerError"),
        ((400, {}, TOO_LONG), "maximum context length"),
        ((401, {}, {}), "AuthenticationError"),
        ((200, {}, b"<html>not what you think</html>"), ""),
        ((200, {}, chat("", choices=[])), "empty"),
        ((None, {}, {}), "APITimeoutError"),
    ],
)
def test_server_faults_lose_nothing_and_cost_few_calls(serve, answer, reason):
    """No matter what the server does nothing is lost and calls are few."""
    server = serve(answer)
    watched = begin_summarized(openai_at(server, max_retries=0, timeout=0.2 if answer[0] is None else 30))
    view = watched.rounds(30)
    failures = watched.payloads(events.SUMMARY_FAILED)
    assert failures
    assert all(reason in told["reason"] for told in failures)
    assert len(server.requests) <= 5
    assert len(watched.manager.get_messages()) == 61
    assert problems(view, watched.manager.get_messages()) == []
    assert "in short" not in summary_in(view)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_without_a_key_a_summarizer_is_refused_when_it_is_made(monkeypatch, name):
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    made = {"openai": OpenAISummarizer, "anthropic": AnthropicSummarizer}[name]
    with pytest.raises(ConfigurationError, match=f"{name.upper()}_API_KEY"):
        made("x")
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "k")
    made("x")
