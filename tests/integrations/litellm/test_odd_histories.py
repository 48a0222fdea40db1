"""Odd histories through the real LiteLLM: what reaches the provider is accepted, and the caller's messages stay."""

import json
from copy import deepcopy
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import FakeOpenAIChat, FakeProviderError
from tests.integrations import odd_histories as odd
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import handler_of
from tests.integrations.litellm.provider import Provider, providing
from tests.integrations.odd_histories import Situation
from tests.integrations.odd_wire import LACKS, built, said

pytestmark = [OURS, pytest.mark.filterwarnings("ignore::RuntimeWarning")]  # odd messages warn


def ran(situation: Situation, provider: Provider) -> FakeOpenAIChat:
    """The provider after a caller ran through a situation. Each call is given what the one before left."""
    fake, handler = FakeOpenAIChat(), handler_of(budget=100_000)

    def answer(body: Any) -> tuple[int, Any]:
        try:
            return 200, fake.create(model=body["model"], messages=body["messages"])
        except FakeProviderError as error:
            return error.status_code, error.body

    provider.raw = answer
    messages: list[Any] = []
    for turn in situation.turns:
        messages += [message for step in turn.steps for message in built(step, "chat")]
        messages += [] if turn.prompt is None else [said(turn.prompt, "chat")]
        before, objects = deepcopy(messages), list(messages)
        named = {"api_base": provider.url, "api_key": "none", "litellm_session_id": "s"}
        response = handler.completion(model="openai/small-1", messages=messages, **named)
        assert messages == before
        assert all(one is other for one, other in zip(messages, objects, strict=True))
        messages.append({"role": "assistant", "content": response.choices[0].message.content})
    return fake


@pytest.mark.parametrize("situation", odd.situations(without=LACKS["chat"]), ids=odd.name_of)
def test_odd_history_is_accepted_by_its_provider(situation):
    with providing() as provider:
        requests = [request["messages"] for request in ran(situation, provider).requests]
    assert len(requests) == len(situation.turns)
    assert odd.not_as_wanted(situation, json.dumps(requests[-1], ensure_ascii=False)) == []
    assert odd.changed_prefixes(requests) == 0
