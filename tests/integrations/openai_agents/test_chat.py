"""Models for chat completions take the same items: the SDK turns them into messages."""

import asyncio
import json

import pytest

from backscroll.integrations.openai_agents import managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import BOTH_WAYS, Spy, agent_with, run
from tests.integrations.openai_agents.wire import chat_model

pytestmark = pytest.mark.frameworks


class ChatServer:
    """Answers chat completions by the script of `world`, and keeps what it was sent."""

    def __init__(self) -> None:
        self.requests = []

    def __call__(self, body):
        step = len(self.requests)
        self.requests.append(body["messages"])
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in world.calls_at(step)
        ]
        return {"tool_calls": calls} if calls else {"content": world.text_at(step)}


@BOTH_WAYS
def test_forty_requests_pass_the_gate(streamed):
    server, spy = ChatServer(), Spy()
    model = managed(chat_model(server), budget=world.BUDGET)
    agent = agent_with(model, model.recall_tool)

    async def turns():
        items = []
        for turn in range(2):
            said = [*items, {"role": "user", "content": world.asked(turn)}]
            items = (await run(agent, said, streamed=streamed, run_config=spy.config())).to_input_list()
        return items

    items = asyncio.run(turns())
    assert len(server.requests) == 2 * world.TURN
    assert all(request[0] == {"role": "system", "content": world.SYSTEM} for request in server.requests)
    requests = [request[1:] for request in server.requests]
    assert world.faults(zip(requests, map(whole, spy.histories), strict=True)) == []
    assert max(map(len, requests)) < 40 < len(items)
    assert "<summary>" in json.dumps(requests[-1])


def whole(items):
    """A history of items as chat messages, by the SDK."""
    from agents.models.chatcmpl_converter import Converter

    return json.loads(json.dumps(Converter.items_to_messages(items)))
