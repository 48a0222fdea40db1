"""A page of the inspector in a browser, and the server that it asks. Nothing is asserted here."""

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import sync_playwright

from backscroll.cli.inspect.server import application, new_token
from tests.present import present

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CHROMIUM_MARKS = (
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here"),
    pytest.mark.long,  # each starts a browser
)
DONE = "#status:text-is('Complete')"


def needs_chromium(test: Any) -> Any:
    """Leave a test to the long run, where a browser is installed."""
    for mark in CHROMIUM_MARKS:
        test = mark(test)
    return test


def _axe() -> Path | None:
    """The file axe.min.js: as the environment names it, or of an installed package that ships it; else `None`."""
    named, package = os.environ.get("BACKSCROLL_TEST_AXE"), find_spec("axe_playwright_python")
    if named:
        return Path(named)
    places = [] if package is None else list(Path(str(package.origin)).parent.rglob("axe.min.js"))
    return places[0] if places else None


AXE = _axe()


def violations(page: Any) -> Any:
    """What axe-core finds wrong with a page."""
    page.evaluate(present(AXE).read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


@contextlib.contextmanager
def served(inspected: Any) -> Iterator[str]:
    """The address of a page over these sessions."""
    token, listening = new_token(), socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        application(inspected, token, port), log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=1
    )  # an open page keeps its connection
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/{token}/"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Browser:
    """Opens pages, and notes what went wrong in them and what they asked for elsewhere."""

    def __init__(self) -> None:
        self.faults, self.asked = [], []

    def __enter__(self) -> "Browser":
        self._driver = sync_playwright().start()
        self._chromium = self._driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        return self

    def __exit__(self, *_: Any) -> None:
        self._chromium.close()
        self._driver.stop()

    def open(self, address: str, ready: str = DONE, **options: Any) -> Any:
        page = self._chromium.new_context(**options).new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(address)
        page.wait_for_selector(ready, timeout=60_000)
        return page
