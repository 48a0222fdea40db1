"""A provider that refuses a request as too long gets a shorter one, before anything of an answer was handed on."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from backscroll import BudgetError, RequestTooLargeError
from backscroll.integrations.overflow_retry import MOST_REJECTIONS
from tests.integrations.adk.agents import Running, plugin_of, running
from tests.integrations.adk.scripted import Overflow, Scripted, chat, text_of

pytestmark = pytest.mark.frameworks

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
REFUSALS = pytest.mark.filterwarnings("ignore:the provider refused a request")


def talked(model: Scripted) -> Running:
    """An app with a session of 24 events."""
    run = running(model, plugin=plugin_of(budget=20_000))
    asyncio.run(run.remember(f"message {at} " + "as you say " * 60 * (at % 2) for at in range(24)))
    return run


@REFUSALS
@BOTH
def test_a_refusal_is_answered_by_a_shorter_request(stream):
    model = Scripted(chat)
    run = talked(model)
    model.errors[:] = [Overflow(), Overflow()]
    assert run.say("one more", stream=stream).startswith("answer 0")
    sizes = [len(text_of(request)) for request in model.requests]
    assert len(sizes) == 3
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert len(run.contents) == 26
    assert run.recorder.requests[-1].contents == run.recorder.given[-1]


@REFUSALS
@BOTH
def test_what_was_refused_stays_out_of_the_next_requests(stream):
    model = Scripted(chat, limit=4_000)
    run = running(model, plugin=plugin_of(budget=20_000))
    for turn in range(20):
        run.say(f"turn {turn}", stream=stream)
    refused = [len(text_of(request)) > 4_000 for request in model.requests]
    assert 1 <= sum(refused) <= 4
    assert model.answered == 20


class Insists(Scripted):
    """A model that wants each request to be one token shorter."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.requests.append(list(llm_request.contents))
        tokens = len(text_of(llm_request.contents)) // 4
        raise ValueError(
            f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({tokens - 1})."
        )
        yield  # a generator, as the framework has it


@REFUSALS
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.long)], ids=["whole", "streamed"])
def test_too_many_refusals_end_in_an_error(stream):
    model = Insists(chat)  # type: ignore[call-arg, arg-type]  # `Scripted` has its own
    run = running(model, plugin=plugin_of(budget=40_000, compact_threshold=0.99, target_usage=0.98))
    asyncio.run(run.remember(f"message {at} " + "as you say " * 80 for at in range(100)))
    with pytest.raises(RequestTooLargeError, match="24 times in a row"):
        run.say("one more", stream=stream)
    assert len(model.requests) == MOST_REJECTIONS + 1


@REFUSALS
@BOTH
def test_requests_get_shorter_until_nothing_fits(stream):
    model = Scripted(chat)
    run = talked(model)
    model.errors[:] = [Overflow() for _ in range(100)]
    with pytest.raises(BudgetError, match="since the provider refused a request"):
        run.say("one more", stream=stream)
    sizes = [len(text_of(request)) for request in model.requests]
    assert 3 < len(sizes) <= MOST_REJECTIONS
    assert all(later < earlier for earlier, later in pairwise(sizes))


@BOTH
def test_any_other_error_passes_unchanged(stream):
    model, error = Scripted(chat), ValueError("429 RESOURCE_EXHAUSTED: rate limit reached, too many tokens per minute")
    run = talked(model)
    model.errors[:] = [error]
    with pytest.raises(ValueError, match="rate limit") as raised:
        run.say("one more", stream=stream)
    assert raised.value is error
    assert len(model.requests) == 1
    assert run.recorder.requests[-1].contents == run.recorder.given[-1]


class BreaksOff(Scripted):
    """A model whose stream ends with a refusal behind its first part."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.requests.append(list(llm_request.contents))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="so far")]), partial=True)
        raise Overflow


def test_what_was_handed_on_is_not_sent_again():
    model = BreaksOff(chat)  # type: ignore[call-arg, arg-type]  # likewise
    run = running(model)
    with pytest.raises(Overflow):
        run.say("hello", stream=True)
    assert len(model.requests) == 1


class Connection(Scripted):
    """A model that notes when its stream is closed."""

    closed: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        try:
            async for response in super().generate_content_async(llm_request, stream):
                yield response
        finally:
            self.closed += 1


def test_a_reader_may_leave_a_stream():
    model = Connection(chat)  # type: ignore[call-arg, arg-type]  # likewise
    run = running(model)

    async def leave() -> None:
        events = run.runner.run_async(
            user_id=run.user,
            session_id=run.id,
            new_message=types.Content(role="user", parts=[types.Part(text="one")]),
        )
        async for _ in events:
            break
        await events.aclose()
        assert model.closed == 1, "the connection is not left to the garbage collector"

    asyncio.run(leave())
    assert run.conversation.calls == 0
    run.say("another", stream=True)
    assert text_of(model.requests[-1][-1:]) == "another"


def test_a_budget_that_nothing_fits_is_an_error():
    model = Scripted(chat)
    with pytest.raises(BudgetError):
        running(model, plugin=plugin_of(budget=150)).say("word " * 2_000)
    assert model.requests == []
