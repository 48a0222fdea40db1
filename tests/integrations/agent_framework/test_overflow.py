"""A provider that refuses a request as too long gets a shorter one, before anything of an answer was handed on."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from agent_framework import Agent, ChatContext, ChatMiddleware, ChatResponseUpdate, Content, Message
from agent_framework.exceptions import ChatClientException, ChatClientInvalidRequestException

from backscroll import BudgetError, RequestTooLargeError
from backscroll.integrations.overflow_retry import MOST_REJECTIONS
from tests.integrations import world
from tests.integrations.agent_framework.agents import agent_of, history_of, order, provider_of, say
from tests.integrations.agent_framework.scripted import Overflow, Recorder, Scripted, as_openai, calls, chat, text_of

pytestmark = pytest.mark.frameworks

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
REFUSALS = pytest.mark.filterwarnings("ignore:the provider refused a request")


def wrapped() -> ChatClientException:
    """A refusal as the framework's clients raise it."""
    error = ChatClientException("the service failed to complete the prompt", inner_exception=Overflow())
    error.__cause__ = Overflow()
    return error


def talked(client: Scripted, *, stream: bool = False, turns: int = 12) -> Any:
    provider = provider_of(budget=20_000)
    agent = agent_of(client, provider)
    session = agent.create_session()

    async def run() -> None:
        for turn in range(turns):
            await say(agent, f"turn {turn}", session, stream=stream)

    asyncio.run(run())
    return provider, agent, session


@REFUSALS
@BOTH
@pytest.mark.parametrize("error", [Overflow(), wrapped()], ids=["as it is", "wrapped"])
def test_a_refusal_is_answered_by_a_shorter_request(stream, error):
    client = Scripted(chat)
    _, agent, session = talked(client, stream=stream)
    client.requests.clear()
    client.errors = [error, error]
    asyncio.run(say(agent, "one more", session, stream=stream))
    sizes = [len(text_of(request)) for request in client.requests]
    assert len(sizes) == 3
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert [message.text for message in history_of(session)][-2] == "one more"
    assert len(history_of(session)) == 26


@REFUSALS
@BOTH
def test_what_was_refused_stays_out_of_the_next_requests(stream):
    client = Scripted(chat, limit=4_000)
    talked(client, stream=stream, turns=20)
    refused = [len(text_of(request)) > 4_000 for request in client.requests]
    assert 1 <= sum(refused) <= 4
    assert client.answered == 20


class Insists(Scripted):
    """A client that wants each request to be one token shorter."""

    def _answer(self, messages: Any) -> Any:
        tokens = len(text_of(messages)) // 4
        raise ValueError(f"prompt is too long: {tokens} tokens > {tokens - 1} maximum")


@REFUSALS
@BOTH
def test_too_many_refusals_end_in_an_error(stream):
    client = Insists()
    agent = agent_of(client, provider_of(budget=40_000, compact_threshold=0.99, target_usage=0.98))
    session = agent.create_session()
    long = [Message(("user", "assistant")[at % 2], [f"message {at} " + "as you say " * 80]) for at in range(100)]
    session.state["in_memory"] = {"messages": long}
    with pytest.raises(RequestTooLargeError, match="24 times in a row"):
        asyncio.run(say(agent, "one more", session, stream=stream))
    assert len(client.requests) == MOST_REJECTIONS + 1


@REFUSALS
@BOTH
def test_requests_get_shorter_until_nothing_fits(stream):
    client = Scripted(chat)
    _, agent, session = talked(client, stream=stream)
    client.requests.clear()
    client.errors = [Overflow() for _ in range(100)]
    with pytest.raises(BudgetError, match="since the provider refused a request"):
        asyncio.run(say(agent, "one more", session, stream=stream))
    sizes = [len(text_of(request)) for request in client.requests]
    assert 3 < len(sizes) <= MOST_REJECTIONS
    assert all(later < earlier for earlier, later in pairwise(sizes))


@BOTH
def test_any_other_error_passes_unchanged(stream):
    client, error = Scripted(chat), ChatClientInvalidRequestException("rate limit reached: too many tokens per minute")
    _, agent, session = talked(client, stream=stream)
    client.requests.clear()
    client.errors = [error]
    with pytest.raises(ChatClientInvalidRequestException) as raised:
        asyncio.run(say(agent, "one more", session, stream=stream))
    assert raised.value is error
    assert len(client.requests) == 1


class BreaksOff(Scripted):
    """A client whose stream ends with a refusal behind its first update, once."""

    broken = False

    async def _updates(self, messages: Any) -> Any:
        if self.broken:
            self.broken = False
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text("so far")])
            raise Overflow
        async for update in super()._updates(messages):
            yield update


def test_what_was_handed_on_is_not_sent_again():
    client = BreaksOff(chat)
    _, agent, session = talked(client, stream=True)
    client.requests.clear()
    client.broken = True
    with pytest.raises(Overflow):
        asyncio.run(say(agent, "one more", session, stream=True))
    assert len(client.requests) == 1


class Connection(Scripted):
    """A client that notes when its stream is closed."""

    closed = 0

    async def _updates(self, messages: Any) -> Any:
        try:
            async for update in super()._updates(messages):
                yield update
        finally:
            self.closed += 1


def test_a_reader_may_leave_a_stream():
    client = Connection(chat)
    provider, agent, session = talked(client, stream=True)

    async def leave() -> None:
        async with agent.run("one more", session=session, stream=True) as running:
            async for _ in running:
                break
        assert client.closed == 13, "the connection is not left to the garbage collector"

    asyncio.run(leave())
    assert provider.conversation(session, agent).calls == 0
    asyncio.run(say(agent, "another", session, stream=True))
    assert text_of(client.requests[-1][-1:]) == "another"


class Again(ChatMiddleware):
    """Middleware that asks again where the first answer is empty, as users write it."""

    async def process(self, context: ChatContext, call_next: Any) -> None:
        await call_next()
        await call_next()


def test_middleware_that_asks_again_does_not_ask_with_a_view():
    recorder = Recorder()
    client = Scripted(chat, middleware=[recorder, Again()])
    provider = provider_of(budget=1_500)
    agent = agent_of(client, provider)
    session = agent.create_session()

    async def run() -> None:
        for turn in range(12):
            await say(agent, f"turn {turn}", session)

    asyncio.run(run())
    assert [len(given) for given in recorder.given] == list(range(1, 24, 2))
    assert len(client.requests[-1]) < 16
    assert as_openai(client.requests[-1]) == as_openai(client.requests[-2])
    assert len(asyncio.run(provider.conversation(session, agent).get_messages())) == 24


def test_a_budget_that_nothing_fits_is_an_error():
    client = Scripted(chat)
    agent = agent_of(client, provider_of(budget=150))
    with pytest.raises(BudgetError):
        asyncio.run(say(agent, "word " * 2_000, agent.create_session()))
    assert client.requests == []


class Shouts(ChatMiddleware):
    """Middleware that changes the updates of a stream."""

    async def process(self, context: ChatContext, call_next: Any) -> None:
        context.stream_transform_hooks.append(_shouted)
        await call_next()


def test_a_stream_is_changed_by_middleware_as_without_backscroll():
    def answer(step: int, messages: list[Message]) -> list[Content]:
        called = calls(world.Called("c", "order", {"number": 1})) if step == 0 else []
        return [Content.from_text("fine"), *called]

    async def streamed(*providers: Any) -> Any:
        client = Scripted(answer, middleware=[Shouts()])
        agent = Agent(client, tools=[order], context_providers=providers)
        running = agent.run("hello", session=agent.create_session(), stream=True)
        updates = [update.text async for update in running]
        return updates, (await running.get_final_response()).text, [as_openai(each) for each in client.requests]

    ours, theirs = asyncio.run(streamed(provider_of())), asyncio.run(streamed())
    assert ours == theirs
    assert "FINE" in ours[0]


def _shouted(update: ChatResponseUpdate) -> ChatResponseUpdate:
    contents = [Content.from_text(str(each.text).upper()) if each.type == "text" else each for each in update.contents]
    return ChatResponseUpdate(role="assistant", contents=contents, message_id=update.message_id)


def test_an_answer_that_filled_the_window_shortens_the_next_view():
    client = Scripted(chat)
    _, agent, session = talked(client)
    before = len(text_of(client.requests[-1]))
    client.finish = "model_context_window_exceeded"
    with pytest.warns(RuntimeWarning, match="refused a request"):
        asyncio.run(say(agent, "one more", session))
    client.finish = None
    asyncio.run(say(agent, "another", session))
    assert len(text_of(client.requests[-1])) < before
