"""Reasoning that a provider binds to what came before it: no request is refused, and as much as is valid stays."""

import asyncio
import json
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ThinkingPart

from backscroll.evaluation.fake_providers import FakeAnthropic, Reply, reply
from backscroll.integrations.pydantic_ai import Backscroll
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import kept

for client in ("anthropic", "openai", "httpx2"):
    pytest.importorskip(client, reason="clients are no part of the extra")

from tests.integrations.pydantic_ai.claude import NAME, Claude  # noqa: E402
from tests.integrations.pydantic_ai.gpt import Gpt  # noqa: E402

pytestmark = pytest.mark.frameworks

BUDGET = 6_000


class Thinker:
    """Answers each request with thinking: eight calls, then a text."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, request: Any) -> Reply:
        self.number += 1
        thought = f"What now? Step {self.number}. " * 8
        if self.number % 9 == 0:
            return reply(f"Done {self.number}.", thinking=thought)
        calls = [("order", {"number": self.number * 10 + at}) for at in range(1 + (self.number % 4 == 0))]
        return reply("", thinking=thought, redacted=self.number % 5 == 0, calls=calls)


def agent_of(claude: Claude, context: Backscroll[Any], **options: Any) -> Agent[Any, Any]:
    options = {"instructions": world.SYSTEM, **options}
    return Agent(claude.model(), tools=[world.order], capabilities=[context], name="shop", **options)


async def turns(agent: Agent[Any, Any], number: int, history: Any = None) -> Any:
    for turn in range(number):
        result = await agent.run(f"Turn {turn}.", message_history=history, conversation_id="c")
        history = result.all_messages()
    return history


def check(claude: Claude, requests: int) -> None:
    assert (claude.refused, claude.provider.transformations) == ([], [])
    assert len(claude.provider.requests) == requests


def sealed(request: Any) -> int:
    return json.dumps(request).count('"signature"') + json.dumps(request).count("redacted_thinking")


def test_no_request_with_thinking_is_refused():
    claude, context = Claude(Thinker()), Backscroll(budget=BUDGET)
    history = asyncio.run(turns(agent_of(claude, context), 4))
    check(claude, 36)
    usage = context.conversation("c", "shop").usage(f"anthropic/{NAME}")
    assert usage.compactions > 1
    assert usage.used.source == "measured"
    shown = [sealed(request) for request in claude.provider.requests]
    assert sum(count > 0 for count in shown) > len(shown) / 2, "what is valid is sent back"
    thoughts = [part for message in history for part in message.parts if isinstance(part, ThinkingPart)]
    assert len(thoughts) == 36
    assert all(part.signature for part in thoughts)


def test_instructions_that_change_take_out_what_they_bind():
    claude, context = Claude(Thinker()), Backscroll(budget=40_000)
    agent = agent_of(claude, context, instructions=None)

    @agent.instructions
    def today(ctx: RunContext[Any]) -> str:
        return f"It is day {ctx.run_step // 4} of the sale."

    asyncio.run(turns(agent, 2))
    check(claude, 18)
    assert any(sealed(request) for request in claude.provider.requests)


def test_settings_that_change_keep_it():
    """Pydantic AI notes them in the newest request after our view was made: that is no edit."""
    claude, context = Claude(Thinker()), Backscroll(budget=40_000)
    agent = Agent(claude.model(timeout=60), tools=[world.order], capabilities=[context], name="shop")

    async def run() -> Any:
        history = None
        for effort in ("high", "low"):
            options: dict[str, Any] = {"model_settings": {"thinking": effort}, "message_history": history}
            history = (await agent.run("Go on.", **options)).all_messages()
        return history

    history = asyncio.run(run())
    assert [part.part_kind for message in history for part in message.parts].count("model-settings-delta") == 2
    check(claude, 18)
    assert [sealed(request) for request in claude.provider.requests] == list(range(18))


def without_a_step(history: list[ModelMessage]) -> list[ModelMessage]:
    return [*history[:5], *history[7:]]


def with_another_prompt(history: list[ModelMessage]) -> list[ModelMessage]:
    return [ModelRequest.user_text_prompt("Something else."), *history[1:]]


@pytest.mark.parametrize("change", [without_a_step, with_another_prompt])
def test_an_edited_history_loses_what_is_bound_to_it(change):
    claude, context = Claude(Thinker()), Backscroll(budget=40_000)
    agent = agent_of(claude, context)
    history = change(asyncio.run(turns(agent, 2)))
    before = kept(history)
    asyncio.run(turns(agent, 2, history))
    check(claude, 36)
    assert history == before


@pytest.mark.parametrize(("window", "number", "rejects"), [(9_000, 4, True), (7_000, 3, False)])
def test_a_window_that_is_too_small_is_found_out(window, number, rejects):
    """Anthropic rejects the request, or cuts the answer where it begins within the window."""
    claude = Claude(None)
    claude.provider = FakeAnthropic(model=NAME, replies=Thinker(), window=window)
    with pytest.warns(RuntimeWarning, match="the provider refused a request"):
        asyncio.run(turns(agent_of(claude, Backscroll(budget=20_000)), number))
    assert bool(claude.refused) is rejects
    assert all("prompt is too long" in error for error in claude.refused)
    assert len(claude.provider.requests) == 9 * number + len(claude.refused)


@pytest.mark.parametrize("store", [False, pytest.param(True, marks=pytest.mark.long)])
def test_no_request_with_encrypted_reasoning_is_refused(store):
    gpt, context = Gpt(Thinker()), Backscroll(budget=BUDGET)
    agent = Agent(
        gpt.model(store=store), tools=[world.order], capabilities=[context], instructions=world.SYSTEM, name="shop"
    )
    asyncio.run(turns(agent, 3))
    assert (gpt.refused, gpt.provider.transformations) == ([], [])
    assert len(gpt.provider.requests) == 27
    usage = context.conversation("c", "shop").usage("openai/gpt-6.2-sol")
    assert usage.compactions > 1
    shown = [json.dumps(request).count('"type": "reasoning"') for request in gpt.provider.requests]
    assert sum(count > 0 for count in shown) > len(shown) / 2
    assert ('"encrypted_content": "' in json.dumps(gpt.provider.requests)) is not store
