"""What is read back from a session's log, wherever that log is kept."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from backscroll.history.codec import Codec
from backscroll.history.log import Checkpoint, LogEvent, MessageAdded
from backscroll.ports import Operation


class LogReader(Protocol):
    """Read the log of a session: a `Journal` if it has a store, else a `MemoryLog`."""

    session: str

    def reader(self) -> "LogReader":
        """Return a reader of the same log for a replica, which stores nothing."""
        ...

    def load(self, seqs: Sequence[int]) -> Operation[list[MessageAdded]]:
        """Load these messages, in order; `seqs` ascend."""
        ...

    def place_behind(self, seq: int) -> Operation[int]:
        """Return the position after a message's record; 0 for -1."""
        ...

    def place_before_next(self, seq: int) -> Operation[int]:
        """Return the position of the first message after this one, or of a rewind before that, or the log's end."""
        ...

    def place_at_end(self) -> Operation[int]:
        """Return the position after the last record."""
        ...

    def checkpoint_at(self, place: int) -> Operation[tuple[Checkpoint | None, list[LogEvent]]]:
        """Load the state at a position: the newest checkpoint before it, and the events behind that."""
        ...

    def prompt(self, digest: str) -> Operation[str | None]:
        """Return the text of a system prompt."""
        ...

    def events_of(self, kinds: Collection[str], start: int, stop: int | None) -> Operation[list[tuple[int, LogEvent]]]:
        """Load the events of some kinds from `start` up to but excluding `stop`, with positions."""
        ...

    def page_from(self, place: int, most: int, codec: Codec) -> Operation[list[tuple[int, LogEvent]]]:
        """Load the next `most` events from a position on, with positions."""
        ...

    def codec(self) -> Codec:
        """Return a codec for reading the log from its beginning."""
        ...

    def at(self, place: int) -> AbstractContextManager[None]:
        """Wrap reading and applying the record at a position: an impossible event is corruption there."""
        ...
