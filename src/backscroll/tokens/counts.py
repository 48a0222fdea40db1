"""Raw counts of the parts of a message, as the session's tokenizer gave them: stored with it, and never changed."""

from typing import NamedTuple


class Count(NamedTuple):
    """The counts of one text."""

    tokens: int
    digits: int = 0
    """ASCII digits: some vocabularies spend a token on each."""
    wide: int = 0
    """UTF-8 bytes beyond one per character: a measure of scripts other than Latin."""
    size: int = 0
    """Characters."""


class MediaCount(NamedTuple):
    """The measures of one image, document, audio or video."""

    kind: str
    width: int = 0
    height: int = 0
    """Pixels; 0 = unknown."""
    pages: int = 0
    """Pages of a PDF; 0 = unknown."""
    size: int = 0
    """Bytes; 0 = unknown."""


Counts = tuple[Count | MediaCount, ...]
"""One for each part of a message, in the order of the parts."""
