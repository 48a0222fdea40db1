"""Odd histories in a real agent: what its clients send is accepted, and the framework's messages stay as they were."""

import asyncio
import json
from copy import deepcopy
from typing import Any

import pytest
from agent_framework import Content, Message

from backscroll.evaluation.fake_providers import FakeOpenAIChat
from tests.integrations import odd_histories as odd
from tests.integrations.agent_framework.agents import agent_of, history_of, provider_of
from tests.integrations.agent_framework.bound import BoundAnthropic, BoundClient, BoundOpenAI
from tests.integrations.agent_framework.scripted import Recorder
from tests.integrations.odd_histories import Called, Returned, Said, Situation, Step, Thought

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn


class Chat(BoundClient):
    """Chat completions: what has neither text nor calls is sent as an empty text."""

    OTEL_PROVIDER_NAME = "chat"

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.provider = FakeOpenAIChat()

    def _answer(self, messages: Any) -> Any:
        said = [item for message in messages for item in self._said(message)]
        self.answered += 1
        return [Content.from_text(self.provider.create(messages=said)["choices"][0]["message"]["content"])], False

    @staticmethod
    def _said(message: Message) -> Any:
        calls = [content for content in message.contents if content.type == "function_call"]
        results = [content for content in message.contents if content.type == "function_result"]
        for result in results:
            yield {"role": "tool", "tool_call_id": result.call_id, "content": result.result}
        if not results or message.text:
            found: dict[str, Any] = {"role": message.role, "content": message.text}
            listed = [{"name": call.name, "arguments": call.arguments} for call in calls]
            named = [{"id": call.call_id, "type": "function"} for call in calls]
            made = [each | {"function": function} for each, function in zip(named, listed, strict=True)]
            yield found | ({"tool_calls": made} if made else {})


CLIENTS: dict[str, Any] = {"chat": Chat, "anthropic": BoundAnthropic, "responses": BoundOpenAI}
LACKS = {"chat": ("server", "reasoning"), "anthropic": ("server", "reasoning"), "responses": ("server",)}


def built(step: Step) -> Message:
    """A step as a message."""
    if isinstance(step, Said):
        return Message(step.role, [Content.from_text(step.words)])
    if isinstance(step, Returned):
        words = [Content.from_text(step.also)] if step.also else []
        return Message("user" if words else "tool", [Content.from_function_result(step.id, result=step.value), *words])
    if isinstance(step, Called):
        more: Any = {"arguments": step.arguments, "additional_properties": {"fc_id": "fc_1"}}
        return Message("assistant", [Content.from_function_call(known, odd.TOOL, **more) for known in step.ids])
    assert isinstance(step, Thought)
    return Message("assistant", [Content.from_text_reasoning(id=step.id, text="", protected_data="sealed")])


def cases() -> list[Any]:
    """Each situation for each client that has it."""
    return [
        pytest.param(each, client, id=f"{each.name}-{client}")
        for client, lacks in LACKS.items()
        for each in odd.situations(without=lacks)
    ]


def ran(situation: Situation, name: str) -> tuple[Any, Recorder]:
    """The client of an agent that ran through a situation in one session, and what the framework would have sent."""
    client, recorder = CLIENTS[name](None), Recorder()
    client.chat_middleware = [recorder]
    agent = agent_of(client, provider_of(), default_options={"store": False})
    session = agent.create_session()

    async def runs() -> None:
        for turn in situation.turns:
            known = session.state.setdefault("in_memory", {}).setdefault("messages", [])
            known.extend(map(built, turn.steps))
            before = deepcopy([message.to_dict() for message in known])
            await agent.run(turn.prompt, session=session)
            assert [message.to_dict() for message in history_of(session)][: len(before)] == before

    asyncio.run(runs())
    return client, recorder


@pytest.mark.parametrize(("situation", "name"), cases())
def test_odd_history_is_accepted_by_its_provider(situation, name):
    client, recorder = ran(situation, name)
    assert client.answered == len(situation.turns)
    request = client.provider.requests[-1]
    sent = request.get("messages") or request["input"]
    assert odd.not_as_wanted(situation, json.dumps(sent, ensure_ascii=False)) == []
    assert odd.changed_prefixes([each.get("messages") or each["input"] for each in client.provider.requests]) == 0
    own = [message.to_dict() for message in recorder.given[-1]]
    copies = [each for each in client.requests[-1] if not any(each is other for other in recorder.given[-1])]
    assert [each for each in copies if each.to_dict() in own] == []
