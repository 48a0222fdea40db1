"""Which requests are left alone because their provider shortens them, and which are managed all the same."""

import json

import pytest

from backscroll.integrations.proxy.competing import competing_setting
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import LONG, turns

KEEPS_ALL = {"type": "clear_thinking_20251015", "keep": "all"}
"""Claude Code sends it with each request in which the model thinks."""
KEEPS_ONE = {**KEEPS_ALL, "keep": {"type": "thinking_turns", "value": 1}}
TOOL_USES, COMPACT = {"type": "clear_tool_uses_20250919"}, {"type": "compact_20260112"}
SAID = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} {LONG}"} for at in range(61)]
PATHS = {"messages": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}


def post(proxy, api, history, more):
    body = {"model": "m", "max_tokens": 9, "input" if api == "responses" else "messages": history, **more}
    raw = json.dumps(body).encode()
    assert proxy.client.post(PATHS[api], content=raw).status_code == 200
    return raw


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def proxy(provider, proxy_of, store):
    return proxy_of(provider.url, budget=4_000, store=store)


@pytest.mark.parametrize(
    ("api", "more"),
    [
        ("messages", {"context_management": {"edits": [KEEPS_ALL]}}),
        ("messages", {"context_management": {"edits": [{**KEEPS_ALL, "keep": {"type": "all"}}]}}),
        ("messages", {"context_management": {"edits": [KEEPS_ONE]}}),
        ("messages", {"context_management": {"edits": []}, "compaction": None}),
        ("messages", {"context_management": None}),
        ("chat", {"context_management": {"edits": [KEEPS_ALL]}}),
        ("chat", {"transforms": [], "context_management": []}),
        ("responses", {"truncation": "disabled", "context_management": []}),
        ("responses", {"truncation": None, "context_management": None, "conversation": None}),
    ],
)  # fmt: skip  # one case each
def test_setting_that_removes_no_message_is_managed(provider, proxy, api, more):
    """It goes on with the view as the client wrote it."""
    post(proxy, api, turns(30) if api == "messages" else SAID, more)
    assert proxy.outcomes() == ["compacted"]
    sent = json.loads(provider.got[0].body)
    assert {name: sent[name] for name in more} == more


@pytest.mark.parametrize(
    ("api", "more", "named"),
    [
        ("messages", {"context_management": {"edits": [KEEPS_ALL, TOOL_USES]}}, TOOL_USES["type"]),
        ("messages", {"context_management": {"edits": [COMPACT]}}, COMPACT["type"]),
        ("messages", {"context_management": {"edits": [{"type": "of_the_future"}]}}, "of_the_future"),
        ("messages", {"context_management": {"edits": ["no edit"]}}, "context_management"),
        ("messages", {"context_management": {"edits": "no list"}}, "context_management"),
        ("messages", {"compaction": {"type": "summarize"}}, "compaction"),
        ("messages", {"thread": {"type": "create"}}, "thread"),
        ("chat", {"context_management": {"edits": [TOOL_USES]}}, TOOL_USES["type"]),
        ("chat", {"transforms": ["middle-out"]}, "transforms"),
        ("responses", {"previous_response_id": "resp_1"}, "keeps the history"),
        ("responses", {"conversation": "conv_1"}, "keeps the history"),
        ("responses", {"truncation": "auto"}, "truncation"),
        ("responses", {"context_management": [{"type": "compaction"}]}, "compaction"),
    ],
)
def test_setting_that_removes_messages_is_left_alone(provider, proxy, store, api, more, named):
    raw = post(proxy, api, turns(30) if api == "messages" else SAID, more)
    assert provider.got[0].body == raw
    assert proxy.outcomes() == ["left alone"]
    assert named in proxy.reports[0].why
    assert store.sessions() == []


@pytest.mark.parametrize(
    ("api", "history"),
    [
        ("messages", [{"role": "user", "content": [{"type": "compaction"}]}, *turns(30)]),
        ("responses", [*SAID, {"type": "compaction_trigger"}]),
    ],
)
def test_history_that_the_provider_compacts_is_left_alone(provider, proxy, store, api, history):
    raw = post(proxy, api, history, {})
    assert provider.got[0].body == raw
    assert proxy.outcomes() == ["left alone"]
    assert store.sessions() == []


@pytest.mark.parametrize("at", [0, 1, 30])
def test_item_of_an_earlier_compaction_is_kept_in_each_view(provider, proxy, at):
    """OpenAI's represents what the client left out, and removes nothing that is still there."""
    sealed = {"type": "compaction", "encrypted_content": "E" * 500}
    history = [*SAID[:at], sealed, *SAID[at:]]
    for end in range(42, 63, 2):
        post(proxy, "responses", history[:end], {})
    assert set(proxy.outcomes(11)) == {"compacted"}
    for got in provider.got:
        view = json.loads(got.body)["input"]
        assert view.count(sealed) == 1
        assert len(view) < 42


@pytest.mark.long
def test_every_edit_that_the_typed_client_knows_is_decided():
    """A new one of its next version fails here, and wants to be looked at."""
    config = pytest.importorskip("anthropic.types.beta.beta_context_management_config_param")
    from typing import get_args, get_type_hints

    kinds = {get_args(get_type_hints(edit)["type"])[0] for edit in get_args(config.Edit)}
    assert kinds == {KEEPS_ALL["type"], TOOL_USES["type"], COMPACT["type"]}
    harmless = {
        kind for kind in kinds if competing_setting({"context_management": {"edits": [{"type": kind}]}}) is None
    }
    assert harmless == {KEEPS_ALL["type"]}
