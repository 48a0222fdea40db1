"""Measure a read message with a tokenizer and with the headers of its media."""

from collections.abc import Sequence

from backscroll.messages import Media, ParsedMessage, Part
from backscroll.ports import Tokenizer
from backscroll.tokens.counts import Count, Counts, MediaCount
from backscroll.tokens.engines.media import image_size, pdf_pages

_NAMES_KEPT = 16_384
_SHORT = 512
_SIGNED_BYTES = 4  # bytes of a thought signature per token; its base64 read as a text would count four times that


class Measurer:
    """Count every text of an added message once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._short: dict[str, Count] = {}

    def measure(self, readings: Sequence[ParsedMessage]) -> tuple[Counts, ...]:
        """Return the counts of each message, one per part; a call's count includes its tool's name."""
        return tuple([tuple([self._part(part) for part in reading.parts]) for reading in readings])

    def _part(self, part: Part) -> Count | MediaCount:
        if part.media is not None:
            return _media(part.media)
        if part.form == "signature":
            return Count(len(part.text) * 3 // 4 // _SIGNED_BYTES, size=len(part.text))
        count = self._text(part.text)
        if part.name:
            return count._replace(tokens=count.tokens + self.count(part.name).tokens)
        return count

    def _text(self, text: str) -> Count:
        if not text:
            return EMPTY
        raw = text.encode("utf-8", "surrogatepass")
        digits = len(raw) - len(raw.translate(None, b"0123456789"))  # one pass; ten calls of str.count would be ten
        return Count(self.tokenizer.count(text), digits, len(raw) - len(text), len(text))

    def count(self, text: str) -> Count:
        """Count a text that Backscroll made, or a tool's name; short ones are cached."""
        if len(text) > _SHORT:
            return self._text(text)
        known = self._short.get(text)
        if known is None:
            if len(self._short) >= _NAMES_KEPT:
                self._short.clear()
            known = self._short[text] = self._text(text)
        return known


EMPTY = Count(0)


def _media(media: Media) -> MediaCount:
    size = len(media.data) * 3 // 4 if media.data else 0
    if media.kind == "image":
        width, height = image_size(media.data) or (0, 0)
        return MediaCount(kind="image", width=width, height=height, pages=0, size=size)
    pages = (pdf_pages(media.data) or 0) if media.kind == "document" else 0
    return MediaCount(kind=media.kind, width=0, height=0, pages=pages, size=size)
