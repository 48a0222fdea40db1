"""What Amplifier's hosts keep of a message in transcripts of their own, by which a message is known again.

The CLI and foundation leave out system and developer messages, the keys of thinking, and every None; others leave out
tool results as well, or add the time.
"""

from collections.abc import Sequence
from typing import Any

from backscroll.session.restoring import Kept

Message = dict[str, Any]

SYSTEM = ("system", "developer")
_LEFT_OUT = frozenset(("thinking_block", "thinking_text", "content_blocks", "timestamp"))


def kept_of(message: Message) -> Message:
    """The keys and values of a message that survive in a host's transcript."""
    kept = {key: without_none(value) for key, value in message.items() if key not in _LEFT_OUT and value is not None}
    if type(kept.get("metadata")) is dict:
        kept["metadata"].pop("timestamp", None)
        if not kept["metadata"]:
            del kept["metadata"]
    return kept


def kept_like(transcript: Sequence[Message]) -> Kept:
    """What a host keeps that wrote this transcript: one without tool results leaves all of them out."""
    with_tools = any(message["role"] == "tool" for message in transcript)
    left_out = SYSTEM if with_tools else (*SYSTEM, "tool")
    return lambda message: None if message["role"] in left_out else kept_of(message)


def without_none(value: Any) -> Any:
    """The value without None, at any depth."""
    if type(value) is dict:
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value if item is not None] if type(value) is list else value


class Restoration:
    """Whether what a host hands in now can be what was loaded already."""

    def __init__(self) -> None:
        self.cursor: int | None = None
        """Where on the branch the next message stands that the host may add once more; None where nothing is."""
        self._first = False
        """Whether no list was set yet since the session was loaded."""
        self._copies: list[Message] | None = None
        """What the list held that was set first: the CLI sets it again with a system message before it."""
        self._replayed = 0
        self._prompted = False
        """Whether a turn began: what is added since is new, even if it was said before."""

    def loaded(self) -> None:
        """A session was taken in from where it is kept, at its first use."""
        self.cursor, self._first = None if self._prompted else 0, True

    def prompted(self) -> None:
        """A turn begins."""
        self.cursor, self._prompted = None, True

    def went_on(self, cursor: int | None) -> bool:
        """A message was looked for: it was found before this place, or nowhere. Returns whether it was found."""
        self.cursor = cursor
        self._replayed += cursor is not None
        return cursor is not None

    def end(self) -> int:
        """Something new comes. Returns how many messages were added once more before it."""
        replayed = self._replayed
        self.cursor, self._first, self._copies, self._replayed = None, False, None, 0
        return replayed

    def copied_by(self, transcript: Sequence[Message]) -> Kept | None:
        """By what the messages of this list are known, if it can be the host's copy of what was loaded."""
        kept = kept_like(transcript)
        copies = [copy for message in transcript if (copy := kept(message)) is not None]
        known = self._first or self._copies == copies
        self.end()
        self._copies = copies if known else None
        return kept if known else None
