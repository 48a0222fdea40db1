"""The ends of a long text, and its beginning in one line."""

ENDS = 20_000
"""Characters at each end of a long text that are read: of 8,532 recorded results 99 % are read whole. Fewer would lose
failures in the middle of a test run; outcomes are in the last lines, and frames in the first.
"""


def bounded(text: str, most: int = ENDS) -> str:
    """Return a text, of a long one its two ends."""
    return text if len(text) <= 2 * most else f"{text[:most]}\n…\n{text[-most:]}"


def one_line(text: str, room: int) -> str:
    """Return the beginning of a text in one line of at most `room` characters."""
    line = " ".join(text[: 4 * room].split())
    return line if len(line) <= room and len(text) <= 4 * room else line[: room - 1].rstrip() + "…"
