"""How many tokens a request may have where nobody set a budget, and what is said of it."""

from typing import Any

import pytest

from backscroll.integrations.proxy.client_limits import CLIENT_LIMITS, limit_of
from backscroll.integrations.proxy.request_budget import budget_of
from backscroll.tokens.windows import window_of
from tests.integrations.proxy.conversations import LONG, ask, body_of, turns

CLAUDE, CODEX = (
    "claude-cli/2.1.197 (external, cli)",
    "codex_exec/0.171.0 (Debian 13.0.0; x86_64) xterm (codex_exec; 0.171.0)",
)
QWEN, LIBRARY = "QwenCode/0.15.10 (linux; x64)", "OpenAI/JS 5.12.2"
LARGE = "claude-opus-5-5"
"""A model whose window is a million tokens."""


def budget(agent, model, max_output=None, *, is_long=False, given=None):
    return budget_of(agent, model, max_output, is_long=is_long, given=given)


@pytest.mark.parametrize(
    ("agent", "model", "tokens", "why"),
    [
        (CLAUDE, LARGE, 150_000, "three quarters of the 200,000 that Claude Code counts on"),
        (CLAUDE, "a-model-of-a-gateway", 150_000, "Claude Code"),
        (CODEX, "gpt-5.6-sol", 193_800, "three quarters of the 258,400 that Codex counts on"),
        ("codex-tui/0.171.0", "gpt-6.2-sol", 356_250, "475,000 that Codex"),
        ("codex_cli_rs/0.171.0", "gpt-4.1", 193_800, "258,400 that Codex"),
        ("Codex Desktop/26.1", "gpt-daybreak-red-latest", 265_050, "353,400 that Codex"),
        (QWEN, "gpt-4.1", 98_304, "131,072 that Qwen Code"),
        (QWEN, "openai/gpt-5", 204_000, "272,000 that Qwen Code"),
        (QWEN, "of-a-gateway", 98_304, "131,072 that Qwen Code"),
        (LIBRARY, LARGE, 750_000, f"three quarters of the 1,000,000 that {LARGE} takes"),
        ("", LARGE, 750_000, LARGE),
        ("not claude-cli/2", LARGE, 750_000, LARGE),
    ],
)
def test_three_quarters_of_the_smaller_limit(agent, model, tokens, why):
    found = budget(agent, model, 32_000)
    assert found.tokens == tokens
    assert why in found.why


@pytest.mark.parametrize(
    ("agent", "is_long", "is_unknown"),
    [(LIBRARY, False, True), ("", True, True), (CLAUDE, True, False), (CLAUDE, False, False), (QWEN, False, False)],
)
def test_unknown_client_is_said_to_be_the_reason(agent, is_long, is_unknown):
    """Its limit may be lower than that of the model, of which it then gets three quarters."""
    for model in (LARGE, "claude-haiku-4-5"):
        found = budget(agent, model, 64_000, is_long=is_long)
        assert found.why.endswith("since the limit of this client is unknown") == is_unknown


def test_nobody_is_known():
    """The manager's own default holds."""
    found = budget(LIBRARY, "a-model-of-a-gateway", 32_000)
    assert found.tokens is None
    assert "neither the client nor the model a-model-of-a-gateway is known" in found.why


def test_long_window_is_what_the_client_counts_on():
    """Claude Code asks for it by a header where its user chose `[1m]`."""
    assert budget(CLAUDE, "claude-sonnet-4-5", 32_000, is_long=True).tokens == 750_000


def test_answer_takes_its_room():
    window: Any = window_of("claude-haiku-4-5", {})
    assert window.tokens == 200_000
    found = budget(LIBRARY, "claude-haiku-4-5", 64_000)
    assert found.tokens == 200_000 - 64_000 - 1_000
    assert "an answer of 64,000 leaves" in found.why
    assert budget(LIBRARY, "claude-haiku-4-5").tokens == 200_000 - window.max_output - 1_000
    assert budget(LIBRARY, "claude-haiku-4-5", 500_000).tokens == 99_000  # never more than half of it


def test_given_budget_holds_and_says_where_the_client_is_earlier():
    assert budget(CLAUDE, LARGE, given=8_000) == (8_000, "as you set it")
    assert budget(LIBRARY, LARGE, given=900_000) == (900_000, "as you set it")
    assert budget(CLAUDE, LARGE, given=400_000, is_long=True) == (400_000, "as you set it")
    found = budget(CLAUDE, LARGE, given=400_000)
    assert found == (400_000, "as you set it, but Claude Code counts on 200,000 and may compact before")


def test_each_row_can_be_reached():
    """None is hidden by one before it."""
    agents = {"Claude Code": CLAUDE, "Codex": CODEX, "Qwen Code": QWEN}
    models = (
        "x", "gpt-6.2-sol", "gpt-daybreak-red-latest", "gpt-5", "qwen3-coder-plus", "seed-oss", "kimi-k2", "glm-5",
        "minimax-m2.5", "claude-opus-5-5",
    )  # fmt: skip  # one thought
    assert {limit_of(agent, model) for agent in agents.values() for model in models} == set(CLIENT_LIMITS)


@pytest.mark.parametrize(("agent", "outcome"), [(CLAUDE, "compacted"), (LIBRARY, "as it came")])
def test_client_gets_a_view_before_it_compacts(provider, proxy_of, agent, outcome):
    """160,000 tokens to a model that takes a million: Claude Code would compact from 167,000 on."""
    proxy, history = proxy_of(provider.url), turns(60, text=LONG * 8)
    headers = {"x-claude-code-session-id": "s1", "user-agent": agent}
    proxy.client.post("/v1/messages", content=body_of(history), headers=headers)
    assert proxy.outcomes() == [outcome]
    assert (len(provider.got[0].body) < len(body_of(history)) * 0.7) == (outcome == "compacted")


def test_budget_is_said_once_for_each_client_and_budget(provider, proxy_of):
    proxy = proxy_of(provider.url)

    def notes(agent, *models):
        begin = len(proxy.reports)
        for model in models:
            proxy.client.post("/v1/messages", content=body_of(turns(1), model=model), headers={"user-agent": agent})
        proxy.outcomes(begin + len(models))
        return [report.client_note for report in proxy.reports[begin:]]

    expected = (
        "claude-cli/2.1.197 has a budget of 150,000 tokens: three quarters of the 200,000 that Claude Code counts on"
    )
    assert notes(CLAUDE, "claude-haiku-4-5", LARGE, LARGE) == [expected, "", ""]
    assert [note.partition(":")[0] for note in notes(LIBRARY, LARGE, LARGE, "gpt-4o")] == [
        "OpenAI/JS has a budget of 750,000 tokens", "", "OpenAI/JS has a budget of 96,000 tokens",
    ]  # fmt: skip  # one thought
    assert notes("", "unheard-of") == [
        "a client without a user agent has the default budget: neither the client nor the model unheard-of is known"
    ]


def test_given_budget_is_said(provider, proxy_of):
    proxy = proxy_of(provider.url, budget=8_000)
    ask(proxy, turns(1))
    proxy.outcomes()
    assert proxy.reports[0].client_note.endswith("has a budget of 8,000 tokens: as you set it")
