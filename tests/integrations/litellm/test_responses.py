"""Encrypted reasoning behind LiteLLM's bridge to the Responses API: a provider that binds it refuses no request."""

import asyncio
import json
from itertools import pairwise
from typing import Any

from backscroll.evaluation.fake_providers import FakeOpenAIResponses, Reply, reply
from tests.integrations.clients.provider_server import ProviderServer, serving
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import ORDER, handler_of
from tests.integrations.world import asked, calls_at, order

pytestmark = OURS
MODEL = "openai/responses/gpt-6.2-sol"
CALLS = 40


class Gpt:
    """The model behind the bridge: it thinks before each answer."""

    def __init__(self) -> None:
        self.fake = FakeOpenAIResponses(replies=self.answer, on_mismatch="error")
        self.answers = 0

    def answer(self, _: Any) -> Reply:
        calls = [(each.name, each.arguments) for each in calls_at(self.answers) if each.name == "order"]
        self.answers += 1
        return reply("" if calls else "Done.", thinking=f"What now, {self.answers}? " * 10, calls=calls)


async def worked(server: ProviderServer) -> list[Any]:
    """The history of an agent that made its calls."""
    handler, messages = handler_of(budget=6_000), list[Any]([{"role": "system", "content": "Be brief."}])
    for number in range(CALLS):
        if number % 20 == 0:
            messages.append({"role": "user", "content": asked(number)})
        response = await handler.acompletion(
            MODEL, messages, litellm_session_id="s", api_base=f"{server.url}/v1", api_key="none", tools=[ORDER],
            include=["reasoning.encrypted_content"], store=False, _skip_mcp_handler=True,
        )  # fmt: skip  # one call
        message = response.choices[0].message
        messages.append(message)
        for call in message.tool_calls or ():
            text = order(json.loads(call.function.arguments)["number"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return messages


def test_no_request_over_the_bridge_is_refused():
    gpt = Gpt()
    with serving(gpt.fake.create) as server:
        messages = asyncio.run(worked(server))
    assert (server.refusals, gpt.fake.transformations) == ([], [])
    shown = [json.dumps(body["input"]).count('"encrypted_content"') for body in server.bodies]
    assert len(shown) == CALLS
    assert sum(later < earlier for earlier, later in pairwise(shown)) > 1, "compactions"
    assert sum(count > 0 for count in shown) > CALLS / 2, "what is valid is sent back"
    assert sum(bool(message.get("reasoning_items")) for message in messages) == CALLS
