"""The messages of a view, each with the messages of the conversation that it represents."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from backscroll.history.history import Entry
from backscroll.messages import Message, sendable
from backscroll.view.segment import Segment
from backscroll.view.view import View


class ViewMessage(NamedTuple):
    """A message of a view, with the messages of the conversation that it represents."""

    message: Message
    indexes: tuple[int, ...]
    """Indexes in `get_messages()`, ascending. Empty: the conversation does not hold it, such as a summary."""
    unchanged: bool
    """Whether it is one message of the conversation, and the view edits nothing of it."""


def with_indexes(view: View, position: Callable[[int], int]) -> list[ViewMessage]:
    """Return the messages of a view as copies; items of the Responses API within their message.

    Args:
        view: The view.
        position: Returns the index of a `seq` in the conversation.
    """
    copies = iter(view.aligned_copies())
    return [
        ViewMessage(next(copies), tuple([position(entry.seq) for entry in entries]), unchanged)
        for segment in view.segments
        for entries, unchanged in _represented(segment)
    ]


def _represented(segment: Segment) -> Iterator[tuple[Sequence[Entry], bool]]:
    """Yield, for each message of a segment, its entries, and whether it is the message of its only entry."""
    if segment.separator is not None:
        yield (), False
    made_of: Sequence[Sequence[Entry]] = segment.sources or ()
    if segment.sources is None:  # one to one, for an entry of which nothing is shown is a group by itself
        made_of = [(entry,) for entry in segment.entries]
    for at, message in enumerate(segment.messages):
        entries = made_of[at] if at < len(made_of) else ()  # the rest was made here, for calls without a result
        yield entries, len(entries) == 1 and _is_own(message, entries[0].message)


def _is_own(shown: Message, stored: Message) -> bool:
    """Return whether this is the stored message as it is sent where nothing is edited."""
    return shown is stored or shown == sendable(stored)
