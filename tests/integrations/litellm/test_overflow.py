"""A request that the provider rejects as too long is answered by a shorter one, whoever sends it again."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import litellm
import pytest
from litellm.types.router import RetryPolicy

from backscroll import BudgetError, RequestTooLargeError
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.litellm import BackscrollHandler, RequestTooLarge
from backscroll.integrations.litellm.translation import as_dict
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import Agent, handler_of, installed, ran, run
from tests.integrations.litellm.provider import Provider, providing
from tests.integrations.litellm.recorder import Recorder, turns
from tests.integrations.world import faults

pytestmark = [OURS, pytest.mark.filterwarnings("ignore:the provider refused a request")]
REFUSED = litellm.ContextWindowExceededError("too long", "m", "openai")


def size(body: dict[str, Any]) -> int:
    return len(json.dumps(body["messages"]))


def asking(provider: Provider, handler: BackscrollHandler, **more: Any) -> dict[str, Any]:
    named = {"api_base": provider.url, "api_key": "none", "litellm_session_id": "s", **more}
    return {"model": "openai/small-1", "messages": turns(60), **named}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("make", [run, ran], ids=["sync", "async"])
def test_each_refusal_is_answered_by_a_shorter_request(make, streamed):
    with providing() as provider:
        provider.limit = 1_800
        agent = make(Agent(handler_of(), provider), 12, **({"stream": True} if streamed else {}))
    assert provider.refused
    assert faults(agent.faults()) == []
    assert all(size(body) // 4 <= provider.limit for body in provider.accepted["small-1"])


@pytest.mark.parametrize("sized", [True, False])
def test_requests_get_shorter_from_refusal_to_refusal(sized):
    with providing() as provider:
        provider.refusing, provider.sized, provider.limit = 3, sized, 9_000
        handler = handler_of(budget=20_000)
        call = asking(provider, handler)
        before = list(call["messages"])
        assert handler.completion(**call).choices[0].message
    sizes = [size(body) for body in [*provider.refused, *provider.accepted["small-1"]]]
    assert len(sizes) == 4
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert all(each is there for each, there in zip(call["messages"], before, strict=True))


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_provider_that_refuses_all_ends_in_an_error_of_both(way):
    client = Recorder(*[REFUSED] * 30)
    handler = handler_of(client=client, budget=20_000)
    complete = handler.completion if way == "sync" else lambda *a, **b: asyncio.run(handler.acompletion(*a, **b))
    with pytest.raises(RequestTooLarge) as caught:
        complete("openai/m", turns(60), litellm_session_id="s")
    assert isinstance(caught.value, RequestTooLargeError)
    assert isinstance(caught.value, litellm.ContextWindowExceededError)
    assert (caught.value.model, caught.value.llm_provider) == ("m", "openai")
    assert 3 < len(client.calls) <= 25


def test_24_refusals_in_a_row_are_the_most():
    found = handler_of().conversation("s")
    sent = found.sent_now(turns(3), ModelCall(lane="openai/m"))
    for _ in range(24):
        assert found.refused(sent, REFUSED)
    with pytest.raises(RequestTooLarge, match="24 times in a row") as caught:
        found.refused(sent, REFUSED)
    assert caught.value.__cause__ is REFUSED


def test_what_must_stay_and_does_not_fit_is_such_an_error_too():
    history = [{"role": "system", "content": "rule " * 4_000}, {"role": "user", "content": "Hi."}]
    with pytest.raises(RequestTooLarge) as caught:
        handler_of(client=Recorder()).completion("openai/m", history)
    assert isinstance(caught.value.__cause__, BudgetError)


@pytest.mark.parametrize("error", [ValueError("no"), litellm.RateLimitError("tokens per minute: too large", "o", "m")])
def test_an_error_that_is_no_overflow_passes_unchanged(error):
    client = Recorder(error)
    handler = handler_of(client=client)
    for complete in (handler.completion, lambda *a, **b: asyncio.run(handler.acompletion(*a, **b))):
        client.errors = [error]
        with pytest.raises(type(error)) as caught:
            complete("openai/m", turns(3), litellm_session_id="s")
        assert caught.value is error
    assert len(client.calls) == 2


def test_a_router_retries_with_shorter_views():
    with providing() as provider, installed(handler_of(budget=20_000)) as handler:
        provider.refusing = 3
        call = asking(provider, handler)
        response = asyncio.run(router(provider).acompletion("small", call["messages"], litellm_session_id="s"))
        assert response.choices[0].message
    sizes = [size(body) for body in [*provider.refused, *provider.accepted["small-1"]]]
    assert len(sizes) == 4
    assert all(later < earlier for earlier, later in pairwise(sizes))


def router(provider: Provider, **more: Any) -> litellm.Router:
    """A router of a small and a large model, which retries refused requests: at once, as there are two small ones."""

    def deployment(name: str, limit: int) -> dict[str, Any]:
        address = {"model": f"openai/{name}-1", "api_base": provider.url, "api_key": "none"}
        return {"model_name": name, "litellm_params": address, "model_info": {"max_input_tokens": limit}}

    return litellm.Router(
        model_list=[deployment("small", 4_000), deployment("small", 4_000), deployment("large", 30_000)],
        retry_policy=RetryPolicy(BadRequestErrorRetries=24),
        retry_after=0,
        **more,
    )


def test_a_router_falls_back_to_a_model_in_which_it_fits():
    history = [{"role": "system", "content": "rule " * 6_000}, {"role": "user", "content": "Hi."}]
    with providing() as provider, installed(handler_of(budget=None)):
        known = router(provider, context_window_fallbacks=[{"small": ["large"]}])
        asyncio.run(known.acompletion("small", history, litellm_session_id="s"))
    assert list(provider.accepted) == ["large-1"]
    assert provider.requests("large-1") == [history]


def test_fallbacks_of_a_call_get_a_view_of_the_history():
    """LiteLLM hands a copy of the view to its hooks again, and not the history."""
    with providing() as provider, installed(handler_of(budget=6_000)) as handler:
        provider.broken = 1
        call = asking(provider, handler, fallbacks=["openai/large-1"])
        asyncio.run(litellm.acompletion(**call))
        found = handler.conversation("s")
        assert asyncio.run(found.get_messages()) == [as_dict(message) for message in call["messages"]]
    assert faults([(provider.requests("large-1")[0], call["messages"])]) == []


def test_after_a_refusal_by_callback_the_next_call_is_shorter():
    with providing() as provider, installed(handler_of(budget=20_000)) as handler:
        provider.refusing = 1
        call = asking(provider, handler)
        with pytest.raises(litellm.ContextWindowExceededError):
            asyncio.run(litellm.acompletion(**call))
        asyncio.run(litellm.acompletion(**call))
    assert size(provider.accepted["small-1"][0]) < size(provider.refused[0])


class Broken:
    """A stream that fails at its first chunk, or behind it."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = iter(chunks)

    def __iter__(self) -> "Broken":
        return self

    def __next__(self) -> Any:
        chunk = next(self.chunks)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def __aiter__(self) -> "Broken":
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None


class Streams(Recorder):
    """A client that hands out these streams."""

    def __init__(self, *streams: Broken) -> None:
        super().__init__()
        self.streams = list(streams)

    def completion(self, **call: Any) -> Any:
        self.calls.append(call)
        return self.streams.pop(0)


async def chunks_of(handler: BackscrollHandler) -> list[Any]:
    stream = await handler.acompletion("openai/m", turns(60), litellm_session_id="s", stream=True)
    return [chunk async for chunk in stream]


def test_a_stream_that_fails_at_first_is_sent_again():
    for complete in (asynchronous, synchronous):
        client = Streams(Broken(REFUSED), Broken(REFUSED), Broken("a", "b"))
        assert complete(handler_of(client=client, budget=20_000)) == ["a", "b"]
        sizes = [len(json.dumps(call["messages"])) for call in client.calls]
        assert all(later < earlier for earlier, later in pairwise(sizes))


def test_a_stream_that_fails_later_is_not_sent_again():
    for complete in (asynchronous, synchronous):
        client = Streams(Broken("a", REFUSED))
        with pytest.raises(litellm.ContextWindowExceededError) as caught:
            complete(handler_of(client=client, budget=20_000))
        assert caught.value is REFUSED
        assert len(client.calls) == 1


def asynchronous(handler: BackscrollHandler) -> list[Any]:
    return asyncio.run(chunks_of(handler))


def synchronous(handler: BackscrollHandler) -> list[Any]:
    return list(handler.completion("openai/m", turns(60), litellm_session_id="s", stream=True))
