"""A request that the provider rejects as too long is answered by a shorter one; other errors pass unchanged."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from agents.exceptions import ModelBehaviorError
from agents.testing import assistant_message
from openai import BadRequestError

from backscroll import RequestTooLargeError
from backscroll.evaluation.fake_providers import FakeOpenAIResponses
from backscroll.integrations.openai_agents import managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import (
    BOTH_WAYS,
    TOO_LONG,
    FollowingModel,
    Refused,
    agent_with,
    items_at,
    order,
    run,
    tokens,
)
from tests.integrations.openai_agents.wire import responses_model

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore:the provider refused a request")]
WAYS = pytest.mark.parametrize("streamed", [False, True])


def slightly_too_long(items: list[Any]) -> Exception:
    size = tokens(items)
    return Refused(f"prompt is too long: {size} tokens > {size - 20} maximum")


def history(number: int) -> list[Any]:
    """Some steps of work, and a question."""
    items: list[Any] = [{"role": "user", "content": "Look up the orders."}]
    for at in range(number):
        call = {"type": "function_call", "call_id": f"h{at}", "name": "order", "arguments": f'{{"number":{at}}}'}
        items += [call, {"type": "function_call_output", "call_id": f"h{at}", "output": world.order(at)}]
    return [*items, {"role": "user", "content": "And now?"}]


def answering(
    refusals: int, error: Callable[[], Exception] = lambda: Refused(TOO_LONG), **options: Any
) -> tuple[Any, Any]:
    """A model that refuses so many requests and then answers, and the managed one."""
    inner = FollowingModel(lambda step: [assistant_message("done")])
    inner.refusals = [error() for _ in range(refusals)]
    return inner, managed(inner, **{"budget": 50_000, **options})


@WAYS
def test_a_refusal_is_answered_by_a_shorter_request(streamed):
    inner, model = answering(3)
    result = asyncio.run(run(agent_with(model), history(40), streamed=streamed))
    assert result.final_output == "done"
    sizes = [tokens(request) for request in inner.requests]
    assert len(sizes) == 4
    assert all(later < earlier for earlier, later in pairwise(sizes))


@BOTH_WAYS
def test_refused_24_times_it_ends_in_an_error(streamed):
    inner, model = answering(0, compact_threshold=1.0, target_usage=0.99)
    inner.refusals = [slightly_too_long] * 100
    with pytest.raises(RequestTooLargeError, match="24 times in a row") as raised:
        asyncio.run(run(agent_with(model), history(90), streamed=streamed))
    assert len(inner.requests) == 25
    assert isinstance(raised.value.__cause__, Refused)


@WAYS
def test_nothing_shorter_is_left_ends_in_the_same_error(streamed):
    inner, model = answering(100, lambda: Refused("prompt is too long"))
    with pytest.raises(RequestTooLargeError, match="what must stay needs") as raised:
        asyncio.run(run(agent_with(model), history(40), streamed=streamed))
    assert 3 < len(inner.requests) < 24
    assert isinstance(raised.value.__cause__, Refused)


def test_rejections_of_another_request_are_not_counted():
    inner, model = answering(0, compact_threshold=1.0, target_usage=0.99)
    for refusals in (20, 5):
        inner.refusals = [slightly_too_long] * refusals
        assert asyncio.run(run(agent_with(model), history(90))).final_output == "done"


@WAYS
def test_an_error_that_is_no_overflow_passes_unchanged(streamed):
    error = ValueError("the server is on fire")
    inner, model = answering(1, lambda: error)
    with pytest.raises(ValueError, match="on fire") as raised:
        asyncio.run(run(agent_with(model), history(4), streamed=streamed))
    assert raised.value is error
    assert len(inner.requests) == 1
    assert asyncio.run(run(agent_with(model), history(4), streamed=streamed)).final_output == "done"


@BOTH_WAYS
def test_the_window_of_openai_is_found_out(streamed):
    """The client raises what OpenAI says, which names no sizes."""
    fake = FakeOpenAIResponses(window=6_000)
    model = managed(responses_model(fake), budget=20_000)
    result = asyncio.run(run(agent_with(model), history(60), streamed=streamed))
    assert result.final_output == "Done."
    assert 1 < len(fake.requests) < 15


def test_another_error_of_the_client_is_the_very_error():
    model = managed(responses_model(FakeOpenAIResponses(), name="no-such-model"), budget=20_000)
    with pytest.raises(Exception, match="does not exist") as raised:
        asyncio.run(run(agent_with(model), history(1)))
    assert type(raised.value).__module__.startswith("openai")
    assert not isinstance(raised.value, BadRequestError)


class FailingStream(FollowingModel):
    """Streams that fail with an event, as OpenAI reports an overflow that it notices late."""

    def __init__(self, code: str, after: int = 0) -> None:
        super().__init__(lambda step: [assistant_message("done")])
        self.code, self.after = code, after

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        from types import SimpleNamespace as Event

        shown = 0
        async for event in super().stream_response(*args, **kwargs):
            if self.answered == 1 and shown == 2 + self.after:
                yield Event(type="error", code=self.code, message="Your input exceeds the window", param=None)
                raise ModelBehaviorError(f"Responses stream ended with terminal event `error`. code={self.code}")
            shown += 1
            yield event


async def types_of(model: Any) -> list[str]:
    """The types of events that a caller of the model sees, up to an error."""
    from agents import ModelSettings
    from agents.models.interface import ModelTracing

    seen = []
    stream = model.stream_response(
        None, history(40), ModelSettings(), [order], None, [], ModelTracing.DISABLED,
        previous_response_id=None, conversation_id=None, prompt=None,
    )  # fmt: skip  # as in the signature
    try:
        async for event in stream:
            seen.append(event.type)
    except ModelBehaviorError:
        seen.append("raised")
    return seen


def test_a_stream_that_fails_before_its_answer_is_sent_again():
    inner = FailingStream("context_length_exceeded")
    seen = asyncio.run(types_of(managed(inner, budget=50_000)))
    assert seen.count("response.created") == 1, "nobody saw the first stream"
    assert "error" not in seen
    assert seen[-1] == "response.completed"
    assert tokens(inner.requests[1]) < tokens(inner.requests[0])


def test_another_failure_of_a_stream_is_seen_with_all_its_events():
    inner = FailingStream("server_error")
    assert asyncio.run(types_of(managed(inner))) == ["response.created", "response.in_progress", "error", "raised"]


def test_a_stream_whose_answer_began_is_not_sent_again():
    inner = FailingStream("context_length_exceeded", after=1)
    seen = asyncio.run(types_of(managed(inner)))
    assert seen[-2:] == ["error", "raised"]
    assert len(inner.requests) == 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failing_store_ends_the_run_and_the_next_goes_on(streamed):
    from backscroll import StoreUnavailableError
    from tests.fakes import FaultyStore

    store = FaultyStore()
    inner = FollowingModel(items_at)
    model = managed(inner, session="one", store=store, budget=world.BUDGET)
    store.fails = [StoreUnavailableError("the disk is full")]
    with pytest.raises(StoreUnavailableError):
        asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0), streamed=streamed))
    assert inner.requests == []
    asyncio.run(run(agent_with(model, model.recall_tool), world.asked(0), streamed=streamed))
    assert len(inner.requests) == world.TURN
