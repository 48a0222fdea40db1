"""Options and arguments with which managing cannot work are refused, with the reason."""

import asyncio
from typing import Any

import pytest

from backscroll import ConfigurationError, NativeCompaction
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import handler_of, installed
from tests.integrations.litellm.provider import providing
from tests.integrations.litellm.recorder import Recorder, turns

import litellm  # isort: skip

pytestmark = OURS


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"native": NativeCompaction(lambda request: None)}, "no place for a provider's own compaction"),
        ({"strategies": ["native", "digest"]}, "no place for a provider's own compaction"),
        ({"cache_marks": "auto"}, "cache_control_injection_points"),
        ({"budgets": 1}, "budgets"),
        ({"target_usage": 2}, "target_usage"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(option, reason):
    with pytest.raises((ConfigurationError, TypeError), match=reason):
        handler_of(**option)


REWRITES = [
    {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
    {"context_management": [{"type": "compaction"}]},
    {"extra_body": {"context_management": {}}},
    {"transforms": ["middle-out"]},
    {"extra_body": {"transforms": ["middle-out"]}},
    {"truncation": "auto"},
]


@pytest.mark.parametrize("named", REWRITES)
def test_a_provider_that_shortens_requests_is_refused(named):
    client = Recorder()
    handler = handler_of(client=client)
    for complete in (handler.completion, lambda *a, **b: asyncio.run(handler.acompletion(*a, **b))):
        with pytest.raises(ConfigurationError, match="leave `"):
            complete("openai/m", turns(1), litellm_session_id="s", **named)
    assert client.calls == []


def test_it_is_refused_by_callback_too():
    with providing() as provider, installed(handler_of()), pytest.raises(ConfigurationError, match="`truncation`"):
        asyncio.run(litellm.acompletion(model="openai/m", messages=turns(1), api_base=provider.url, truncation="auto"))


@pytest.mark.parametrize("named", [{"transforms": []}, {"truncation": "disabled"}, {"context_management": None}])
def test_what_turns_it_off_passes(named):
    client = Recorder()
    handler_of(client=client).completion("openai/m", turns(1), **named)
    assert client.sent == turns(1)


@pytest.mark.parametrize("named", [{"previous_response_id": "r"}, {"conversation": "c"}])
def test_a_history_kept_by_the_provider_passes_unchanged(named: dict[str, Any]):
    client, history = Recorder(), turns(60)
    handler = handler_of(client=client)
    handler.completion("openai/m", history, **named)
    assert client.sent is history
    asyncio.run(handler.acompletion("openai/m", history, **named))
    assert client.sent is history
