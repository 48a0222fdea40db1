"""Split a line into sentences, of any language that ends them with a sign."""

import re

from backscroll.messages.prose.lines import BULLET
from backscroll.messages.prose.wording import ANNOUNCEMENT

QUESTION = re.compile(r"[?\uff1f][\"'\u201d\u2019)\]*_`]{0,4}\s*$")  # also the full-width question mark
_ABBREVIATIONS = ("Dr", "Mr", "Mrs", "Ms", "Prof", "St", "No", "vs", "e.g", "i.e", "etc")
_NO_END = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in _ABBREVIATIONS)
_END = re.compile(
    rf"(?<=[.!?])(?<!\b[A-Z]\.){_NO_END}[\"'\u201d\u2019)\]`*]{{0,4}} (?=[\"'`*(\[\u201c\u2018]{{0,3}}[^\W_a-z])|"
    r"(?<=[\u3002\uff01\uff1f])[\u201d\u2019\u300d\u300f\uff09\"]{0,2}(?![\u201d\u2019\u300d\u300f\uff09\"])"
)
"""An end of a sentence: a sign and a space before a capital, a digit or a letter of a script without capitals; or a
full-width sign, as Chinese and Japanese write it. Closing quotation marks and brackets belong to what they close.
"""
_ANNOUNCES = 150  # characters: a longer sentence that begins "Let me" gives its reason, too
_GIVES_REASON = re.compile(r"\b(?:because|since|so that)\b", re.IGNORECASE)


def sentences_in(line: str) -> list[str]:
    """Return the sentences of a tidied line, each with the space behind it: together they are the line. A bullet stays
    with the first sentence.
    """
    bullet = BULLET.match(line)
    begin = bullet.end() if bullet else 0
    ends = [found.end() for found in _END.finditer(line, begin)]
    pieces = [line[start:end] for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]
    return [piece for piece in pieces if piece]


def announces(sentence: str) -> bool:
    """Return whether a sentence says no more than what its author does next."""
    if len(sentence) >= _ANNOUNCES or not ANNOUNCEMENT.match(sentence):
        return False
    return _GIVES_REASON.search(sentence) is None
