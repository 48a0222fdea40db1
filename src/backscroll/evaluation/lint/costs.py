"""What pieces of a request cost: tokens, and what these cost at the prices of a prompt cache."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from backscroll.evaluation.compare.pricing import Tariff
from backscroll.evaluation.transcript import Message
from backscroll.messages import Part, read_message
from backscroll.messages.parts import compact
from backscroll.tokens.engines.media import image_size, pdf_pages

_FRAMING = 4  # tokens of a message: role, separators
_PATCH = 28  # pixels of a patch, which is a token; source: Anthropic's page on vision
_MOST = 1_568  # tokens of an image that the page states for most models
_PAGE = 1_500  # tokens of a page of a PDF, the lower figure of Anthropic's page on PDF support


class Costs:
    """Counts tokens, each text once, and prices them."""

    def __init__(self, count: Callable[[str], int], tariff: Tariff) -> None:
        self._count = count
        self._known: dict[str, int] = {}
        self.read: float = tariff.input.read
        self.write: float = tariff.input.write
        self.life: float = tariff.input.ttl_seconds

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        if not text:
            return 0
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text]

    def part(self, part: Part) -> int:
        """Return the tokens of a part of a message."""
        if part.media is not None:
            return _media(part)
        return self.text(part.text) + self.text(part.name or "")

    def message(self, message: Message) -> int:
        """Return the tokens of a message."""
        return _FRAMING + sum(map(self.part, read_message(message).parts))

    def messages(self, messages: Iterable[Message]) -> int:
        """Return the tokens of messages."""
        return sum(map(self.message, messages))

    def value(self, value: Any) -> int:
        """Return the tokens of a definition or a block of the system prompt: those of a text, else of its JSON."""
        if isinstance(value, Mapping) and isinstance(value.get("text"), str):
            return self.text(value["text"])
        return self.text(value if isinstance(value, str) else compact(value))

    def kept(self, tokens: int, sends: int) -> float:
        """Return what tokens cost that so many requests in a row hold: written once, read afterwards."""
        return tokens * (self.write + self.read * (sends - 1)) if sends > 0 else 0.0

    def again(self, tokens: int) -> float:
        """Return what it costs to write tokens that a request could have read from the cache."""
        return tokens * max(0.0, self.write - self.read)


def _media(part: Part) -> int:
    media = part.media
    if media is None or media.kind not in ("image", "document"):
        return 0
    if media.kind == "document":
        return _PAGE * (pdf_pages(media.data) or 1)
    width, height = image_size(media.data) or (0, 0)
    return min(_MOST, math.ceil(width / _PATCH) * math.ceil(height / _PATCH)) if width else _MOST
