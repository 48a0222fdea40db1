"""Signed thinking behind LiteLLM: a provider that binds it to its prefix refuses none of the requests."""

import asyncio
import json
from typing import Any

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, reply
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import ORDER, handler_of
from tests.integrations.litellm.provider import Provider, providing
from tests.integrations.world import asked, broken_prefixes, calls_at, order

pytestmark = OURS
MODEL = "anthropic/claude-opus-5-5"
CALLS = 40


def replying(number: int) -> Any:
    """What the model thinks and calls."""
    calls = [(each.name, each.arguments) for each in calls_at(number) if each.name == "order"]
    return reply("" if calls else "Done.", thinking=f"What does order {number} say? " * 10, calls=calls)


class Claude:
    """The fake provider over the wire, and what it was asked."""

    def __init__(self, provider: Provider) -> None:
        self.requests: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.billed: list[tuple[int, ...]] = []
        """Tokens of each prompt: outside the cache, read from it, written to it."""
        self.fake = FakeAnthropic(model="claude-opus-5-5", replies=lambda request: replying(len(self.requests)))
        provider.raw = self.answer

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        try:
            answer = self.fake.create(**body)
        except FakeProviderError as error:
            self.refusals.append(str(error))
            return error.status_code, error.body
        self.requests.append(body)
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        self.billed.append(tuple(answer["usage"][name] for name in names))
        return 200, answer


def worked(provider: Provider, **named: Any) -> tuple[Claude, list[Any], Any]:
    """A claude that made its calls, the history, and the handler."""
    claude, handler = Claude(provider), handler_of(budget=6_000)
    messages: list[Any] = [{"role": "system", "content": "Be brief."}]
    for number in range(CALLS):
        if number % 20 == 0:
            messages.append({"role": "user", "content": asked(number)})
        response = handler.completion(
            MODEL, messages, litellm_session_id="s", api_base=provider.url, api_key="none", max_tokens=2_000,
            tools=[ORDER], thinking={"type": "adaptive"}, **named,
        )  # fmt: skip  # one call
        message = response.choices[0].message
        messages.append(message)
        for call in message.tool_calls or ():
            said = order(json.loads(call.function.arguments)["number"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
        if not message.tool_calls:
            messages.append({"role": "user", "content": "Go on."})
    return claude, messages, handler


def test_no_request_with_signed_thinking_is_refused():
    with providing() as provider:
        claude, messages, handler = worked(provider)
    assert claude.refusals == []
    assert len(claude.requests) == CALLS
    thinking = [str(body["messages"]).count("'signature'") for body in claude.requests]
    assert max(thinking) > 3, "signed thinking is sent back"
    assert all(message.thinking_blocks for message in messages if not isinstance(message, dict))
    usage = handler.conversation("s").usage("anthropic/claude-opus-5-5")
    assert usage.compactions > 1
    assert broken_prefixes([body["messages"] for body in claude.requests]) <= usage.compactions
    assert claude.fake.transformations == []


def test_marks_that_litellm_sets_for_the_cache_hit_it():
    points = [{"location": "message", "role": "system"}, {"location": "message", "index": -1}]
    with providing() as provider:
        claude, _, handler = worked(provider, cache_control_injection_points=points)
    assert claude.refusals == []
    assert all("cache_control" in str(body) for body in claude.requests)
    recorded = asyncio.run(handler.conversation("s").list_requests())
    assert [each.measured for each in recorded[:-1]] == [sum(figures) for figures in claude.billed[:-1]]
    assert [each.cached or 0 for each in recorded[:-1]] == [figures[1] for figures in claude.billed[:-1]]
    assert sum(figures[1] for figures in claude.billed) > sum(figures[0] for figures in claude.billed)
