"""What `backscroll serve` costs until the first byte of an answer. Prints a table. Needs Linux.

    python benchmarks/proxy.py [--sizes 50000,200000,600000] [--steps 60] [--repeat 3] [--write]

A client sends its whole conversation with each request, as agents do, and the provider is a server on loopback that
answers at once with a stream. The proxy is a process of its own with a store. "Before the first byte" is the CPU of all
its threads from the moment that the client begins to send until it has the first byte of the answer; the direct way has
none of that. The conversation is that of `step_floor.py`, and each step adds a call and its result.

"as it came" is a conversation below the threshold, "compacted" one with a budget of half its length, "passed on" the
same bytes to a path that is not managed. Figures are medians over the steps of the median of the processes, with the
smallest and the largest process.
"""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from page import put_rows
from sessions import fresh, source

WARM = 5
"""Requests that are not measured, after the first."""
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
)
KINDS = ("passed on", "as it came", "compacted")


@contextmanager
def provider() -> Iterator[str]:
    """A server that answers each request with the same stream."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _accept(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as reading:
        while reading.readline():
            length = 0
            while (line := reading.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            reading.read(length)
            body = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in EVENTS) + b"0\r\n\r\n"
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            connection.sendall(head + body)


@contextmanager
def proxy(address: str, budget: int, folder: str) -> Iterator[tuple[httpx.Client, int]]:
    """`backscroll serve`, and its process id."""
    command = [sys.executable, "-m", "backscroll.cli.main", "serve", "--port", "0", "--budget", str(budget)]
    command += ["--store", f"{folder}/{budget}.db", "--openai-upstream", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)", process.stdout.readline())
        assert found is not None
        threading.Thread(target=process.stdout.read, daemon=True).start()
        transport = httpx.HTTPTransport(retries=100)
        with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", timeout=60, transport=transport) as client:
            yield client, process.pid
        process.kill()


def cpu(pid: int) -> int:
    """Nanoseconds of CPU that the threads of a process have had."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text("ascii").split()[0]) for each in threads)


def conversation(messages: Sequence[dict[str, Any]], size: int, steps: int) -> list[list[dict[str, Any]]]:
    """The messages of each request: the first has so many characters, and each later one a call and a result more."""
    found: list[dict[str, Any]] = []
    requests: list[list[dict[str, Any]]] = []
    written = 0
    for message in fresh(messages):
        found.append(message)
        written += len(json.dumps(message))
        if written >= size and message["role"] != "assistant" and not _waits(found):
            requests.append(list(found))
        if len(requests) == steps:
            return requests
    raise AssertionError("the conversation never ends")


def _waits(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether a call at the end has no result yet."""
    newest: dict[str, Any] = next((each for each in reversed(messages) if each["role"] == "assistant"), {})
    calls = newest.get("tool_calls") or ()
    answered = {each.get("tool_call_id") for each in islice(reversed(messages), len(calls))}
    return any(call["id"] not in answered for call in calls)


def measured(client: httpx.Client, pid: int, path: str, requests: Sequence[list[dict[str, Any]]]) -> list[float]:
    """Milliseconds of CPU before the first byte of each answer."""
    found = []
    for messages in requests:
        body = json.dumps({"model": "gpt-5", "stream": True, "user": "bench", "messages": messages}).encode()
        before = cpu(pid)
        with client.stream("POST", path, content=body) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            found.append((cpu(pid) - before) / 1e6)
            for _ in pieces:
                pass
    return found[1 + WARM :]


def run(size: int, steps: int, messages: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """The figures of one process for each kind of request."""
    requests = conversation(messages, size, steps + 1 + WARM)
    budgets = {"passed on": 10_000_000, "as it came": 10_000_000, "compacted": max(4_000, size // 8)}
    found = {}
    with provider() as address, tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = "/v1/embeddings" if kind == "passed on" else "/v1/chat/completions"
            with proxy(address, budgets[kind], f"{folder}") as (client, pid):
                found[kind] = measured(client, pid, path, requests)
                outcomes = client.get("/backscroll/status").json()["outcomes"]
            assert outcomes.get(kind, 0) >= steps, outcomes
            for file in Path(folder).iterdir():
                os.unlink(file)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="50000,200000,600000", help="bytes of the body")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    asked = parser.parse_args()
    messages = source(None)
    rows = [
        "| bytes of a request | " + " | ".join(f"{kind} | 95 % of them" for kind in KINDS) + " |",
        "| --- |" + " --- |" * 6,
    ]
    for size in map(int, asked.sizes.split(",")):
        runs = [run(size, asked.steps, messages) for _ in range(asked.repeat)]
        cells = [cell for kind in KINDS for cell in _cells([each[kind] for each in runs])]
        rows.append(f"| {size:,} | " + " | ".join(cells) + " |")
    print("\n".join(rows))
    if asked.write:
        put_rows("proxy", "\n".join(rows))


def _cells(runs: Sequence[Sequence[float]]) -> Iterator[str]:
    medians = sorted(statistics.median(each) for each in runs)
    most = statistics.median(statistics.quantiles(each, n=20)[-1] for each in runs)
    yield f"{statistics.median(medians):.1f} ms ({medians[0]:.1f} to {medians[-1]:.1f})"
    yield f"{most:.1f} ms"


if __name__ == "__main__":
    main()
