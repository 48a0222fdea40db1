"""Sizes of images and pages of documents. Only their tests may live here; every file is made by hand, byte by byte."""

import base64
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.tokens.engines.media import image_size, pdf_pages
from tests.profiles import examples


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def jpeg(width: int, height: int, preview: int = 0) -> bytes:
    """A JPEG's markers up to the start of its scan, with `preview` bytes of application data in front."""
    body = b"\xff\xd8"
    while preview > 0:
        size = min(preview, 60_000)
        body += b"\xff\xe2" + struct.pack(">H", size + 2) + b"\x00" * size
        preview -= size
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"\x01\x11\x00\x02\x11\x01\x03\x11\x01"
    return body + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xda\x00\x02" + b"\x00" * 16


def webp(width: int, height: int) -> bytes:
    extended = b"VP8X" + struct.pack("<I", 10) + b"\x00" * 4
    extended += (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(extended) + 4) + b"WEBP" + extended


@pytest.mark.parametrize("make", [png, gif, jpeg, webp])
def test_image_sizes(make: Callable[[int, int], bytes]) -> None:
    raw = make(640, 480)
    assert image_size(b64(raw)) == (640, 480)
    assert image_size(f"data:image/any;base64,{b64(raw)}") == (640, 480)
    assert image_size("  " + b64(raw).rstrip("=")) == (640, 480)
    assert image_size(base64.urlsafe_b64encode(raw).decode()) == (640, 480)
    assert image_size(base64.encodebytes(raw).decode()) == (640, 480)


def test_only_the_head_of_an_image_is_decoded() -> None:
    assert image_size(b64(png(640, 480) + b"\x00" * 300_000) + "!!! not base64 !!!") == (640, 480)
    assert image_size(b64(jpeg(640, 480, preview=20_000))) == (640, 480)
    assert image_size(b64(jpeg(640, 480, preview=200_000))) is None


@pytest.mark.parametrize(
    "data",
    [
        *[None, "", " ", "x", "äöü", "\ud800" * 9, "https://example.org/a.png", "file:///a.png"],
        *["data:image/png", "data:image/png;base64,", "data:" + "x" * 5_000],
        *[b64(b"no image at all"), b64(png(0, 5)), b64(png(640, 480)[:17])],
    ],
)
def test_no_size_without_an_image(data: str | None) -> None:
    assert image_size(data) is None
    assert pdf_pages(data) is None


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.sampled_from([png, gif, jpeg, webp]), st.integers(2, 40))
def test_broken_images_do_no_harm(tail: bytes, make: Callable[[int, int], bytes], keep: int) -> None:
    size = image_size(b64(make(640, 480)[:keep] + tail))
    assert size is None or min(size) >= 1


def pdf(*objects: bytes) -> str:
    numbered = (b"%d 0 obj\n%b\nendobj\n" % (number, body) for number, body in enumerate(objects, 1))
    return b64(b"%PDF-1.7\n" + b"".join(numbered) + b"trailer << /Root 1 0 R >>\n%%EOF")


def stream(dictionary: bytes, raw: bytes) -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (dictionary, len(raw), raw)


PAGES = b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>"
PAGE = b"<< /Type /Page /Parent 1 0 R >>"


def test_pages_of_a_pdf() -> None:
    assert pdf_pages(pdf(PAGES, PAGE, b"<</Type/Page/Parent 1 0 R>>")) == 2
    assert pdf_pages("data:application/pdf;base64," + pdf(PAGES, PAGE)) == 1


def test_pages_in_a_compressed_object_stream() -> None:
    packed = stream(b"/Type /ObjStm /N 3 /First 20 /Filter /FlateDecode", zlib.compress(PAGES + PAGE * 3))
    assert pdf_pages(pdf(stream(b"/Filter /FlateDecode", zlib.compress(b"BT ET")), packed)) == 3


def test_pages_that_are_only_counted() -> None:
    assert pdf_pages(pdf(PAGES, b"<< /Count 12 /Kids [] /Type /Pages >>")) == 12
    assert pdf_pages(pdf(b"<< /Type /Pages /Count 999999999 >>")) is None
    assert pdf_pages(pdf(stream(b"/Type /ObjStm", b"not packed at all"))) is None
    assert pdf_pages(b64(b"<html>/Type /Page</html>")) is None


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from([PAGES, PAGE, b"stream\n", b"endstream", b"/ObjStm", b"/Count ", b"7", b"\xff"])))
def test_broken_documents_do_no_harm(parts: list[bytes]) -> None:
    pages = pdf_pages(b64(b"%PDF-1.4\n" + b"".join(parts)))
    assert pages is None or pages >= 1


def test_a_packed_bomb_is_not_unpacked_whole() -> None:
    bomb = stream(b"/Type /ObjStm /Filter /FlateDecode", zlib.compress(b" " * 60_000_000))
    assert pdf_pages(pdf(*[bomb] * 5, PAGE)) == 1
