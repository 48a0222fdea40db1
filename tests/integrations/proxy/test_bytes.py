"""What reaches the provider, and the client, byte for byte."""

import gzip
import json

import pytest

from tests.integrations.proxy.conversations import ODD
from tests.integrations.proxy.recording import Answer, message, stream

PATHS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")
COUNTING = "/v1/messages/count_tokens"


def test_request_below_the_threshold_arrives_as_it_was_sent(provider, proxy_of):
    """Spaces, order, escapes, numbers, unknown fields, query string and all headers but those of the connection."""
    proxy = proxy_of(provider.url)
    headers = {"x-api-key": "k", "anthropic-beta": "a-1,b-2", "x-odd": "caf\xe9".encode("latin-1"), "cookie": "c=1"}
    answer = proxy.client.post("/v1/messages?beta=true&x=%20", content=ODD, headers=headers)
    (got,) = provider.got
    assert answer.content == message(len(ODD) // 4)
    assert got.body == ODD
    assert got.path == "/v1/messages?beta=true&x=%20"
    assert [got.header(name) for name in ("x-api-key", "anthropic-beta", "cookie")] == ["k", "a-1,b-2", "c=1"]
    assert got.header("x-odd").encode("latin-1") == b"caf\xe9"
    assert got.header("host") == provider.url.partition("//")[2]
    assert got.header("content-length") == str(len(ODD))
    assert proxy.outcomes() == ["as it came"]


@pytest.mark.parametrize("path", [*PATHS, COUNTING])
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1]", b"\xff\xfe", b'{"messages":"hi","input":"hi"}', b'{"messages":[1],"input":[1]}',
        b'{"messages":[],"messages":[]}',
        b'{"input":[{"role":"user","content":NaN}],"messages":[{"role":"user","content":NaN}]}',
        b'{"model":"m","messages":[{"content":"no role"}],"input":[{"content":"no role"}]}',
        b'{"messages":[{"role":"user","content":"\\ud800"}],"input":[{"role":"user","content":"\\ud800"}]}',
        b"[" * 100_000,
    ],
    ids=["empty", "torn", "list", "no-utf8", "text", "numbers", "twice", "nan", "no-role", "half-a-pair", "deep"],
)  # fmt: skip  # one case each
@pytest.mark.filterwarnings("ignore")
def test_request_that_cannot_be_read_goes_on_as_it_is(provider, proxy_of, path, body):
    """The provider says what is wrong with it."""
    provider.usual = lambda _: Answer(400, pieces=(b'{"error":1}',))
    answer = proxy_of(provider.url).client.post(path, content=body)
    assert (answer.status_code, answer.content) == (400, b'{"error":1}')
    assert [got.body for got in provider.got] == [body]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"), ("POST", "/v1/files"), ("DELETE", "/v1/x/y?z=1"), ("HEAD", "/"), ("PATCH", "/a%2Fb"),
        ("POST", "/v1/responses/compact"), ("GET", "/v1/responses/resp_1"), ("POST", "/v1/messages/batches"),
        ("POST", "/v1/embeddings"), ("PUT", "/v1/messages"),
    ],
)  # fmt: skip  # one case each
def test_other_requests_pass(provider, proxy_of, method, path):
    body = b"\x00\x01binary" if method in ("POST", "PUT", "PATCH") else b""
    provider.usual = lambda _: Answer(203, (("x-from", "there"), ("content-type", "text/x")), (b"\xffpiece",))
    answer = proxy_of(provider.url, allow_paths=["/*"]).client.request(method, path, content=body)
    (got,) = provider.got
    assert (got.method, got.path, got.body) == (method, path, body)
    assert (answer.status_code, answer.headers["x-from"]) == (203, "there")
    assert answer.content == (b"" if method == "HEAD" else b"\xffpiece")


@pytest.mark.parametrize("status", [401, 404, 413, 429, 500, 529])
def test_error_of_the_provider_is_handed_on_unchanged(provider, proxy_of, status):
    error = b'{"type":"error",  "error":{"type":"some_error","message":"something else"}}'
    provider.usual = lambda _: Answer(status, (("retry-after", "7"), ("content-type", "application/json")), (error,))
    answer = proxy_of(provider.url).client.post("/v1/messages", content=ODD)
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (status, error, "7")
    assert len(provider.got) == 1


def test_compressed_answer_is_handed_on_and_read(provider, proxy_of):
    """The client gets the provider's own bytes; usage is read from a copy."""
    packed = gzip.compress(message())
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    provider.usual = lambda _: Answer(200, headers, (packed,))
    proxy = proxy_of(provider.url)
    with proxy.client.stream("POST", "/v1/messages", content=ODD, headers={"accept-encoding": "gzip, br"}) as answer:
        assert b"".join(answer.iter_raw()) == packed
    assert provider.got[0].header("accept-encoding") == "gzip"
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].input_tokens == 9


def test_answers_may_only_be_encoded_as_the_proxy_reads(provider, proxy_of):
    proxy = proxy_of(provider.url)
    for accepted in ("br, zstd", "identity", "deflate;q=0.5, gzip"):
        proxy.client.post("/v1/messages", content=ODD, headers={"accept-encoding": accepted})
    assert [got.header("accept-encoding") for got in provider.got] == ["identity", "identity", "gzip, deflate"]


@pytest.mark.long
def test_body_that_is_too_large_to_read_goes_on(provider, proxy_of):
    """It goes on while it arrives."""
    body = b'{"messages":[{"role":"user","content":"' + b"x" * 70_000_000 + b'"}]}'
    proxy = proxy_of(provider.url)
    assert proxy.client.post("/v1/messages", content=body).status_code == 200
    assert provider.got[0].body == body
    assert proxy.outcomes() == ["passed on"]


def test_headers_for_the_proxy_are_not_handed_on(provider, proxy_of):
    headers = {"x-backscroll-session": "mine", "connection": "x-hop, keep-alive", "x-hop": "1", "te": "trailers"}
    proxy_of(provider.url).client.post("/v1/messages", content=ODD, headers=headers)
    assert [provider.got[0].header(name) for name in ("x-backscroll-session", "x-hop", "te")] == [None] * 3


@pytest.mark.parametrize("path", PATHS)
def test_stream_is_handed_on_byte_for_byte(provider, proxy_of, path):
    pieces = (
        b'event: x\r\ndata: {"type":',
        b'"ping"}\r\n\r\n: comment\n\n',
        b"data: no json\n\n",
        b"\xff\xfe tail without end",
    )
    provider.usual = lambda _: stream(*pieces)
    proxy = proxy_of(provider.url)
    body = json.dumps({"model": "m", "stream": True, "messages": SAID, "input": SAID})
    with proxy.client.stream("POST", path, content=body) as answer:
        assert b"".join(answer.iter_raw()) == b"".join(pieces)
    assert answer.headers["content-type"] == "text/event-stream"


SAID = [{"role": "user", "content": "hello"}]
