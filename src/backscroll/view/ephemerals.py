"""Messages in views that are never stored."""

from collections.abc import Iterable
from dataclasses import dataclass

from backscroll.messages import Message, ParsedMessage, read_message
from backscroll.tokens.counts import Count, Counts


@dataclass(frozen=True, slots=True, eq=False)
class Ephemeral:
    """A message that is never stored. It has no `seq` and follows entry `after` until the next compaction."""

    after: int
    number: int
    message: Message
    reading: ParsedMessage
    counts: Counts
    digest: str = ""
    """SHA-256 of the message."""


def unstored(recorded: Iterable[tuple[int, str, str]]) -> list[Ephemeral]:
    """Return placeholders for ephemeral messages of which only position, SHA-256 and role are known."""
    found = []
    for number, (after, digest, role) in enumerate(recorded):
        message: Message = {"role": role, "content": f"ephemeral {digest}"}
        reading = read_message(message)
        found.append(
            Ephemeral(
                after=after,
                number=number,
                message=message,
                reading=reading,
                counts=tuple(Count(0) for _ in reading.parts),
                digest=digest,
            )
        )
    return found
