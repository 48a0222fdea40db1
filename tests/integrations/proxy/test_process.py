"""The command `backscroll serve` as a process of its own: killed in the middle of a stream, and under load."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from backscroll.cli.serve.advice import advise
from backscroll.cli.serve.server import Server
from backscroll.events import (
    COMPACTION,
    COMPACTION_WON_LITTLE,
    OVERHEAD_LARGE,
    USAGE_CORRECTED,
    USAGE_REJECTED,
    WINDOW_ASSUMED,
    sentence,
)
from backscroll.notices import warn
from tests.integrations.proxy.conversations import ask, body_of, sent, turns
from tests.integrations.proxy.harness import Running
from tests.integrations.proxy.raw import chunked, raw_status
from tests.integrations.proxy.raw_provider import raw
from tests.integrations.proxy.recording import Answer, counted, message, recording, stream, waits_for
from tests.long_run import usually
from tests.present import present

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
            address = present(process.stdout).readline()
            port = re.search(r":(\d+)", address)
            assert port, address + present(process.stdout).read()
            running = Running(int(port[1]))
            with running.client:
                yield running, process
        finally:
            process.kill()


def test_address_is_printed_when_it_is_listened_at(provider):
    """A script that reads the line may begin at once."""
    with serving(provider.url) as (proxy, _):
        assert proxy.client.get("/backscroll/status").status_code == 200


def marked(history):
    """With a mark on the newest message, as Claude Code sends it."""
    *blocks, last = history[-1]["content"]
    return [*history[:-1], {**history[-1], "content": [*blocks, {**last, "cache_control": {"type": "ephemeral"}}]}]


def newest_marked(got):
    """The newest messages that bear a mark, by their calls."""
    blocks = [message["content"][-1] for message in sent(got)]
    return [block.get("tool_use_id") for block in blocks if "cache_control" in block][-2:]


@pytest.mark.long
def test_killed_proxy_marks_where_the_provider_has_its_cache(provider, tmp_path):
    """The first request of the next process has marks at its newest message and at that of the killed one's."""
    store, history = str(tmp_path / "a.db"), turns(30)
    for number in (57, 59):
        with serving(provider.url, "--store", store) as (proxy, process):
            ask(proxy, marked(history[:number]))
            process.kill()
    assert [newest_marked(got) for got in provider.got[1:]] == [["t27", "t28"]]


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


@pytest.mark.long
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


@contextmanager
def hangup(handler):
    """Processes that start meanwhile have this handler of a closed terminal, whatever the tests were run under."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_hangup_that_is_ignored_ends_nothing(provider):
    """As under `nohup`."""
    with hangup(signal.SIG_IGN), serving(provider.url) as (proxy, process):
        process.send_signal(signal.SIGHUP)
        assert ask(proxy, turns(1)).status_code == 200
        assert process.poll() is None


@pytest.mark.parametrize("ended_by", usually([signal.SIGINT, signal.SIGHUP, signal.SIGTERM], 2))
def test_end_says_what_all_requests_came_to(provider, tmp_path, ended_by):
    """And closes the store, whose log of pages is gone then."""
    store = str(tmp_path / "a.db")
    with hangup(signal.SIG_DFL), serving(provider.url, "--store", store, COLUMNS="60") as (proxy, process):
        ask(proxy, turns(30))
        proxy.client.get("/v1/models")
        for _ in range(4):
            body, headers = body_of(turns(3), compaction={"type": "summarize"}), {"user-agent": "agent/1.0 (linux)"}
            proxy.client.post("/v1/messages", content=body, headers=headers)
        process.send_signal(ended_by)
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
    assert not list(tmp_path.glob("*-wal"))


@pytest.mark.long
def test_warning_of_tools_names_what_a_user_of_serve_can_do(provider):
    """Tools that take half of the budget."""
    with serving(provider.url, COLUMNS="200") as (proxy, process):
        for number in (3, 5):
            provider.answers.append(Answer(pieces=(message(2_900 + number),)))
            ask(proxy, turns(1) + turns(1, "more")[1:] * (number // 4))
        process.send_signal(signal.SIGTERM)
        printed = " ".join(process.stdout.read().split())
    assert "switch off tools or MCP servers of the agent that it does not need, or raise --budget" in printed
    assert "overhead_tokens" not in printed
    assert "observe_response" not in printed


def test_advice_has_the_words_of_its_events():
    """Each sentence can be filled, and each general warning is silent."""
    said = []
    with warnings.catch_warnings(record=True) as warned:
        heard = advise(said.append)
        payload = dict.fromkeys(("tokens", "budget", "window", "taken"), 7) | {"lane": "gpt-5", "model": "gpt-5"}
        payload |= {"made_of": "tools", "reason": "it grows", "reported": 9, "remedy": "x"}
        for name in (OVERHEAD_LARGE, COMPACTION_WON_LITTLE, WINDOW_ASSUMED, USAGE_REJECTED, USAGE_CORRECTED) * 2:
            warn(sentence(name, payload))
            heard(name, payload)
        heard(COMPACTION, payload)
    assert len(said) == 5
    assert warned == []


@pytest.mark.parametrize("head", [b"", b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-a: "])
@pytest.mark.parametrize("http", ["httptools", "h11"])
def test_connection_whose_request_never_comes_is_closed(http, head):
    """The first of a connection, and one after another."""
    ready, served = threading.Event(), []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await asyncio.sleep(0.6)  # an answer may take longer than a head
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http=http, log_level="critical", lifespan="off", timeout_keep_alive=75)
        server = Server(config, ready.set, for_head=0.3)
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        serving.start()
        assert ready.wait(20)
        for earlier in (0, 1):
            with socket.create_connection(listening.getsockname(), timeout=20) as client:
                if earlier:
                    client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    while not served or not served[-1].endswith(b"ok"):
                        served.append(client.recv(4_096))
                if head or not earlier:  # a connection without a byte after an answer is kept alive
                    client.sendall(head)
                    assert client.recv(1) == b""
        server.should_exit = True
        serving.join(20)


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


@pytest.mark.parametrize("streams", usually([30, 100, 1_000], 1))
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


@pytest.mark.long
def test_memory_stays_as_it_is_over_5000_requests_while_200_hang(provider, tmp_path):
    """Of 500 conversations, more than stay open, in a store."""
    ended = threading.Event()

    def never():
        ended.wait(600)
        yield b""

    store = str(tmp_path / "a.db")
    with ExitStack() as stack:
        hanging = stack.enter_context(raw(never))
        stack.callback(ended.set)
        options = ("--store", store, "--anthropic-upstream", hanging.url)
        proxy, process = stack.enter_context(serving(provider.url, *options))
        threading.Thread(target=process.stdout.read, daemon=True).start()  # else its pipe is full some time
        body = body_of(turns(1))
        head = f"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port))) for _ in range(200)]
        for client in clients:
            client.sendall(head + body)
        assert waits_for(lambda: hanging.requests == 200)
        resident = []
        for number in range(5_000):
            said = [{"role": "user", "content": "hello " * 200}]
            sent = json.dumps({"model": "gpt-5", "user": f"u{number % 500}", "messages": said}).encode()
            assert proxy.client.post("/v1/chat/completions", content=sent).status_code == 200
            provider.got.clear()
            if number % 500 == 499:
                resident.append(int(Path(f"/proc/{process.pid}/statm").read_text("ascii").split()[1]) * 4 // 1_024)
        assert max(resident[3:]) - min(resident[3:]) < 20, resident  # MB, once all tables are full
