"""What providers count reaches the bill, with the cached parts apart."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.integrations.agent_framework.usage import counted_in
from backscroll.messages.counted import Counted
from tests.integrations.agent_framework.agents import LANE, agent_of, provider_of, say
from tests.integrations.agent_framework.scripted import Scripted, chat

CACHE = {"cache_read_input_token_count": 60, "cache_creation_input_token_count": 30}


def usage_of(given: int, answer: int = 5, total: int | None = None, **cache: int) -> dict[str, Any]:
    return {"input_token_count": given, "output_token_count": answer, "total_token_count": total, **cache}


@pytest.mark.parametrize(
    ("usage", "provider", "counted"),
    [
        (usage_of(100, total=105, **CACHE), "openai", (10, 60, 30, 5)),
        (usage_of(10, total=105, **CACHE), "other", (10, 60, 30, 5)),
        (usage_of(10, **CACHE), "anthropic", (10, 60, 30, 5)),
        (usage_of(10, **CACHE), "aws.anthropic", (10, 60, 30, 5)),
        (usage_of(100, **CACHE), "openai", (10, 60, 30, 5)),
        ({"input_token_count": 100}, "openai", (100, 0, 0, 0)),
    ],
)  # fmt: skip  # one line a case
def test_the_cached_parts_are_counted_once(usage, provider, counted):
    assert counted_in(usage, provider) == Counted(*counted)


@pytest.mark.parametrize("usage", [None, {}, {"output_token_count": 5}, {"input_token_count": None}])
def test_without_a_count_of_the_prompt_there_is_none(usage):
    assert counted_in(usage, "openai") is None


@given(
    st.dictionaries(
        st.sampled_from(["input_token_count", "total_token_count", *CACHE]), st.integers(0, 999) | st.none()
    )
)
def test_no_count_is_negative(usage):
    counted = counted_in(usage, "openai")
    assert counted is None or min(counted) >= 0


@pytest.mark.parametrize("stream", [False, True])
def test_the_count_of_each_request_is_observed(stream):
    provider = provider_of()
    agent = agent_of(Scripted(chat), provider)
    session = agent.create_session()
    for turn in range(3):
        asyncio.run(say(agent, f"turn {turn}", session, stream=stream))
        assert provider.conversation(session, agent).usage(LANE).used.source == "measured"
