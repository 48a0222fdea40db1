"""Answers are handed on as they come, and end as they end there."""

import json
import socket
import threading
from functools import partial
from typing import Any

import httpx
import pytest

from backscroll import events
from tests.integrations.proxy.conversations import body_of, turns
from tests.integrations.proxy.recording import FIRST, Answer, message, stream, waits_for
from tests.long_run import usually

LAST = b'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":5}}\n\n'


@pytest.fixture(params=usually([False, True], 1))
def proxy_of(proxy_of, request):
    return partial(proxy_of, plain=request.param)


def opened(proxy, **more):
    return proxy.client.stream("POST", "/v1/messages", content=body_of(turns(1), stream=True, **more))


def test_first_bytes_arrive_before_the_provider_goes_on(provider, proxy_of):
    """The provider waits until the client has read what came so far."""
    is_read = threading.Event()
    provider.usual = lambda _: stream(FIRST, lambda: is_read.wait(10), LAST)
    proxy = proxy_of(provider.url)
    with opened(proxy) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == FIRST
        is_read.set()
        assert b"".join(pieces) == LAST
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].input_tokens == 7


def test_headers_of_a_passed_request_arrive_before_its_body(provider, proxy_of):
    is_read = threading.Event()
    provider.usual = lambda _: stream(lambda: is_read.wait(10), b"data: x\n\n")
    with proxy_of(provider.url).client.stream("GET", "/v1/responses/r1") as answer:
        assert answer.status_code == 200
        is_read.set()
        assert answer.read() == b"data: x\n\n"


def test_client_that_leaves_ends_the_request_to_the_provider(provider, proxy_of):
    """The provider must not go on writing, and billing, for nothing."""
    ended = threading.Event()

    def without_end():
        yield FIRST
        while True:
            yield lambda: not ended.wait(0.005)
            yield b": more\n\n"

    provider.usual = lambda _: stream()._replace(pieces=Pieces(without_end()))
    with opened(proxy_of(provider.url)) as answer:
        next(answer.iter_raw())
    assert waits_for(lambda: provider.broken)
    ended.set()


def test_client_that_leaves_before_the_headers_ends_it_too(provider, proxy_of):
    ended = threading.Event()
    provider.usual = lambda _: (
        Answer(pieces=Pieces(iter([lambda: ended.wait(10)])), has_length=False) if ended.wait(1) else None
    )
    proxy = proxy_of(provider.url)
    with pytest.raises(httpx.ReadTimeout):
        proxy.client.post("/v1/messages", content=body_of(turns(1)), timeout=0.2)
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].status == 0
    ended.set()


class Pieces(tuple[Any, ...]):
    """Pieces that are made when they are sent."""

    made: Any

    def __new__(cls, made):
        found = super().__new__(cls)
        found.made = made
        return found

    def __iter__(self):
        return self.made


def test_stream_that_breaks_off_is_no_finished_answer(provider, proxy_of):
    """The client sees a broken connection, as it would without the proxy."""
    provider.usual = lambda _: Answer(
        200,
        (("content-type", "text/event-stream"), ("content-length", "9999")),
        (FIRST, lambda: False),
        has_length=False,
    )
    proxy = proxy_of(provider.url)
    with pytest.raises(httpx.RemoteProtocolError), opened(proxy) as answer:
        answer.read()
    proxy.outcomes()
    assert "broke off" in proxy.reports[0].why


def test_provider_that_cannot_be_reached_is_an_error(proxy_of):
    proxy = proxy_of("http://127.0.0.1:9")
    answer = proxy.client.post("/v1/messages", content=body_of(turns(1)))
    assert answer.status_code == 502
    assert "cannot be reached" in answer.json()["error"]["message"]
    assert proxy.outcomes() == ["refused"]


@pytest.mark.parametrize("status", [200, 400])
def test_answer_that_breaks_off_at_once_is_an_error(provider, proxy_of, status):
    """Nothing reached the client yet, so it can send the request again."""
    headers = (("content-type", "text/event-stream"), ("content-length", "9999"))
    provider.usual = lambda _: Answer(status, headers, (lambda: False,), has_length=False)
    proxy = proxy_of(provider.url)
    assert proxy.client.post("/v1/messages", content=body_of(turns(1))).status_code == 502
    assert proxy.outcomes() == ["refused"]


@pytest.mark.parametrize("target", ["/v1/models/x#y", "/v1/models/" + "x" * 65_530])
def test_address_that_cannot_be_used_is_an_error_of_the_client(provider, proxy_of, target):
    """The fast parser accepts the first: it drops what follows a `#`. 431: the head came at once, and was read."""
    proxy = proxy_of(provider.url, plain=True)
    with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2]))) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        assert client.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 431")
    assert provider.got == []


def test_odd_events_are_handed_on(provider, proxy_of):
    odd: list[dict[str, Any]] = [
        {"type": "message_delta", "delta": "x"},
        {"type": "error", "error": "x"},
        {"response": []},
    ]
    pieces = [b"data: " + json.dumps({"usage": {}, **each}).encode() + b"\n\n" for each in odd]
    provider.usual = lambda _: stream(*pieces)
    proxy = proxy_of(provider.url)
    assert proxy.client.post("/v1/messages", content=body_of(turns(1))).content == b"".join(pieces)
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].why == ""


@pytest.mark.parametrize(
    ("path", "events", "tokens"),
    [
        (
            "/v1/messages",
            [
                {"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 90}}},
                {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 8}},
            ],
            (93, 90),
        ),
        (
            "/v1/chat/completions",
            [
                {"choices": [{"delta": {"content": '"usage"'}}], "usage": None},
                {"choices": [], "usage": {"prompt_tokens": 70, "prompt_tokens_details": {"cached_tokens": 60}}},
                "[DONE]",
            ],
            (70, 60),
        ),
        (
            "/v1/responses",
            [
                {"type": "response.created", "response": {"usage": None}},
                {
                    "type": "response.completed",
                    "response": {"usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 40}}},
                },
            ],
            (50, 40),
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_usage_is_read_from_streams_in_any_pieces(provider, proxy_of, path, events, tokens, size):
    text = b"".join(
        b"data: " + (each if isinstance(each, str) else json.dumps(each)).encode() + b"\n\n" for each in events
    )
    provider.usual = lambda _: stream(*(text[at : at + size] for at in range(0, len(text), size)))
    proxy = proxy_of(provider.url)
    said = [{"role": "user", "content": "hello"}]
    proxy.client.post(path, content=json.dumps({"model": "m", "messages": said, "input": said, "stream": True}))
    proxy.outcomes()
    assert (proxy.reports[0].input_tokens, proxy.reports[0].cached_tokens) == tokens


def test_reasoning_that_the_provider_left_out_is_an_event(provider, proxy_of):
    """The stream says so, and the manager hears of it."""
    heard = []
    left = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}]
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 7}, "input_transformations": left}}
    provider.usual = lambda _: stream(b"data: " + json.dumps(begun).encode() + b"\n\n", LAST)
    proxy = proxy_of(provider.url, options={"on_event": lambda name, payload: heard.append((name, payload))})
    for number in (1, 2):  # an event comes with the next request
        proxy.client.post("/v1/messages", content=body_of(turns(number), stream=True))
        proxy.outcomes(number)
    assert [payload["reasons"] for name, payload in heard if name == events.REASONING_DROPPED] == [
        {"model_binding_mismatch": 1}
    ]


def test_totals_are_shown_while_the_proxy_runs(provider, proxy_of):
    proxy = proxy_of(provider.url)
    proxy.client.post("/v1/messages", content=body_of(turns(1)))
    proxy.client.get("/v1/models")
    proxy.outcomes(2)
    found = proxy.client.get("/backscroll/status").json()
    assert found["requests"] == 2
    assert found["outcomes"] == {"as it came": 1, "passed on": 1}
    assert found["tokens"]["input"] > 0
    assert found["bytes"]["received"] == found["bytes"]["sent"] == len(body_of(turns(1)))


def test_message_without_an_end_is_no_usage(provider, proxy_of):
    provider.usual = lambda _: Answer(pieces=(message()[:-5],))
    proxy = proxy_of(provider.url)
    proxy.client.post("/v1/messages", content=body_of(turns(1)))
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].input_tokens == 0
