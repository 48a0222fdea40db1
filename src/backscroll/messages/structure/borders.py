"""Where a text can be cut so that both halves read well."""

_WITHIN = 4  # a page gives up a quarter of what fits at most
_BORDERS = ("\n", "}, ", "},", ", ", ",", " ")
"""What a cut follows, best first: lines, then objects, values and words of JSON in one line."""


def border(text: str, start: int, end: int) -> int:
    """Return the best place for a cut of `text[start:end]` in its last quarter; the end if none is good."""
    least = end - (end - start) // _WITHIN
    for sign in _BORDERS:
        if (at := text.rfind(sign, least, end)) >= 0:
            return at + len(sign)
    return end
