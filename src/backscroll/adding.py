"""From messages that were read to what adding them does: events to be stored, and ephemeral messages. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backscroll.history import History
from backscroll.log import MessageAdded
from backscroll.messages import Message, Reading
from backscroll.turns import Joining
from backscroll.usage import Counts

Read = tuple[Message, Reading, Counts]


class Addition(NamedTuple):
    """One message that is about to be added."""

    reading: Reading
    message: Message
    counts: Counts
    event: MessageAdded | None
    """None for a message that is never stored."""


def passing(reading: Reading) -> bool:
    """Whether a message is shown and never stored; half of a tool pair has to be stored whatever it says of itself."""
    return reading.flags.ephemeral and not reading.calls and not reading.results


def additions(read: Sequence[Read], next_seq: int, counted_by: str, joining: Joining) -> Iterator[Addition]:
    """What adding these messages does, in order; the first that is stored gets `next_seq`."""
    for message, reading, counts in read:
        if passing(reading):
            yield Addition(reading, message, counts, None)
        else:
            joins = joining.of(next_seq, reading)
            yield Addition(reading, message, counts, MessageAdded(next_seq, message, counts, counted_by, joins))
            next_seq += 1


def why_not(read: Sequence[Read], history: History) -> str | None:
    """Why messages that were meant to follow an older state of the conversation cannot follow this one; None if they
    can.
    """
    answered = [answer for _, reading, _ in read for answer, _ in reading.results]
    calls = {call for _, reading, _ in read for call in reading.calls}
    newest = history.newest
    open_here = newest is not None and newest.open_calls > 0
    foreign = [answer for answer in answered if answer not in calls]
    if open_here and not foreign:
        return "calls of another writer wait for their results"
    if foreign and not open_here:
        return f"the calls {foreign} were answered by another writer, or taken back"
    first = read[0][1]
    last = history.last.reading if history.last else None
    if first.role == "assistant" and last is not None and last.role == "assistant" and not last.calls:
        return "another writer answered already"
    return None
