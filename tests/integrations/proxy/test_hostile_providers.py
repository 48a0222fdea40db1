"""Providers that answer nonsense, too much, or never: the client hears no word of it, and others are served."""

import gzip
import socket
import threading
import tracemalloc
from itertools import chain, repeat

import httpx
import pytest

from backscroll.integrations.proxy.answer import AnswerReader, error_text
from tests.integrations.proxy.conversations import body_of, turns
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.raw_provider import raw
from tests.integrations.proxy.recording import FIRST, message, recording, waits_for
from tests.present import present

WORDS = b"IGNORE-ALL-INSTRUCTIONS"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
WRONG = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
KB = b"x" * 1_024

MALFORMED = {
    "no-http": [WORDS + b"\r\n\r\n"],
    "nothing": [],
    "status-999": [b"HTTP/1.1 999 " + WORDS + b"\r\ncontent-length: 0\r\n\r\n"],
    "status-101": [b"HTTP/1.1 101 " + WORDS + b"\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
    "control-character": [HEAD + b"x-a: \x01" + WORDS + b"\r\ncontent-length: 2\r\n\r\n{}"],
    "two-lengths": [HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{} " + WORDS],
    "odd-length": [HEAD + b"content-length: " + WORDS + b"\r\n\r\n{}"],
    "odd-coding": [HEAD + b"transfer-encoding: " + WORDS + b"\r\n\r\n{}"],
    "endless-head": [HEAD, *repeat(b"x-a: " + KB + b"\r\n", 1_000)],
    "half-a-head": [HEAD],
}


@pytest.mark.parametrize("pieces", MALFORMED.values(), ids=MALFORMED)
def test_malformed_answer_is_a_502_without_its_words(proxy_of, stack, pieces):
    provider = stack.enter_context(raw(lambda: pieces))
    proxy = proxy_of(provider.url)
    for path in ("/v1/messages", "/v1/models"):
        answer = proxy.client.post(path, content=body_of(turns(1)))
        assert answer.status_code == 502
        assert "no valid HTTP" in answer.json()["error"]["message"]
        assert WORDS.decode() not in answer.text + str(answer.headers)
    assert proxy.outcomes(2) == ["refused"] * 2
    assert WORDS.decode() not in str(proxy.reports)


TORN = {
    "odd-chunk": [HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n"],
    "short-body": [HEAD + b"content-length: 9\r\n\r\n{}"],
    "short-stream": [STREAM.replace(b"connection: close", b"content-length: 9999"), FIRST],
}


@pytest.mark.parametrize("pieces", TORN.values(), ids=TORN)
def test_answer_that_is_torn_is_never_whole_at_the_client(proxy_of, stack, pieces):
    provider = stack.enter_context(raw(lambda: pieces))
    proxy = proxy_of(provider.url)
    try:
        answer = proxy.client.post("/v1/messages", content=body_of(turns(1)))
    except httpx.RemoteProtocolError:
        return
    assert answer.status_code == 502


def test_length_of_an_answer_in_chunks_does_not_count(proxy_of, stack):
    """The chunks do, by RFC 9112, 6.3: a client that believed the other would take a part for the whole."""
    body = message()
    pieces = [
        HEAD + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    ]
    answer = proxy_of(stack.enter_context(raw(lambda: pieces)).url).client.post(
        "/v1/messages", content=body_of(turns(1))
    )
    assert answer.content == body
    assert "content-length" not in answer.headers


@pytest.mark.parametrize("head", [WRONG, STREAM], ids=["error", "event"])
def test_answer_without_an_end_is_handed_on_as_it_comes(proxy_of, stack, head):
    """As much of it is held back as is read, and it ends when the client has enough."""
    provider = stack.enter_context(raw(lambda: chain([head], repeat(KB * 64))))
    proxy = proxy_of(provider.url, budget=4_000)
    size = 0
    with proxy.client.stream("POST", "/v1/messages", content=body_of(turns(9), stream=True)) as answer:
        for piece in answer.iter_raw():
            size += len(piece)
            if size > 3_000_000:
                break
    assert waits_for(lambda: provider.broken)
    assert waits_for(lambda: proxy.reports)


def test_head_of_a_stream_arrives_before_its_first_event(proxy_of, stack):
    """A model thinks for minutes, and its client shows that."""
    is_read = threading.Event()

    def pieces():
        yield STREAM
        is_read.wait(10)
        yield FIRST

    proxy = proxy_of(stack.enter_context(raw(pieces)).url)
    with proxy.client.stream("POST", "/v1/messages", content=body_of(turns(1), stream=True), timeout=5) as answer:
        assert answer.status_code == 200
        is_read.set()
        assert answer.read() == FIRST
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].input_tokens == 7


def test_head_of_an_answer_without_events_arrives_at_once(proxy_of, stack):
    is_read = threading.Event()

    def pieces():
        yield HEAD + b"connection: close\r\n\r\n"
        is_read.wait(10)
        yield message()

    proxy = proxy_of(stack.enter_context(raw(pieces)).url)
    with proxy.client.stream("POST", "/v1/messages", content=body_of(turns(1)), timeout=5) as answer:
        is_read.set()
        assert answer.read() == message()
    proxy.outcomes()
    assert proxy.reports[0].input_tokens == 9


@pytest.mark.long
def test_error_that_stalls_is_handed_on(proxy_of, stack):
    """After ten seconds."""
    is_read = threading.Event()

    def pieces():
        yield WRONG + b"{"
        is_read.wait(60)

    proxy = proxy_of(stack.enter_context(raw(pieces)).url)
    with proxy.client.stream("POST", "/v1/messages", content=body_of(turns(1)), timeout=30) as answer:
        assert answer.status_code == 400
        assert next(answer.iter_raw()) == b"{"
        is_read.set()


def test_long_event_is_searched_once():
    """A piece without an end of line copies nothing of what came before it."""
    reader = AnswerReader("text/event-stream", "")
    reader.feed(b'data: {"type":"message_delta","delta":{},"x":"' + b"y" * 8_000_000)
    reader.feed(b"y" * 64)  # the buffer has room for more now
    tracemalloc.start()
    try:
        reader.feed(b"y" * 64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    reader.feed(b'","usage":{"input_tokens":5}}\n\n')
    assert peak < 2_000_000
    assert present(reader.response())["usage"] == {"input_tokens": 5}


@pytest.mark.parametrize("is_stream", [False, True])
def test_answer_that_unpacks_to_very_much_is_not_read(is_stream):
    packed = gzip.compress(b"\n" * 100_000_000, 1) if is_stream else gzip.compress(bytes(100_000_000), 1)
    reader = AnswerReader("text/event-stream" if is_stream else "", "gzip")
    tracemalloc.start()
    try:
        for at in range(0, len(packed), 65_536):
            reader.feed(packed[at : at + 65_536])
        assert error_text(packed, "gzip")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80_000_000
    assert reader.response() is None


def test_events_of_a_wrong_shape_are_no_loss():
    """Usage is a text, a list or nothing in between two that count."""
    reader = AnswerReader("text/event-stream", "")
    for usage in ('{"input_tokens":5}', '"x"', "[1]", "null", "7", '{"output_tokens":2}'):
        reader.feed(b'data: {"type":"message_delta","delta":{},"usage":%s}\n\n' % usage.encode())
    assert present(reader.response())["usage"] == {"input_tokens": 5, "output_tokens": 2}


def test_others_are_served_while_providers_hang(stack):
    """Two hundred requests wait for an answer, and a client that asks another provider gets one."""
    ended = threading.Event()

    def never():
        ended.wait(60)
        yield b""

    hanging, good = stack.enter_context(raw(never)), stack.enter_context(recording())
    stack.callback(ended.set)
    proxy = stack.enter_context(proxied(hanging.url, openai=good.url))
    body = body_of(turns(1))
    head = f"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    clients = [stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port))) for _ in range(200)]
    for number, client in enumerate(clients):
        client.sendall(f"{head}x-claude-code-session-id: s{number}\r\n\r\n".encode() + body)
    assert waits_for(lambda: hanging.requests == 200)
    said = b'{"model":"m","messages":[{"role":"user","content":"hello"}]}'
    assert proxy.client.post("/v1/chat/completions", content=said).status_code == 200
    ended.set()
    assert {client.recv(12) for client in clients} == {b"HTTP/1.1 502"}
    assert sorted(proxy.outcomes(201)) == ["as it came", *["refused"] * 200]
