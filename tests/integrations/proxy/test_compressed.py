"""Requests that a client compressed are managed like others."""

import gzip
import json
import zlib

import pytest
import zstandard

from backscroll.errors import MessageError
from backscroll.integrations.proxy.unpacking import UnpackedTooLargeError, unpacked
from tests.integrations.proxy.conversations import ODD, body_of, sent, turns
from tests.integrations.proxy.recording import Answer
from tests.long_run import usually

BUDGET = 4_000


def raw_deflate(data):
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


def zstd_stream(data):
    """As clients write it that do not say how long it is."""
    packing = zstandard.ZstdCompressor().compressobj()
    begin = packing.compress(data[:99]) + packing.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return begin + packing.compress(data[99:]) + packing.flush()


PACKINGS = [
    ("gzip", gzip.compress), ("x-gzip", gzip.compress), ("GZIP", gzip.compress), ("deflate", zlib.compress),
    ("deflate", raw_deflate), ("zstd", zstandard.compress), ("zstd", zstd_stream),
]  # fmt: skip  # one case each
EACH = pytest.mark.parametrize(("encoding", "pack"), PACKINGS)


@EACH
def test_compressed_request_that_fits_goes_on_as_it_came(provider, proxy_of, encoding, pack):
    packed = pack(ODD)
    proxy = proxy_of(provider.url)
    proxy.client.post("/v1/messages", content=packed, headers={"content-encoding": encoding})
    (got,) = provider.got
    assert (got.body, got.header("content-encoding")) == (packed, encoding)
    assert got.header("content-length") == str(len(packed))
    assert proxy.outcomes() == ["as it came"]
    assert proxy.reports[0].received_bytes == proxy.reports[0].sent_bytes == len(ODD)


@EACH
def test_view_of_a_compressed_request_goes_on_unpacked(provider, proxy_of, encoding, pack):
    proxy = proxy_of(provider.url, budget=BUDGET)
    headers = {"content-encoding": encoding}
    proxy.client.post("/v1/messages", content=pack(body_of(turns(30))), headers=headers)
    counted = proxy.client.post("/v1/messages/count_tokens", content=pack(body_of(turns(30))), headers=headers)
    assert counted.status_code == 200
    for got in provider.got:
        assert got.header("content-encoding") is None
        assert got.header("content-length") == str(len(got.body))
        assert 3 < len(sent(got)) < 61
    assert proxy.outcomes(2) == ["compacted", "counted"]
    assert proxy.reports[0].received_bytes == len(body_of(turns(30)))
    assert proxy.reports[0].sent_bytes == len(provider.got[0].body)


@pytest.mark.filterwarnings("ignore:the provider refused")
def test_refused_compressed_request_is_sent_again_unpacked(provider, proxy_of):
    """The first one fitted by what was known, and went on packed."""
    error = b'{"type":"error","error":{"message":"prompt is too long: 9000 tokens > 4000 maximum"}}'
    provider.answers.append(Answer(400, pieces=(error,)))
    proxy = proxy_of(provider.url, budget=100_000)
    answer = proxy.client.post(
        "/v1/messages", content=zstandard.compress(body_of(turns(30))), headers={"content-encoding": "zstd"}
    )
    assert answer.status_code == 200
    assert [got.header("content-encoding") for got in provider.got] == ["zstd", None]
    assert proxy.outcomes() == ["compacted"]


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("br", b"anything"), ("gzip, zstd", b"anything"), ("gzip", b"no gzip"), ("zstd", b"no zstd"),
        ("deflate", b"no"), ("zstd", zstandard.compress(ODD)[:-9]),
        ("gzip", gzip.compress(ODD, mtime=0)[:-9]), ("gzip", gzip.compress(ODD, mtime=0) + b"more"),
        ("zstd", zstandard.compress(ODD) + b"more"), ("gzip", b""), ("zstd", b""),
        ("gzip", gzip.compress(b"[1]", mtime=0)),
    ],
)  # fmt: skip  # one case each
def test_body_that_cannot_be_unpacked_goes_on_as_it_is(provider, proxy_of, encoding, packed):
    """The provider says what is wrong with it."""
    proxy = proxy_of(provider.url)
    proxy.client.post("/v1/messages", content=packed, headers={"content-encoding": encoding})
    (got,) = provider.got
    assert (got.body, got.header("content-encoding")) == (packed, encoding)
    assert proxy.outcomes() == ["left alone"]
    assert proxy.reports[0].why


@pytest.mark.parametrize("path", usually(["/v1/messages", "/v1/embeddings"], 1))
@pytest.mark.parametrize(("encoding", "pack"), [PACKINGS[0], PACKINGS[3], PACKINGS[5]])
def test_bomb_is_refused(provider, proxy_of, encoding, pack, path):
    """Where it would be read. On another path it goes on, unread."""
    proxy = proxy_of(provider.url)
    bomb = pack(b" " * 64_000_001)
    answer = proxy.client.post(path, content=bomb, headers={"content-encoding": encoding})
    if path == "/v1/embeddings":
        assert provider.got[0].body == bomb
        return
    assert answer.status_code == 413
    assert "64,000,000 bytes" in answer.json()["error"]["message"]
    assert provider.got == []
    assert proxy.outcomes() == ["refused"]


@EACH
def test_bound_is_of_the_unpacked_bytes(encoding, pack):
    assert unpacked(pack(b"x" * 1_000), encoding, 1_000) == b"x" * 1_000
    with pytest.raises(UnpackedTooLargeError):
        unpacked(pack(b"x" * 1_001), encoding, 1_000)


def test_zstd_that_looks_back_too_far_is_not_read():
    """It would take as much memory as its header asks for."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    with pytest.raises(MessageError):
        unpacked(zstd_of(parameters, json.dumps(turns(1)).encode()), "zstd", 1_000_000)


def zstd_of(parameters, data):
    packing = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packing.compress(data) + packing.flush()
