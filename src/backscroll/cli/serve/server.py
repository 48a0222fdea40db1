"""The HTTP server of `backscroll serve`: says when it listens, and ends connections whose request never comes."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

FOR_HEAD = 60.0
"""Seconds in which the head of a request must come. Less would end clients on slow lines; more would hold the
connections of clients that never finish."""
_ENDING = ("SIGTERM", "SIGHUP")
"""Signals that end the server as Ctrl+C does. Windows has no SIGHUP, which comes when a terminal is closed."""


class Server(uvicorn.Server):
    """Serves an application on a socket until it has to end.

    Args:
        config: Of uvicorn.
        listens: Called when connections are accepted.
        for_head: Seconds in which the head of a request must come.
    """

    def __init__(self, config: uvicorn.Config, listens: Callable[[], object], *, for_head: float = FOR_HEAD) -> None:
        super().__init__(config)
        self._listens = listens
        config.load()
        config.http_protocol_class = _bounded(config.http_protocol_class, for_head)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        if self.started:
            self._listens()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End the server by each of these signals; uvicorn's own handlers leave out SIGHUP."""
        with super().capture_signals(), _handled_by(self.handle_exit):
            yield


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let these signals end what runs in the block as Ctrl+C does, so that what follows it still happens."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled_by(interrupt):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals in the block, but those that are ignored: `nohup` ignores SIGHUP."""
    if threading.current_thread() is not threading.main_thread():  # as uvicorn does: no other thread may
        yield
        return
    found = [signal.Signals[name] for name in _ENDING if hasattr(signal, name)]
    before = {each: signal.signal(each, handler) for each in found if signal.getsignal(each) != signal.SIG_IGN}
    try:
        yield
    finally:
        for each, earlier in before.items():
            signal.signal(each, earlier)


def _bounded(base: Any, for_head: float) -> Any:
    """Return a protocol of uvicorn that closes a connection whose head of a request does not come in time.

    uvicorn bounds the time between two requests and none within the head of one.
    """

    class Bounded(base):  # type: ignore[misc]  # uvicorn has one for each parser
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Begin to wait for a head that is not there, and end the wait for one that is."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget()
            elif self._timer is None:
                self._timer = self.loop.call_later(for_head, self._close)

        def _forget(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _close(self) -> None:
            self._timer = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Bounded
