"""What one request holds of media, and whether its provider accepts as much."""

from collections.abc import Container
from typing import NamedTuple

from backscroll.tokens.counts import Counts, MediaCount
from backscroll.tokens.known_models import MediaLimits

_TEXT_BYTES = 4
"""Bytes of the body of a request per token of text, at most, apart from rare scripts."""


class RequestMedia(NamedTuple):
    """Sums over the images and documents of a view, so that a step costs the same however many there are."""

    images: int = 0
    bytes: int = 0
    """Bytes as sent, which is base64."""
    large: int = 0
    """Images that are too large once a request has many of them."""
    refused: int = 0
    """Images that no request may hold, by their bytes or pixels."""

    def plus(self, more: "RequestMedia") -> "RequestMedia":
        """Add another sum."""
        return RequestMedia(*(one + other for one, other in zip(self, more, strict=True)))

    def minus(self, less: "RequestMedia") -> "RequestMedia":
        """Subtract another sum."""
        return RequestMedia(*(one - other for one, other in zip(self, less, strict=True)))


NO_MEDIA = RequestMedia()


def media_of(counts: Counts, limits: MediaLimits, cleared: Container[int] = ()) -> RequestMedia:
    """Sum up the media of one message, except the parts that are cleared. Without media: `NO_MEDIA` itself."""
    found = NO_MEDIA
    for number, count in enumerate(counts):
        if type(count) is MediaCount and number not in cleared:
            found = found.plus(_measured(count, limits))
    return found


def _measured(count: MediaCount, limits: MediaLimits) -> RequestMedia:
    sent, edge = -(-count.size * 4 // 3), max(count.width, count.height)
    if count.kind != "image":
        return RequestMedia(bytes=sent)
    refused = _over(edge, limits.image_edge) or _over(sent, limits.image_bytes)
    return RequestMedia(1, sent, int(_over(edge, limits.crowded_edge) and not refused), int(refused))


def exceeds(media: RequestMedia, limits: MediaLimits, tokens: int) -> bool:
    """Return whether the provider would refuse a request with these media and so many tokens."""
    crowded = bool(media.large) and _over(media.images, limits.crowded)
    too_many = _over(media.images, limits.images) or crowded or bool(media.refused)
    return too_many or (media.bytes > 0 and _over(media.bytes + _TEXT_BYTES * tokens, limits.request_bytes))


def room_for_bytes(limits: MediaLimits, tokens: int) -> int | None:
    """Return the bytes that a request of so many tokens leaves for media. None: no limit."""
    return None if limits.request_bytes is None else max(0, limits.request_bytes - _TEXT_BYTES * tokens)


def _over(value: int, limit: int | None) -> bool:
    return limit is not None and value > limit
