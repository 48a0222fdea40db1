"""`image-limits`: images that a provider refuses.

Sources: Anthropic's page on vision (10 MB as sent, 8,000 pixels, 2,000 where a request holds more than 20 images, 600
images), Amazon's and Google's pages on Claude (5 MB), and OpenAI's page on images (1,500).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.talk import Talk
from backscroll.evaluation.transcript import Message
from backscroll.messages import ParsedMessage
from backscroll.tokens.engines.media import image_size
from backscroll.tokens.known_models import MEDIA, MediaLimits, media_limits


class _Image(NamedTuple):
    where: str
    data: str
    """Base64 text or `data:` URL; empty for a reference."""
    edge: int
    """Pixels of the longer edge; 0 = unknown."""


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    found: dict[str, tuple[Place, int]] = {}
    rows: list[tuple[int | None, MediaLimits | None, list[_Image]]] = []
    if talk.requests:
        rows = [
            (each.number, _limits(each), _images(each.messages, talk.readings(each), each.list_name))
            for each in talk.requests
        ]
    elif any(_is_anthropic(message) for message in talk.messages):
        rows = [(None, MEDIA["anthropic"], _images(talk.messages, talk.own_readings, "messages"))]
    for number, limits, images in rows:
        for where, what in _faults(limits, images, alone=number is not None) if limits else ():
            place, count = found.get(what, (Place(where, number), 0))
            found[what] = (place, count + 1)
    for what, (place, count) in found.items():
        yield Found(place, what, count=count, severity="error" if talk.requests else "warning")


def _limits(request: Request) -> MediaLimits | None:
    return media_limits(request.model) or MEDIA.get(request.vendor or "")


def _is_anthropic(message: Message) -> bool:
    """Return whether a message holds an image in the shape that only Anthropic's API has."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    nested = [inner for block in blocks if isinstance(block, dict) for inner in _inner(block)]
    return any(
        isinstance(each, dict) and each.get("type") == "image" and "source" in each for each in [*blocks, *nested]
    )


def _inner(block: Message) -> list[object]:
    content = block.get("content")
    return content if block.get("type") == "tool_result" and isinstance(content, list) else []


def _images(messages: Sequence[Message], readings: Sequence[ParsedMessage], list_name: str) -> list[_Image]:
    found = []
    for at in range(len(messages)):
        for part in readings[at].parts:
            if part.media is not None and part.media.kind == "image":
                width, height = image_size(part.media.data) or (0, 0)
                found.append(_Image(f"{list_name}[{at}]", part.media.data or "", max(width, height)))
    return found


def _faults(limits: MediaLimits, images: Sequence[_Image], *, alone: bool) -> Iterator[tuple[str, str]]:
    """Yield places and faults. `alone`: all images are of one request."""
    crowded = alone and limits.crowded is not None and len(images) > limits.crowded
    edge = limits.crowded_edge if crowded else limits.image_edge
    if alone and limits.images is not None and len(images) > limits.images:
        yield images[limits.images].where, f"{len(images):,} images in one request, and {limits.images:,} are accepted"
    for image in images:
        size = len(image.data.partition(",")[2] if image.data.startswith("data:") else image.data)
        if limits.image_bytes is not None and size > limits.image_bytes:
            yield (
                image.where,
                f"an image of {size / 1e6:.1f} MB as sent; {limits.image_bytes / 1e6:.0f} MB are accepted",
            )
        if edge is not None and image.edge > edge:
            among = f" where a request holds more than {limits.crowded} images" if crowded else ""
            yield image.where, f"an image of {image.edge:,} pixels; {edge:,} are accepted{among}"


RULES = (Rule("image-limits", "error", "Scale images down before they are first sent.", _check),)
