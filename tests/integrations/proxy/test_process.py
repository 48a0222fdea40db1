"""The command `backscroll serve` as a process of its own: killed in the middle of a stream, and under load."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

from tests.integrations.proxy.conversations import ask, body_of, sent, turns
from tests.integrations.proxy.harness import Running
from tests.integrations.proxy.recording import counted, message, stream

BUDGET = 4_000


@contextmanager
def serving(provider, *options, **environment):
    """The process, and where it is."""
    command = [sys.executable, "-m", "backscroll.cli.main", "serve", "--port", "0", "--budget", str(BUDGET)]
    command += ["--anthropic-upstream", provider, "--openai-upstream", provider, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
    )
    with process:
        try:
            address = process.stdout.readline()
            port = re.search(r":(\d+)", address)
            assert port, address + process.stdout.read()
            running = Running(int(port[1]))
            with running.client:
                _wait_for(running.client)
                yield running, process
        finally:
            process.kill()


def _wait_for(client):
    """Wait until the process listens: it prints its address before."""
    for _ in range(2_000):
        try:
            client.get("/backscroll/status")
        except httpx.ConnectError:
            threading.Event().wait(0.005)
        else:
            return


def marked(history):
    """With a mark on the newest message, as Claude Code sends it."""
    *blocks, last = history[-1]["content"]
    return [*history[:-1], {**history[-1], "content": [*blocks, {**last, "cache_control": {"type": "ephemeral"}}]}]


def newest_marked(got):
    """The newest messages that bear a mark, by their calls."""
    blocks = [message["content"][-1] for message in sent(got)]
    return [block.get("tool_use_id") for block in blocks if "cache_control" in block][-2:]


def test_killed_proxy_marks_where_the_provider_has_its_cache(provider, tmp_path):
    """The first request of the next process has marks at its newest message and at that of the killed one's."""
    store, history = str(tmp_path / "a.db"), turns(30)
    for number in (57, 59, 61):
        with serving(provider.url, "--store", store) as (proxy, process):
            ask(proxy, marked(history[:number]))
            process.kill()
    assert [newest_marked(got) for got in provider.got[1:]] == [["t27", "t28"], ["t28", "t29"]]


def test_killed_proxy_goes_on_where_it_was(provider, tmp_path):
    """Killed while a stream is handed on: the next process sends the same view, and nothing is missing."""
    store, history, is_over = str(tmp_path / "a.db"), turns(30), threading.Event()
    with serving(provider.url, "--store", store) as (proxy, process):
        for number in range(41, 58, 2):
            ask(proxy, history[:number])
        provider.usual = lambda _: stream(b"event: ping\ndata: {}\n\n", lambda: is_over.wait(10))
        with proxy.client.stream("POST", "/v1/messages", content=body_of(history[:59]), headers=NAMED) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            process.send_signal(signal.SIGKILL)
            with pytest.raises(httpx.RemoteProtocolError):
                next(pieces)
    is_over.set()
    before = sent(provider.got[-1])
    provider.usual = counted
    with serving(provider.url, "--store", store) as (proxy, _):
        ask(proxy, history[:59])
        ask(proxy, history)
    assert sent(provider.got[-2]) == before
    assert sent(provider.got[-1])[: len(before)] == before
    assert len(before) < 59


NAMED = {"x-api-key": "k", "x-claude-code-session-id": "s1"}


def test_commands_read_the_store_while_the_proxy_runs(provider, tmp_path):
    """And what they show grows with the next request."""
    store = str(tmp_path / "a.db")
    shown = []
    with serving(provider.url, "--store", store) as (proxy, _):
        for number in (41, 61):
            ask(proxy, turns(30)[:number])
            done = subprocess.run(
                [sys.executable, "-m", "backscroll.cli.main", "export", store, "-"], capture_output=True, check=True
            )
            shown.append(done.stdout.decode())
    assert ["t19.txt" in text for text in shown] == [True, True]
    assert ["t29.txt" in text for text in shown] == [False, True]


def test_end_says_what_all_requests_came_to(provider, tmp_path):
    with serving(provider.url, "--store", str(tmp_path / "a.db"), COLUMNS="60") as (proxy, process):
        ask(proxy, turns(30))
        proxy.client.get("/v1/models")
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        assert process.wait(20) == 0
    lines = printed.splitlines()
    assert max(map(len, lines[lines.index("Press Ctrl+C to end.") :])) <= 60
    assert "compacted" in printed
    assert "GET /v1/models" in printed
    assert "2 requests: 1 compacted, 1 passed on" in printed


@pytest.mark.parametrize("streams", [100, pytest.param(1_000, marks=pytest.mark.long)])
def test_streams_at_once_are_all_whole(provider, streams):
    """All are open at the same time before any ends."""
    everyone = threading.Barrier(streams)
    end = b"event: message_delta\ndata: " + message(5) + b"\n\n"

    def usual(got):
        name = got.header("x-number").encode()
        return stream(b"event: begin " + name + b"\n\n", lambda: everyone.wait(120) >= 0, end)

    provider.usual = usual

    async def one(client, number):
        headers = {"x-claude-code-session-id": f"s{number}", "x-number": str(number)}
        async with client.stream("POST", "/v1/messages", content=body_of(turns(3)), headers=headers) as answer:
            return b"".join([piece async for piece in answer.aiter_raw()])

    async def every(url):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
            return await asyncio.gather(*(one(client, number) for number in range(streams)))

    with serving(provider.url) as (proxy, process):
        threading.Thread(target=process.stdout.read, daemon=True).start()  # else its pipe is full some time
        found = asyncio.run(every(proxy.url))
    assert found == [b"event: begin %d\n\n" % number + end for number in range(streams)]
