"""Messages between agents of Codex, items of a type of their own: a task for a sub-agent, or what it found."""

import json
from contextlib import closing

import pytest

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import ResponsesAgent, scripted

pytestmark = pytest.mark.frameworks

BUDGET = 6_000


def message_of_an_agent(text):
    """An item as Codex sends it. The text is sealed where a provider wrote it."""
    head = {"type": "input_text", "text": "Message Type: NEW_TASK\nPayload:\n"}
    content = [head, {"type": "encrypted_content", "encrypted_content": text}]
    return {"type": "agent_message", "id": "am_1", "author": "parent", "recipient": "child", "content": content}


def provider(stack):
    """It refuses reasoning whose prefix changed."""
    return stack.enter_context(serving(ResponsesAgent.fake(replies=scripted(), on_mismatch="error").create))


def test_reasoning_behind_a_message_of_an_agent_stays(stack, proxy_of):
    """The message is no part of the model's answer that follows it."""
    server = provider(stack)
    proxy = proxy_of(server.url, budget=BUDGET)
    agent = stack.enter_context(closing(ResponsesAgent(proxy.url)))
    for _ in range(8):
        agent.between = [message_of_an_agent("look on")]
        agent.run(1)
        agent.between = []
        agent.run(2)
    assert server.refusals == []
    assert set(proxy.outcomes(24)) == {"as it came", "compacted"}
    assert all(response["input_transformations"] == [] for response in server.responses)
    (name,) = {report.session for report in proxy.reports}
    assert "~" not in name, "one conversation, never rewound"


def test_task_of_a_sub_agent_stays(stack, proxy_of):
    """It is what the user said, for the sub-agent."""
    server, store = provider(stack), MemoryStore()
    proxy = proxy_of(server.url, budget=BUDGET, store=store)
    agent = stack.enter_context(closing(ResponsesAgent(proxy.url)))
    agent.said = lambda text: message_of_an_agent("find the needle")
    agent.run(1)
    agent.said = lambda text: message_of_an_agent("go on")
    agent.run(24)
    assert server.refusals == []
    assert proxy.outcomes(25)[-1] == "compacted"
    items = server.bodies[-1]["input"]
    kept = [item for item in items if item.get("type") == "agent_message"]
    assert "go on" in json.dumps(kept)
    assert "find the needle" in json.dumps(items)
    with ContextManager(store=store, session=proxy.reports[-1].session) as context:
        stored = [message for message in context.get_messages() if "agent_message" in json.dumps(message["content"])]
    assert {message["role"] for message in stored} == {"user"}
