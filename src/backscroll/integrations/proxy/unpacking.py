"""Bodies that a client compressed: they are unpacked up to a bound."""

import zlib
from collections.abc import Callable, Mapping
from functools import partial

from backscroll.errors import MessageError

_ZSTD_WINDOW = 1 << 26
"""Bytes that zstd may look back: as many as the largest body that is read. More would only take memory."""
_PIECE = 1_000_000
"""Bytes of zstd that are unpacked at a time."""


class UnpackedTooLargeError(Exception):
    """A compressed body is too large when it is unpacked."""


def unpacked(data: bytes, encoding: str, most: int) -> bytes:
    """Return a body as it was before it was compressed.

    Args:
        data: The body.
        encoding: Its `content-encoding`: one of gzip, deflate and zstd. Empty or `identity`: it is not compressed.
        most: Bytes that it may have.

    Raises:
        MessageError: Its encoding is another one, or it is not what that says.
        UnpackedTooLargeError: It has more bytes.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return data
    unpack = _READERS.get(encoding)
    if unpack is None:
        raise MessageError(f"the body has the content-encoding {encoding!r:.40}; those read are gzip, deflate and zstd")
    try:
        return unpack(data, most)
    except zlib.error as error:
        raise MessageError(f"the body is no {encoding}") from error


def _inflated(bits: int, data: bytes, most: int) -> bytes:
    inflate = zlib.decompressobj(bits)
    found = inflate.decompress(data, most + 1)
    if len(found) > most:
        raise UnpackedTooLargeError
    if not inflate.eof or inflate.unused_data:
        raise MessageError("the compressed body ends too early or too late")
    return found


def _deflated(data: bytes, most: int) -> bytes:
    """Unpack deflate, which some clients send without the header that RFC 9110 asks for."""
    try:
        return _inflated(zlib.MAX_WBITS, data, most)
    except zlib.error:
        return _inflated(-zlib.MAX_WBITS, data, most)


def _zstd(data: bytes, most: int) -> bytes:
    try:
        import zstandard  # noqa: PLC0415  Python has none before 3.14
    except ImportError as error:
        raise MessageError("the body is compressed by zstd, which takes: pip install 'backscroll[serve]'") from error
    pieces, size = [], 0
    try:
        with zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(
            data, read_across_frames=True
        ) as reader:
            while piece := reader.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise UnpackedTooLargeError
    except zstandard.ZstdError as error:
        raise MessageError("the body is no zstd") from error
    return b"".join(pieces)


_GZIP = partial(_inflated, zlib.MAX_WBITS | 16)
_READERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": _GZIP, "x-gzip": _GZIP, "deflate": _deflated, "zstd": _zstd,
}  # fmt: skip  # one thought
