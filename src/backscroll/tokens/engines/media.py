"""Sizes of images and pages of documents, read from their bytes.

Both functions accept what a message holds: base64 text or a `data:` URL. Neither ever raises. None means that the size
is unknown, and the caller then assumes the largest.
"""

import binascii
import importlib
import io
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote_to_bytes

HEADER_CHARACTERS = 65_536
"""Base64 characters of an image that are decoded at most: 48 KB include the header unless a huge preview precedes it.
"""

MOST_UNPACKED = 32 * 1024 * 1024
"""Bytes of compressed object streams that are unpacked per document: bounds the cost of a hostile one."""

_LONGEST_PREFIX = 1_024  # characters before the comma of a `data:` URL
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_BLANKS = b" \t\r\n\f\v="

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGES = re.compile(rb"/Type\s*/Pages(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,9})(?!\d)")
_STREAM = re.compile(rb"stream\r?\n")
_DICTIONARY = 400  # bytes around /Pages that are searched for its /Count, and before a stream for its type
_MOST_TREES = 10_000  # /Pages examined; the largest documents have a few thousand


def image_size(data: str | None) -> tuple[int, int] | None:
    """Return width and height in pixels, each at least 1; None for a web address, a broken image or an unknown format.

    Only the first `HEADER_CHARACTERS` are decoded. A JPEG with a later header gets None.
    """
    try:
        raw = _decoded(data, HEADER_CHARACTERS)
        if not raw:
            return None
        imagesize: Any = importlib.import_module("imagesize")  # on first use: it imports much of the library
        width, height = imagesize.get(io.BytesIO(raw))
        return (int(width), int(height)) if width > 0 and height > 0 else None
    except Exception:  # the size only affects an estimate, and users may attach anything
        return None


def pdf_pages(data: str | None) -> int | None:
    """Return the pages of a PDF, at least 1; None if it is no PDF, cannot be decrypted, or names no pages.

    Counts the page objects, also in compressed object streams. Without any, returns the largest `/Count` of a `/Pages`
    object. Pages replaced by a later revision of the file count too. Linear time.
    """
    try:
        raw = _decoded(data, None)
        if raw is None or b"%PDF-" not in raw[:1_024]:
            return None
        parts = [raw, *_object_streams(raw)]
        pages = sum(len(_PAGE.findall(part)) for part in parts)
        return pages or max((count for part in parts for count in _page_counts(part)), default=None)
    except Exception:  # as above: no document may break a count
        return None


def _decoded(data: str | None, limit: int | None) -> bytes | None:
    """Decode base64 text or a `data:` URL, at most `limit` characters of it; None if it is neither."""
    if not isinstance(data, str):
        return None
    start = len(data[:64]) - len(data[:64].lstrip())
    if data[start : start + 5].lower() == "data:":
        comma = data.find(",", start, start + _LONGEST_PREFIX)
        if comma < 0:
            return None
        body = data[comma + 1 : limit and comma + 1 + limit]
        if ";base64" not in data[start:comma].lower():
            return unquote_to_bytes(body)
    elif "://" in data[start : start + 64]:
        return None
    else:
        body = data[start : limit and start + limit]
    clean = body.encode("ascii", "ignore").translate(_URL_SAFE, _BLANKS)
    whole = clean[: len(clean) // 4 * 4]
    tail = clean[len(whole) :]
    # One character left over carries no whole byte; two or three do, once they are padded.
    return binascii.a2b_base64(whole + (tail + b"==="[: 4 - len(tail)] if len(tail) > 1 else b""))


def _object_streams(raw: bytes) -> Iterator[bytes]:
    """Yield unpacked object streams, in which newer PDFs keep their page objects."""
    if b"/ObjStm" not in raw:
        return
    view, left, position = memoryview(raw), MOST_UNPACKED, 0
    while left > 0 and (start := _STREAM.search(raw, position)):
        end = raw.find(b"endstream", start.end())
        if end < 0:
            return
        # The dictionary comes right before its stream; that of an object stream is short.
        if b"/ObjStm" in raw[max(position, start.start() - _DICTIONARY) : start.start()]:
            try:
                unpacked = zlib.decompressobj().decompress(view[start.end() : end], left)
            except zlib.error:
                unpacked = b""  # encrypted, or packed in a way not used for object streams
            left -= len(unpacked)
            yield unpacked
        position = end + len(b"endstream")


def _page_counts(part: bytes) -> Iterator[int]:
    """Yield every plausible /Count near a /Pages; more pages than bytes are not plausible."""
    for pages in islice(_PAGES.finditer(part), _MOST_TREES):
        near = part[max(pages.start() - _DICTIONARY, 0) : pages.end() + _DICTIONARY]
        for count in _COUNT.findall(near):
            if 0 < int(count) <= len(part):
                yield int(count)
