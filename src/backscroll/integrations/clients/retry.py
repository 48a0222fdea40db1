"""Requests and streams that are sent again with shorter views, where the provider refuses them as too long."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, overload

from backscroll.errors import BackscrollError, ConfigurationError
from backscroll.integrations.clients.collected import is_prelude, rejection_in
from backscroll.integrations.clients.steps import Steps, run, run_async
from backscroll.integrations.clients.streams import ASYNC, END, SYNC, AsyncResponseStream, Opened, ResponseStream, Ways
from backscroll.integrations.overflow_errors import is_overflow, is_refusal
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.base import MAIN
from backscroll.manager.sync_manager import ContextManager
from backscroll.messages import Message

Context = ContextManager | AsyncContextManager
T = TypeVar("T")


@overload
def with_retry(context: ContextManager, call: Callable[[list[Message]], T], **request: Any) -> T: ...
@overload
def with_retry(
    context: AsyncContextManager, call: Callable[[list[Message]], Awaitable[T]], **request: Any
) -> Coroutine[Any, Any, T]: ...
def with_retry(context: Context, call: Callable[[list[Message]], Any], **request: Any) -> Any:
    """Call a function with the view to send. If the provider refuses the request as too long, record that and call the
    function again with the next view, which is shorter.

    Args:
        context: The manager. With an `AsyncContextManager` the call is awaited, and so is this function.
        call: Makes the request for a view, and returns the response.
        request: What `get_messages_for_request` takes, by name: `tools`, `lane`, `model`, `token_budget` and others.

    Returns:
        What `call` returned.

    Raises:
        RequestTooLargeError: The provider refused the request and 24 shorter ones after it.
        BudgetError: The messages that must stay in every view do not fit what the provider takes.
        ConfigurationError: `call` is asynchronous and `context` is not.
        StoreError: The store failed.
        Exception: All other errors of `call`, unchanged.
    """
    steps = _sent(context, lambda view: _answered(call, view), request)
    return run_async(steps) if isinstance(context, AsyncContextManager) else run(steps)


@overload
def stream_with_retry(
    context: ContextManager, call: Callable[[list[Message]], Any], **request: Any
) -> ResponseStream: ...
@overload
def stream_with_retry(
    context: AsyncContextManager, call: Callable[[list[Message]], Any], **request: Any
) -> Coroutine[Any, Any, AsyncResponseStream]: ...
def stream_with_retry(context: Context, call: Callable[[list[Message]], Any], **request: Any) -> Any:
    """Open a stream as `with_retry` makes a request. A refusal is answered as long as no event that the model wrote was
    handed on.

    Args:
        context: As for `with_retry`.
        call: Opens the stream for a view: what `create(stream=True)` returns, a stream manager such as
            `client.messages.stream(...)`, or any iterable of events.
        request: As for `with_retry`.

    Returns:
        The stream. Iterate over its events, then read its `response`.

    Raises:
        ConfigurationError: As for `with_retry`, or `call` returned no stream.
        Exception: As for `with_retry`.
    """
    if isinstance(context, AsyncContextManager):
        return _stream_async(context, call, request)
    return ResponseStream(run(_sent(context, lambda view: _begun(call, view, SYNC), request)))


async def _stream_async(
    context: AsyncContextManager, call: Callable[[list[Message]], Any], request: dict[str, Any]
) -> AsyncResponseStream:
    return AsyncResponseStream(await run_async(_sent(context, lambda view: _begun(call, view, ASYNC), request)))


def _sent(context: Context, send: Callable[[list[Message]], Steps[T]], request: dict[str, Any]) -> Steps[T]:
    """Send views until the provider accepts one."""
    lane, model = request.get("lane", MAIN), request.get("model")
    lane = lane if model is None else context._lane_of(lane, model)  # noqa: SLF001  an adapter's view of a manager
    retry = OverflowRetry(context)
    while True:
        view = yield lambda: context.get_messages_for_request(**request), ()
        try:
            return (yield from send(view))
        except Exception as error:
            if isinstance(error, BackscrollError) or not is_overflow(error):
                if is_refusal(error):
                    context.observe_refusal(lane=lane)
                raise
            retry.rejected(error, lane)


def _answered(call: Callable[[list[Message]], Any], view: list[Message]) -> Steps[Any]:
    answer = yield call, (view,)
    if inspect.isawaitable(answer):  # with an event loop it was awaited
        if inspect.iscoroutine(answer):
            answer.close()
        raise ConfigurationError("`call` is asynchronous: pass an `AsyncContextManager`, and await what this returns")
    return answer


def _begun(call: Callable[[list[Message]], Any], view: list[Message], ways: Ways) -> Steps[Opened]:
    """Open a stream, and read it up to the first event that the model wrote."""
    source = yield from _answered(call, view)
    opened, read = Opened(source, ways), list[Any]()
    try:
        yield from opened.enter()
        while True:
            event = yield from opened.read()
            if (error := rejection_in(event)) is not None:
                raise error
            read.append(event)
            if event is END or not is_prelude(event):
                opened.held.extend(read)
                return opened
    except BaseException:
        yield from opened.leave()
        raise
