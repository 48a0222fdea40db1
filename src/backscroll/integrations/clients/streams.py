"""A stream whose finished response is collected while its events are handed on."""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from backscroll.errors import ConfigurationError
from backscroll.integrations.clients.collected import Collected
from backscroll.integrations.clients.steps import Steps, run, run_async

END = object()
"""What reading returns at the end of a stream."""


class Ways(NamedTuple):
    """How streams are used with or without an event loop."""

    enter: str
    leave: str
    close: str
    begin: Callable[[Any], Any]
    next: Callable[[Any, Any], Any]


SYNC = Ways("__enter__", "__exit__", "close", iter, next)
ASYNC = Ways("__aenter__", "__aexit__", "aclose", aiter, anext)


class Opened:
    """A client's stream. Clients return an iterable of events, or a manager of one, which `enter` opens.

    Args:
        source: What the client returned.
        ways: How it is used.
    """

    def __init__(self, source: Any, ways: Ways) -> None:
        self._source, self._ways = source, ways
        self._events: Any = None
        self._is_entered = self._is_left = False
        self.held: deque[Any] = deque[Any]()
        """Events that were read and not handed on."""

    def enter(self) -> Steps[None]:
        """Open the stream. Raises `ConfigurationError` if it is none."""
        events, enter = self._source, getattr(self._source, self._ways.enter, None)
        if enter is not None:
            events = yield enter, ()
            self._is_entered = True
        try:
            self._events = self._ways.begin(events)
        except TypeError as error:
            raise ConfigurationError(
                f"`call` returned {type(events).__name__}, which cannot be iterated: ask the client for a stream "
                "(`stream=True`), with the client for an event loop if the manager is an `AsyncContextManager`"
            ) from error

    def read(self) -> Steps[Any]:
        """Return the next event, or `END`. Closes the stream at its end and if it fails."""
        if self.held:
            return self.held.popleft()
        try:
            event = yield self._ways.next, (self._events, END)
        except BaseException:
            yield from self.leave()
            raise
        if event is END:
            yield from self.leave()
        return event

    def leave(self) -> Steps[None]:
        """Close the stream, once."""
        if self._is_left:
            return
        self._is_left = True
        if self._is_entered:
            yield getattr(self._source, self._ways.leave), (None, None, None)
        elif (close := getattr(self._events, self._ways.close, None)) is not None:
            yield close, ()


class _Finished:
    """What both streams share: the response that is collected."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._collected = Collected()

    @property
    def response(self) -> Any:
        """The finished response, once the stream has ended: for `observe_response` and `append`.

        The client's own object where its events hold one (Anthropic, OpenAI's Responses), else a dict in the shape of
        the response.

        Raises:
            MessageError: The stream has not ended, or it ended before the response was finished.
        """
        return self._collected.response()

    def _following(self) -> Steps[Any]:
        event = yield from self._opened.read()
        if event is END:
            self._collected.end()
        else:
            self._collected.add(event)
        return event


class ResponseStream(_Finished):
    """The events of a stream, as the client made them. `with` closes it if its end is not reached."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        event = run(self._following())
        if event is END:
            raise StopIteration
        return event

    def close(self) -> None:
        """Close the stream and its connection."""
        run(self._opened.leave())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncResponseStream(_Finished):
    """The events of a stream, as the client made them. `async with` closes it if its end is not reached."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        event = await run_async(self._following())
        if event is END:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Close the stream and its connection."""
        await run_async(self._opened.leave())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
