"""From messages that were read to what adding them does: events to be stored, and ephemeral messages. Pure."""

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from backscroll.history.groups import Joining
from backscroll.history.history import History
from backscroll.history.log import MessageAdded
from backscroll.messages import Message, Reading
from backscroll.tokens.usage import Counts

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


def why_not(read: Sequence[Read], history: History, theirs: Container[int], *, outrun: bool) -> str | None:
    """Why these messages cannot follow what is stored; None if they can.

    `theirs`: messages that other writers stored while this one was at work; what was there before is everybody's.
    `outrun`: some of them, or a rewind, came while these messages were on their way.
    """
    stored = [reading for _, reading, _ in read if not passing(reading)]
    calls = {call for reading in stored for call in reading.calls}
    answered = [answer for reading in stored for answer, _ in reading.results if answer not in calls]
    newest, last = history.newest, history.last
    if stored and newest is not None and newest.open_calls and newest.first in theirs:
        waiting = history.waiting(newest)
        if not any(answer in waiting for answer in answered):
            return (
                f"the calls {waiting} of another writer wait for their results: append again when these are there; if "
                "that writer is gone, append the results, or rewind to before the calls"
            )
    if not stored or not outrun:
        return None
    open_calls = set(history.waiting()) if answered else set()
    if gone := [answer for answer in answered if answer not in open_calls]:
        return f"the calls {gone} were answered by another writer, or taken back"
    if last is None or last.seq not in theirs or last.reading.role != "assistant" or last.reading.calls:
        return None
    return "another writer answered already" if stored[0].role == "assistant" else None
