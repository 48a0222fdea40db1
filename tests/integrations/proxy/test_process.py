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
from tests.integrations.proxy.raw import chunked, raw_status
from tests.integrations.proxy.recording import counted, message, recording, stream

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
        for _ in range(4):
            body, headers = body_of(turns(3), compaction={"type": "summarize"}), {"user-agent": "agent/1.0 (linux)"}
            proxy.client.post("/v1/messages", content=body, headers=headers)
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        assert process.wait(20) == 0
    lines = printed.splitlines()
    assert max(map(len, lines[lines.index("Press Ctrl+C to end.") :])) <= 60
    assert "compacted" in printed
    assert "GET /v1/models" in printed
    assert "6 requests: 1 compacted, 4 left alone, 1 passed on" in printed
    words = " ".join(printed.split())
    assert words.count("has a budget of 4,000 tokens: as you set it") == 1
    assert words.count("no request of agent/1.0 is managed: the provider shortens the conversation") == 1
    assert "not managed: agent/1.0, 4 requests" in lines


def test_command_keeps_two_providers_apart_and_reads_no_trailers(provider, tmp_path):
    """It serves with the parser that the other tests use, and takes the paths that the user allows."""
    with (
        recording() as other,
        serving(provider.url, "--openai-upstream", other.url, "--allow-path", "/x/*") as (proxy, _),
    ):
        late = chunked(body_of(turns(1)), "x-late: 1", "host: 127.0.0.1")
        parts = ("POST /v1/messages", "transfer-encoding: chunked")
        assert raw_status(proxy.url, *parts, "Host: HOST", body=late) == 200
        assert raw_status(proxy.url, *parts, "Host: evil.example", body=late) == 403
        assert proxy.client.get("/x/y", headers={"authorization": "Bearer t"}).status_code == 200
        assert proxy.client.get("/v1/responses", headers={"x-api-key": "k"}).status_code == 400
        assert proxy.client.get("/other").status_code == 404
    assert [(got.path, got.header("x-late")) for got in provider.got] == [("/v1/messages", None)]
    assert [got.path for got in other.got] == ["/x/y"]


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
