"""How much of one text is read if its gist is enough: its beginning, its end and an even sample between.

Texts that are promised word for word (pinned, recalled, or returned as history) never go through here.
"""

READ = 262_144
"""Maximum characters that are read of one text, at most four bytes each.

A longer text takes about a third of a window of 200,000 tokens by itself. Reading this much costs a compaction at most
a third of a second, however long the text is.
"""
_ENDS = 4  # a quarter of that is the beginning and a quarter the end, which show what a text is and how it ended
_SAMPLES = 64  # ranges between, of 2,048 characters each, so that most lines are read whole
_BORDER = 240  # characters within which a range is moved to the border of a line, or at least of a word


def sampled(text: str, most: int = READ) -> str:
    """Return a text as far as it is read: all of it up to `most` characters, else its portions, one per line."""
    if len(text) <= most:
        return text
    return "\n".join([text[start:end] for start, end in portions(text, 0, len(text), most)])


def portions(text: str, start: int, end: int, most: int = READ) -> list[tuple[int, int]]:
    """Return what is read of `text[start:end]`, as ascending, disjoint (start, end): `most` characters at most."""
    size = end - start
    if size <= most:
        return [(start, end)]
    edge = most // _ENDS
    length = (most - 2 * edge) // _SAMPLES
    between = size - 2 * edge
    firsts = [start + edge + (2 * number + 1) * between // (2 * _SAMPLES) - length // 2 for number in range(_SAMPLES)]
    whole = [(start, start + edge), *((first, first + length) for first in firsts), (end - edge, end)]
    near = min(_BORDER, length // 2)
    return [
        (first if first == start else _begin(text, first, near), last if last == end else _end(text, last, near))
        for first, last in whole
    ]


def _begin(text: str, at: int, near: int) -> int:
    """Return where the first line after a position begins, else the first word."""
    for sign in ("\n", " "):
        if (found := text.find(sign, at, at + near)) >= 0:
            return found + 1
    return at


def _end(text: str, at: int, near: int) -> int:
    """Return where the last line before a position ends, else the last word."""
    for sign in ("\n", " "):
        if (found := text.rfind(sign, at - near, at)) >= 0:
            return found
    return at
