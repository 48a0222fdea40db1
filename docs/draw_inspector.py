"""Draws the pictures of the inspector's page: starts it over sessions that are made here, and photographs the page.

    python docs/draw_inspector.py            writes the pictures into docs/pictures
    python docs/draw_inspector.py --check    writes nothing; exit code 1 if a picture is missing, or cannot be made

Needs Chromium and the extra `inspect`. A picture is not compared with the one that is there: fonts differ by machine.
"""

import argparse
import shutil
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from inspector_page import CHROMIUM, FLAGS, build  # noqa: E402  lies in the folder named above

from backscroll import BackscrollWarning  # noqa: E402  as above
from backscroll.cli.inspect.data import StoreInspector  # noqa: E402  as above
from backscroll.cli.inspect.server import application, new_token  # noqa: E402  as above
from backscroll.stores.memory import MemoryStore  # noqa: E402  as above

PICTURES = ROOT / "docs" / "pictures"
MOST = 400_000  # bytes of all pictures together
WIDE, PHONE = {"width": 1280, "height": 540}, {"width": 390, "height": 720}


def sessions() -> StoreInspector:
    """A store of some agents; one of them had a request refused."""
    store = MemoryStore()
    for number, (name, requests) in enumerate({"nightly batch": 180, "retry limit": 46, "queue tests": 320}.items()):
        context = build(store, name, requests, seed=number + 3)
        if number == 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BackscrollWarning)
                context.observe_overflow(lane="claude-opus-5-5")
                context.close()
        context.close()
    build(store, "local model", 25, lane="main", seed=9).close()
    return StoreInspector(store, "agents.db")


@contextmanager
def served(inspected: StoreInspector) -> Iterator[str]:
    """The address of the page."""
    token, listening = new_token(), socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(application(inspected, token, port), log_level="error", lifespan="off", ws="none")
    )
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/{token}/"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def photograph(address: str, folder: Path) -> None:
    """Write the pictures into a folder."""
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-lcd-text"])

        def tab(place: str, ready: str, **options: Any) -> Any:
            made = chromium.new_context(timezone_id="UTC", **options).new_page()
            made.goto(address + place)
            made.wait_for_selector(ready)
            made.wait_for_selector("#status:text-is('Complete')")
            return made

        first = tab("#sessions", "#sessions tbody tr", viewport={**WIDE, "height": 310})
        first.screenshot(path=folder / "inspector-sessions.png")
        page = tab("#session=nightly+batch&request=150", "#lines > li", viewport=WIDE)
        page.evaluate("() => scrollTo(0, 0)")
        page.screenshot(path=folder / "inspector-session.png")
        page.keyboard.press("k")
        page.wait_for_selector("#request-title:text-matches('^Request 149 ')")
        page.evaluate("() => document.querySelector('#pair').scrollIntoView()")
        page.focus("#states .term[data-word=digest]")
        page.screenshot(path=folder / "inspector-request.png")
        phone = tab("#session=nightly+batch", "#lines > li", viewport=PHONE, color_scheme="dark")
        phone.screenshot(path=folder / "inspector-phone.png")
        chromium.close()


def main() -> int:
    """Write the pictures, or check that they can be made."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--check", action="store_true", help="write nothing")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name, served(sessions()) as address:
        folder = Path(name)
        photograph(address, folder)
        made = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        if sum(made.values()) > MOST:
            print(f"the pictures take {sum(made.values()):,} bytes together, more than {MOST:,}: {made}")
            return 1
        if given.check:
            there = {path.name for path in PICTURES.glob("inspector-*.png")}
            missing = sorted(made.keys() - there)
            if missing:
                print(f"{', '.join(missing)}: missing in {PICTURES}; run: python docs/draw_inspector.py")
            return int(bool(missing))
        PICTURES.mkdir(exist_ok=True)
        for picture in made:
            shutil.copy(folder / picture, PICTURES / picture)
        print(f"{len(made)} pictures, {sum(made.values()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
