"""Odd histories in a real run: what Pydantic AI's own models send is accepted, and its messages stay as they were."""

import asyncio
import json
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from backscroll.integrations.pydantic_ai import Backscroll
from tests.integrations import odd_histories as odd
from tests.integrations import world
from tests.integrations.odd_histories import Called, Returned, Said, Served, Situation, Step, Thought
from tests.integrations.pydantic_ai.agents import kept

for client in ("anthropic", "openai", "httpx2"):
    pytest.importorskip(client, reason="clients are no part of the extra")

from tests.integrations.pydantic_ai.chat import Chat  # noqa: E402
from tests.integrations.pydantic_ai.claude import Claude  # noqa: E402
from tests.integrations.pydantic_ai.gpt import Gpt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
OWN = ("unknown_call", "open_call")
"""What Pydantic AI repairs by itself: it drops results of unknown calls, and runs open calls when it goes on."""
LACKS = {"chat": ("server", "reasoning"), "anthropic": (), "responses": ("server",)}
PROVIDERS: dict[str, Any] = {"chat": Chat, "anthropic": lambda: Claude(None), "responses": lambda: Gpt(None)}


def built(step: Step, provider: str) -> ModelMessage:
    """A step as a message."""
    if isinstance(step, Said):
        part = TextPart if step.role == "assistant" else UserPromptPart
        kind: Any = ModelResponse if step.role == "assistant" else ModelRequest
        return kind(parts=[part(step.words)])
    if isinstance(step, Returned):
        words = [UserPromptPart(step.also)] if step.also else []
        return ModelRequest(parts=[ToolReturnPart(odd.TOOL, step.value, step.id), *words])
    if isinstance(step, Called):
        return ModelResponse(parts=[ToolCallPart(odd.TOOL, step.arguments, known) for known in step.ids])
    if isinstance(step, Thought):
        return ModelResponse(parts=[ThinkingPart("hm", id=step.id, signature="sealed", provider_name="openai")])
    return ModelResponse(parts=list(served(step)))


def served(step: Served) -> Any:
    named: dict[str, Any] = {"tool_call_id": step.id, "provider_name": "anthropic"}
    hit = {"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "e" * 90}
    if step.call:
        yield NativeToolCallPart("web_search", {"query": "x"}, **named)
    if step.result:
        yield NativeToolReturnPart("web_search", [hit], **named)
    if step.words:
        yield TextPart(step.words)


def cases() -> list[Any]:
    """Each situation for each provider that has it."""
    return [
        pytest.param(each, provider, id=f"{each.name}-{provider}")
        for provider, lacks in LACKS.items()
        for each in odd.situations(without=lacks)
    ]


def ran(situation: Situation, name: str) -> Any:
    """The provider of an agent that ran through a situation. Each run is given what the one before left."""
    provider = PROVIDERS[name]()
    model = provider.model(store=False) if name == "responses" else provider.model()
    agent = Agent(model, tools=[world.order], capabilities=[Backscroll()], name="shop", instructions=world.SYSTEM)

    async def runs() -> None:
        history: list[ModelMessage] = []
        for turn in situation.turns:
            history = [*history, *(built(step, name) for step in turn.steps)]
            before = kept(history)
            result = await agent.run(turn.prompt, message_history=history, conversation_id="c")
            assert history == before
            history = result.all_messages()

    asyncio.run(runs())
    return provider


@pytest.mark.parametrize(("situation", "name"), cases())
def test_odd_history_is_accepted_by_its_provider(situation, name):
    provider = ran(situation, name)
    assert provider.refused == []
    request = provider.provider.requests[-1]
    sent = request.get("messages") or request["input"]
    if situation.name in OWN:
        situation = situation._replace(shown=("w0x",))
    elif situation.name.startswith(OWN):
        situation = situation._replace(shown=("w0x", "Later result of run_job (c1)", "w1x"))
    assert odd.not_as_wanted(situation, json.dumps(sent, ensure_ascii=False)) == []
