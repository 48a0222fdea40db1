"""A proxy on a port of its own, as its users run it."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from backscroll.integrations.proxy import ProxySettings, Report, Totals, http_protocol, make_app


class Running:
    """A proxy: its address, what it reported, and its totals."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=60, verify=False)  # no certificates are loaded
        self.reports: list[Report] = []
        self.totals = Totals()

    def outcomes(self, requests: int = 1) -> list[str]:
        """What was done with each request, in order. Waits for as many: a report follows its answer."""
        until = time.monotonic() + 5
        while len(self.reports) < requests and time.monotonic() < until:
            time.sleep(0.002)
        return [report.what for report in self.reports]


@contextmanager
def proxied(provider: str, *, plain: bool = False, **settings: Any) -> Iterator[Running]:
    """A proxy before a provider, as long as it lasts. `plain`: on an event loop and a parser of pure Python."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = Running(listening.getsockname()[1])
        app = make_app(
            ProxySettings(**{"anthropic": provider, "openai": provider, **settings}),
            log=running.reports.append,
            totals=running.totals,
        )
        parts = {"loop": "asyncio", "http": "h11"} if plain else {"http": http_protocol()}
        server = _Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="on", **parts))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        server.ready.wait(20)
        try:
            with running.client:
                yield running
        finally:
            server.end()
            thread.join(10)


class _Server(uvicorn.Server):
    """A server that ends when it is asked to, and not a tenth of a second later."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def main_loop(self) -> None:
        """Wait until the end."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self._ended.wait()

    def end(self) -> None:
        """End it, from another thread."""
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._ended.set)
