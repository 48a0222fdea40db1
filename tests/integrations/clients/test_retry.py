"""Requests that are sent again with shorter views: what is retried, how often, and what passes unchanged."""

import asyncio
from contextlib import closing
from typing import Any

import pytest

from backscroll import (
    AsyncContextManager,
    BudgetError,
    ConfigurationError,
    ContextManager,
    RequestTooLargeError,
    StoreUnavailableError,
    events,
)
from backscroll.integrations.clients import stream_with_retry, with_retry
from tests.fakes import FaultyStore

pytestmark = pytest.mark.filterwarnings("ignore:the provider refused a request")
LONG = "Nothing of note happened here, as on all other days. " * 20


class TooLongError(Exception):
    """As a client raises it."""


def filled(manager, *, times=1, **options):
    """A manager, and a conversation of about 10,000 tokens or some times as many."""
    heard = []
    context = manager(**{"budget": 50_000, "on_event": lambda name, payload: heard.append((name, payload)), **options})
    talk = [{"role": "user" if number % 2 == 0 else "assistant", "content": LONG * times} for number in range(41)]
    return context, talk, heard


class Provider:
    """Refuses views of more messages than it takes, and remembers how long each view was."""

    def __init__(self, most=1_000, error=None):
        self.most, self.seen = most, []
        self.error = error or TooLongError("prompt is too long")

    def create(self, view):
        self.seen.append(len(view))
        if len(view) > self.most:
            raise self.error
        return {"role": "assistant", "content": "Done."}

    async def create_async(self, view):
        await asyncio.sleep(0)
        return self.create(view)

    def stream(self, view):
        """The refusal comes out of the first iteration."""
        yield self.create(view)

    async def stream_async(self, view):
        await asyncio.sleep(0)
        yield self.create(view)


def asked(way, provider, **options):
    """Send one request in one of four ways. Returns the response and what was heard."""
    if way.endswith("async"):
        return asyncio.run(asked_async(way, provider, **options))
    context, talk, heard = filled(ContextManager, **options)
    with context:
        context.append(*talk)
        if way == "whole":
            return with_retry(context, provider.create), heard
        return next(stream_with_retry(context, provider.stream)), heard


async def asked_async(way, provider, **options):
    context, talk, heard = filled(AsyncContextManager, **options)
    async with context:
        await context.append(*talk)
        if way == "whole-async":
            return await with_retry(context, provider.create_async), heard
        return await anext(await stream_with_retry(context, provider.stream_async)), heard


every_way = pytest.mark.parametrize("way", ["whole", "whole-async", "streamed", "streamed-async"])


@every_way
def test_accepted_request_is_sent_once(way):
    provider = Provider()
    response, heard = asked(way, provider)
    assert response["content"] == "Done."
    assert provider.seen == [41]
    assert events.OVERFLOW not in [name for name, _ in heard]


@every_way
def test_refusals_are_answered_by_ever_shorter_views(way):
    provider = Provider(most=12)
    response, heard = asked(way, provider)
    assert response["content"] == "Done."
    assert provider.seen[0] == 41
    assert provider.seen == sorted(set(provider.seen), reverse=True)
    assert provider.seen[-1] <= 12
    assert [name for name, _ in heard].count(events.OVERFLOW) == len(provider.seen) - 1


@every_way
def test_sizes_in_the_error_are_kept_to_at_once(way):
    provider = Provider(most=20, error=TooLongError("prompt is too long: 9600 tokens > 4000 maximum"))
    _, heard = asked(way, provider)
    assert len(provider.seen) == 2
    assert len([name for name, _ in heard if name == events.OVERFLOW]) == 1


@every_way
def test_the_25th_refusal_in_a_row_is_an_error(way):
    """It names the size of the last request and what the provider said; its cause is the provider's error."""
    provider = Provider(most=0)
    with pytest.raises(RequestTooLargeError, match=r"24 times in a row .* prompt is too long") as failed:
        asked(way, provider, times=40, budget=800_000, strategies=None)
    assert len(provider.seen) == 25
    assert failed.value.__cause__ is provider.error
    assert isinstance(failed.value, BudgetError)


@every_way
@pytest.mark.parametrize("error", [TooLongError("rate limit reached: too many tokens"), KeyError("model"), OSError(5)])
def test_other_errors_pass_unchanged(way, error):
    provider = Provider(most=0, error=error)
    with pytest.raises(type(error)) as failed:
        asked(way, provider)
    assert failed.value is error
    assert len(provider.seen) == 1


@every_way
def test_our_own_error_is_no_refusal(way):
    """Even if its text reads like one."""
    provider = Provider(most=0, error=ConfigurationError("`context_window` is too small"))
    with pytest.raises(ConfigurationError):
        asked(way, provider)
    assert len(provider.seen) == 1


def test_failing_store_is_reported_and_nothing_sent():
    """The answer that could not be stored is not lost: it can be appended again."""
    store: Any = FaultyStore()
    provider = Provider()
    context, talk, _ = filled(ContextManager, store=store, session="s")
    context.append(*talk)
    response = with_retry(context, provider.create)
    store.fails = [StoreUnavailableError("no room left")]
    with pytest.raises(StoreUnavailableError):
        context.append(response)
    context.append(response)
    assert context.get_messages()[-1]["content"] == "Done."
    context.append({"role": "user", "content": "Go on."})
    context.close()

    store.read = failing
    context = ContextManager(store=store, session="s")
    with pytest.raises(StoreUnavailableError):
        with_retry(context, provider.create)
    assert provider.seen == [41]


def failing(*_, **__):
    raise StoreUnavailableError("cannot be reached")


def test_request_options_reach_the_view():
    """The lane of a model is the one whose view was refused."""
    context, talk, heard = filled(ContextManager)
    provider = Provider(most=12)
    tools = [{"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}]
    with context:
        context.append(*talk)
        with_retry(context, provider.create, tools=tools, lane="side", model="claude-opus-5-5", token_budget=30_000)
        assert [tool.name for tool in context.usage("side/claude-opus-5-5").tools] == ["read"]
    assert {payload["lane"] for name, payload in heard if name == events.OVERFLOW} == {"side/claude-opus-5-5"}


def test_asynchronous_call_needs_an_asynchronous_manager():
    context, talk, _ = filled(ContextManager)
    with context:
        context.append(*talk)
        with pytest.raises(ConfigurationError, match="AsyncContextManager"):
            with_retry(context, Provider().create_async)  # type: ignore[unused-coroutine]  # it makes none
        for call in (len, Provider().stream_async):
            with pytest.raises(ConfigurationError, match="cannot be iterated"):
                stream_with_retry(context, call)


def test_plain_function_may_answer_an_asynchronous_manager():
    """A client without an event loop blocks it, and works."""

    async def work():
        context, talk, _ = filled(AsyncContextManager)
        async with context:
            await context.append(*talk)
            return await with_retry(context, Provider(most=12).create)

    assert asyncio.run(work())["content"] == "Done."


class Managed:
    """A client's stream that counts how often it was closed. It fails at some event."""

    def __init__(self, log, fails_at=None, error=None):
        self.log, self.fails_at, self.error = log, fails_at, error

    def __enter__(self):
        self.log.append("open")
        return self._events()

    def __exit__(self, *_):
        self.log.append("closed")

    def _events(self):
        for at, kind in enumerate(("message_start", "content_block_start", "content_block_stop")):
            if at == self.fails_at:
                raise self.error
            yield {"type": kind, "index": 0, "message": {}, "content_block": {"type": "text", "text": ""}}


@pytest.mark.parametrize(("fails_at", "tries"), [(0, 2), (1, 2), (2, 1)])
def test_stream_is_sent_again_until_an_event_was_handed_on(fails_at, tries):
    """What announces the answer is held back; behind the first event of the answer the error passes."""
    context, talk, _ = filled(ContextManager)
    log, error = [], TooLongError("prompt is too long")
    streams = [Managed(log, fails_at, error), Managed(log)]
    with context:
        context.append(*talk)
        with stream_with_retry(context, lambda view: streams.pop(0)) as stream:
            if tries == 1:
                with pytest.raises(TooLongError) as failed:
                    list(stream)
                assert failed.value is error
            else:
                assert [event["type"] for event in stream][:2] == ["message_start", "content_block_start"]
    assert log == ["open", "closed"] * tries


def test_stream_that_is_left_early_is_closed():
    context, talk, _ = filled(ContextManager)
    log = []
    with context:
        context.append(*talk)
        with stream_with_retry(context, lambda view: Managed(log)) as stream:
            assert next(stream)["type"] == "message_start"
    assert log == ["open", "closed"]


def test_generator_that_is_left_early_is_closed():
    context, talk, _ = filled(ContextManager)
    with context, closing(Provider().stream([])) as events_of_one:
        context.append(*talk)
        with stream_with_retry(context, lambda view: events_of_one) as stream:
            pass
        assert list(stream) == [{"role": "assistant", "content": "Done."}]  # what was read is still handed on
        assert next(events_of_one, None) is None
