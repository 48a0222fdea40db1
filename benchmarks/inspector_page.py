"""What the inspector's page costs at so many requests: CPU until its first paint, and the size of an export.

    python benchmarks/inspector_page.py                                   # 10,000 requests, an export of 2,000
    python benchmarks/inspector_page.py --requests 1000 --export 0        # no export

The store is made first, of an agent that reads files. The command is started over it as a user starts it. Its CPU is
what the operating system counts for its process; that of the page is what Chromium counts as tasks of the page's main
thread. The first paint is there when the list, the request, the summary and the charts are. Then the page learns of
what kind the tokens of each request are, which is measured until it is complete.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from backscroll import ContextManager
from backscroll.cli.inspect.data import StoreInspector
from backscroll.cli.inspect.export import page
from backscroll.ports import Store
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from backscroll.stores.transfer import copy_session

LANE = "claude-opus-5-5"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_SENTENCES = (
    "the config reads each retry limit from settings and raises a timeout where the upstream queue is full so that "
    "workers drain before deploy while tests assert that no record was written twice and logs name every failed batch"
)
_FILES = ("queue.py", "retry.py", "settings.py", "worker.py", "deploy.yaml", "batch_test.py", "README.md")
_TASKS = ("Why does the nightly batch fail?", "Raise the retry limit to 5.", "Which tests cover the queue?")
_BEGINS = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def tokens_of(text: str) -> int:
    """Count a text: four characters are a token."""
    return -(-len(text) // 4)


class Agent:
    """An agent that reads files, one request after each result."""

    def __init__(self, store: Store, session: str, budget: int, *, lane: str = LANE, seed: int = 7) -> None:
        self._chance, self._lane, self._at = random.Random(seed), lane, _BEGINS + timedelta(days=seed)
        self.context = ContextManager(
            store=store, session=session, budget=budget, tokenizer=tokens_of, overhead_tokens=900,
            target_usage=0.3,  # most of the time to make a session goes into compactions: few are needed
        )  # fmt: skip
        self._before: list[Any] = []
        self._sizes: list[int] = []
        self._lines = [" ".join(self._chance.choices(_SENTENCES.split(), k=9)) for _ in range(400)]
        self._number = 0
        self._add({"role": "system", "content": "You mend a service. Be brief, and never touch deploy.yaml."})
        self._add({"role": "user", "content": _TASKS[seed % len(_TASKS)]})

    def _add(self, *messages: dict[str, Any]) -> None:
        self._at += timedelta(seconds=self._chance.randint(2, 40))
        noted = {"log": {"time": self._at.isoformat(timespec="seconds")}}
        self.context.append(*({**message, "metadata": noted} for message in messages))

    def step(self) -> None:
        """Read a file, make a request and report what its provider counted."""
        name, call = _FILES[self._number % len(_FILES)], f"call_{self._number}"
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/{name}", "from": self._number})}
        calls = [{"id": call, "type": "function", "function": function}]
        self._add({"role": "assistant", "content": f"I look at {name}.", "tool_calls": calls})
        text = "\n".join(self._chance.sample(self._lines, self._chance.randint(3, 24)))
        self._add({"role": "tool", "tool_call_id": call, "content": text})
        self._number += 1
        if self._number % 25 == 0:
            self._add(
                {"role": "assistant", "content": f"Found it in {name}."},
                {"role": "user", "content": f"Good. {_TASKS[self._number % len(_TASKS)]}"},
            )
        self._request()

    def _request(self) -> None:
        view = self.context.get_messages_for_request(lane=self._lane)
        pairs = enumerate(zip(view, self._before, strict=False))
        same = next((at for at, (now, then) in pairs if now != then), len(self._before))
        sizes = self._sizes[:same] + [tokens_of(str(message)) for message in view[same:]]
        cached = 900 + sum(sizes[:same]) if self._before else 0
        self._before, self._sizes = view, sizes
        self.context.observe_usage(
            input_tokens=0, cache_read_tokens=cached, cache_write_tokens=900 + sum(sizes) - cached,
            output_tokens=self._chance.randint(30, 90), lane=self._lane,
        )  # fmt: skip  # what the provider counted, and what the agent's answer took


def build(store: Store, session: str, requests: int, budget: int = 16_000, **options: Any) -> ContextManager:
    """Store a session with so many requests; the caller closes what is returned."""
    agent = Agent(store, session, budget, **options)
    for _ in range(requests):
        agent.step()
    return agent.context


def stored(path: Path, requests: int) -> None:
    """Write an SQLite store of one session; it is made in memory, and then copied."""
    memory, disk = MemoryStore(), SqliteStore(path)
    build(memory, "agent", requests).close()
    copy_session(memory, "agent", disk)
    disk.close()


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process took so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Ends:
    """Ends a process, also after an error."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.close = process.terminate


def measured(path: Path) -> Iterator[tuple[str, float, float]]:
    """Yield moments of the page, with the CPU of its main thread and of the server until then."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "backscroll.cli.main", "inspect", str(path), "--no-browser", "--json"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        contextlib.closing(_Ends(server)),
        sync_playwright() as driver,
    ):
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        time.sleep(1)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        metrics = tab.context.new_cdp_session(tab)
        metrics.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU, not what the clock says meanwhile

        def taken() -> float:
            return float(next(each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]
                        if each["name"] == "TaskDuration"))  # fmt: skip

        held: list[Any] = []

        def hold(route: Any) -> None:  # the walk comes behind the first paint: it waits until that is taken
            held.append(route)

        tab.route("**/data/steps*", hold)
        page_before, server_before = taken(), cpu_of(server.pid)
        tab.goto(address, wait_until="commit")
        tab.wait_for_selector("#lines > li >> nth=0", timeout=60_000, state="attached")
        yield "first paint", taken() - page_before, cpu_of(server.pid) - server_before
        for each in held:
            each.continue_()
        tab.unroute("**/data/steps*")
        tab.wait_for_selector("#status:text-is('Complete')", timeout=300_000)
        yield "complete", taken() - page_before, cpu_of(server.pid) - server_before
        before, many = taken(), 20
        for _ in range(many):
            title = tab.inner_text("#request-title")
            tab.keyboard.press("k")
            tab.wait_for_function("(title) => byId('request-title').textContent !== title", arg=title)
        yield "a step by k", (taken() - before) / many, 0
        browser.close()


def main() -> None:
    """Measure, and print."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--requests", type=int, default=10_000, help="requests of the session (default: 10,000)")
    asked.add_argument("--export", type=int, default=2_000, help="requests of the export; 0: none (default: 2,000)")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, begins = Path(folder) / "agent.db", time.process_time()
        stored(path, given.requests)
        print(f"made a store of {given.requests:,} requests, {path.stat().st_size / 1e6:.1f} MB, "
              f"in {time.process_time() - begins:.1f} s of CPU")  # fmt: skip
        for moment, ours, server in measured(path):
            print(f"{moment}: {ours:.2f} s of the page's main thread, {server:.2f} s of the server")
    if given.export:
        memory, begins = MemoryStore(), time.process_time()
        build(memory, "agent", given.export).close()
        made, begins = time.process_time() - begins, time.process_time()
        text = page(StoreInspector(memory, "agent.db"), ["agent"], lambda _: None)
        print(f"an export of {given.export:,} requests: {len(text) / 1e6:.2f} MB, "
              f"in {time.process_time() - begins:.1f} s of CPU (its session: {made:.1f} s)")  # fmt: skip


if __name__ == "__main__":
    main()
