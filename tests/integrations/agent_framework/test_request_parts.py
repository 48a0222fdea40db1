"""What other providers and middleware add to a request, and what they take away."""

import asyncio
from typing import Any

import pytest
from agent_framework import (
    ChatContext,
    ChatMiddleware,
    Content,
    ContextProvider,
    InMemoryHistoryProvider,
    Message,
    tool,
)

from backscroll.integrations.agent_framework.request_parts import RequestParts
from tests.integrations import world
from tests.integrations.agent_framework.agents import LANE, agent_of, history_of, provider_of, say, work_through
from tests.integrations.agent_framework.scripted import Recorder, Scripted, as_openai, calls, chat, text_of

pytestmark = pytest.mark.frameworks


class Memory(ContextProvider):
    """A provider that adds a message to each run, which the history does not keep."""

    def __init__(self, source_id: str = "memory") -> None:
        super().__init__(source_id)
        self.runs = 0

    async def before_run(self, *, context: Any, **_: Any) -> None:
        self.runs += 1
        context.extend_messages(self, [Message("user", [f"memory of run {self.runs}"])])
        context.extend_instructions(self.source_id, "Use what you remember.")


@pytest.mark.parametrize("before", [False, True], ids=["behind the history", "before it"])
def test_messages_of_other_providers_are_in_the_request_only(before):
    memory, history, provider = Memory(), InMemoryHistoryProvider(), provider_of()
    others = (memory, history) if before else (history, memory)
    recorder = Recorder()
    client = Scripted(middleware=[recorder])
    agent = agent_of(client, provider, *others)
    session = agent.create_session()
    asyncio.run(work_through(agent, session))
    for step, (request, given) in enumerate(zip(client.requests, recorder.given, strict=True)):
        remembered = [message for message in request if message.text.startswith("memory of run")]
        assert [message.text for message in remembered] == [f"memory of run {step // world.TURN + 1}"]
        assert any(message is remembered[0] for message in given)
        if before:
            assert request[0] is remembered[0]
        else:
            asked = world.asked(step // world.TURN)
            question = next((at for at, m in enumerate(request) if m.text == asked), None)
            if question is None:  # the hand-over quotes it, in front of what was added next to it
                assert f"Current request: {asked}" in request[request.index(remembered[0]) - 1].text
            else:
                assert request[question - 1] is remembered[0]
    stored = asyncio.run(provider.conversation(session, agent).get_messages())
    assert len(stored) == 120
    assert "memory of run" not in str(stored)
    assert provider.conversation(session, agent).usage(LANE).compactions > 3
    broken = world.broken_prefixes([as_openai(request) for request in client.requests])
    assert broken <= provider.conversation(session, agent).usage(LANE).compactions + 2, "one a new run"


class Edits(ChatMiddleware):
    """Middleware that changes the list of messages of each request."""

    def __init__(self, edit: Any) -> None:
        self.edit = edit

    async def process(self, context: ChatContext, call_next: Any) -> None:
        context.messages = self.edit(list(context.messages))
        await call_next()


def edited(edit: Any, turns: int = 2, **options: Any) -> Any:
    client = Scripted()
    provider = provider_of()
    agent = agent_of(client, provider, middleware=[Edits(edit)], **options)
    session = agent.create_session()
    asyncio.run(work_through(agent, session, turns))
    return client, asyncio.run(provider.conversation(session, agent).get_messages()), session


def test_a_message_that_middleware_puts_in_front_stays_in_front():
    note = Message("system", ["Today is Monday."])
    client, stored, _ = edited(lambda messages: [note, *messages])
    assert all(request[0] is note for request in client.requests)
    assert all(request.count(note) == 1 for request in client.requests)
    assert len(stored) == 80
    assert "Monday" not in str(stored)


def test_what_is_in_front_stays_there_in_every_view():
    note, history = Message("system", ["Monday."]), [Message("user", ["long"]), Message("assistant", ["fine"])]
    view = [Message("user", ["l..."]), history[1]]
    assert RequestParts(history, [(0, note)]).woven(view) == [note, *view]
    assert RequestParts(history, [(1, note)]).woven(view) == [view[0], note, view[1]]
    assert RequestParts(history, [(2, note)]).woven(view) == [*view, note]


def test_a_message_that_middleware_appends_is_at_the_end():
    client, stored, _ = edited(lambda messages: [*messages, Message("user", ["Be quick."])])
    assert all(request[-1].text == "Be quick." for request in client.requests)
    assert [message for message in client.requests[-1] if message.text == "Be quick."] == client.requests[-1][-1:]
    assert str(stored).count("Be quick.") <= 1


def test_a_window_of_other_middleware_is_named_and_respected():
    with pytest.warns(RuntimeWarning, match="another chat middleware removed messages of the conversation"):
        client, _, session = edited(lambda messages: messages[-3:])
    assert all(len(request) <= 3 for request in client.requests)
    assert len(history_of(session)) == 80


def test_an_edit_by_other_middleware_reaches_the_model():
    def masked(messages: list[Message]) -> list[Message]:
        return [
            Message("user", [message.text.replace("customer", "person")]) if message.role == "user" else message
            for message in messages
        ]

    client, _, session = edited(masked)
    assert "orders of customer" not in "".join(text_of(request) for request in client.requests)
    assert "orders of customer" in text_of(history_of(session))


@tool(approval_mode="always_require")
def ship(number: int) -> str:
    """Send an order."""
    return f"sent {number}"


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_waits_for_approval_is_answered(stream):
    recorder = Recorder()
    answers = [
        [Content.from_text("before")],
        calls(world.Called("c1", "ship", {"number": 4})),
        [Content.from_text("on its way")],
        [Content.from_text("you are welcome")],
    ]
    client = Scripted(lambda step, messages: answers[step], middleware=[recorder])
    provider = provider_of()
    agent = agent_of(client, provider, tools=[ship])
    session = agent.create_session()

    async def run() -> list[str]:
        await say(agent, "hello", session, stream=stream)
        paused = await agent.run("ship order 4", session=session)
        (asked,) = paused.user_input_requests
        reply = Message("user", [asked.to_function_approval_response(True)])
        return [await say(agent, each, session, stream=stream) for each in (reply, "thanks")]

    assert asyncio.run(run()) == ["on its way", "you are welcome"]
    assert "sent 4" in text_of(client.requests[2])
    assert as_openai(client.requests[-1]) == as_openai(recorder.given[-1])


def test_a_history_of_several_providers_is_one_conversation():
    audit = InMemoryHistoryProvider("audit", load_messages=False)
    client, provider = Scripted(chat), provider_of()
    agent = agent_of(client, provider, InMemoryHistoryProvider(), audit)
    session = agent.create_session()
    for turn in range(3):
        asyncio.run(say(agent, f"turn {turn}", session))
    assert [len(request) for request in client.requests] == [1, 3, 5]
    assert len(asyncio.run(provider.conversation(session, agent).get_messages())) == 6


def test_instructions_and_schemas_count():
    def overhead(**options: Any) -> int:
        client, provider = Scripted(chat), provider_of(budget=8_000)
        client.counts = False
        agent = agent_of(client, provider)
        session = agent.create_session()
        asyncio.run(agent.run("hello", session=session, options=options))  # type: ignore[call-overload]  # any options
        return provider.conversation(session, agent).usage(LANE).by_kind["overhead"].tokens

    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"enum": ["word"] * 300}}}
    assert overhead(instructions="word " * 500) > overhead() + 400
    assert overhead(response_format=schema) > overhead() + 250
