"""A proxy on a port of its own, as its users run it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from backscroll.integrations.proxy import ProxySettings, Report, Totals, make_app


class Running:
    """A proxy: its address, what it reported, and its totals."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)
        self.reports: list[Report] = []
        self.totals = Totals()

    def outcomes(self, requests: int = 1) -> list[str]:
        """What was done with each request, in order. Waits for as many: a report follows its answer."""
        until = time.monotonic() + 5
        while len(self.reports) < requests and time.monotonic() < until:
            time.sleep(0.002)
        return [report.what for report in self.reports]


@contextmanager
def proxied(provider: str, **settings: object) -> Iterator[Running]:
    """A proxy before a provider, as long as it lasts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = Running(listening.getsockname()[1])
        app = make_app(
            ProxySettings(anthropic=provider, openai=provider, **settings),
            log=running.reports.append,
            totals=running.totals,
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            with running.client:
                yield running
        finally:
            server.should_exit = True
            thread.join(10)
