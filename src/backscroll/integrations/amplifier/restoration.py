"""How to recognize a message in the transcripts that Amplifier's hosts write themselves.

The CLI and foundation omit system and developer messages, the keys of thinking, and every None. Other hosts omit tool
results as well, or add the time.
"""

from collections.abc import Sequence
from typing import Any

from backscroll.session.restoring import Kept

Message = dict[str, Any]

SYSTEM = ("system", "developer")
_LEFT_OUT = frozenset(("thinking_block", "thinking_text", "content_blocks", "timestamp"))


def kept_of(message: Message) -> Message:
    """Return the keys and values of a message that survive in a host's transcript."""
    kept = {key: without_none(value) for key, value in message.items() if key not in _LEFT_OUT and value is not None}
    if type(kept.get("metadata")) is dict:
        kept["metadata"].pop("timestamp", None)
        if not kept["metadata"]:
            del kept["metadata"]
    return kept


def kept_like(transcript: Sequence[Message]) -> Kept:
    """Return what the host that wrote this transcript keeps: without any tool result, it omits all of them."""
    with_tools = any(message["role"] == "tool" for message in transcript)
    left_out = SYSTEM if with_tools else (*SYSTEM, "tool")
    return lambda message: None if message["role"] in left_out else kept_of(message)


def without_none(value: Any) -> Any:
    """Return the value without None, at any depth."""
    if type(value) is dict:
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value if item is not None] if type(value) is list else value


class Restoration:
    """Tracks whether messages from the host can be those that were loaded already."""

    def __init__(self) -> None:
        self.cursor: int | None = None
        """Position on the branch of the next message that the host may add again; `None`: there is none."""
        self._first = False
        """Whether no list was set since the session was loaded."""
        self._copies: list[Message] | None = None
        """The messages of the first list: the CLI sets it again with a system message in front."""
        self._replayed = 0
        self._prompted = False
        """Whether a turn began: messages added since are new even if an equal one is stored."""

    def loaded(self) -> None:
        """Note that the session was loaded from its store, at its first use."""
        self.cursor, self._first = None if self._prompted else 0, True

    def prompted(self) -> None:
        """Note that a turn begins."""
        self.cursor, self._prompted = None, True

    def went_on(self, cursor: int | None) -> bool:
        """Note the position after the message that was found, or `None`; return whether it was found."""
        self.cursor = cursor
        self._replayed += cursor is not None
        return cursor is not None

    def end(self) -> int:
        """Note that a new message comes; return how many were added again before it."""
        replayed = self._replayed
        self.cursor, self._first, self._copies, self._replayed = None, False, None, 0
        return replayed

    def copied_by(self, transcript: Sequence[Message]) -> Kept | None:
        """Return how to recognize this list's messages if it can be the host's copy of those loaded."""
        kept = kept_like(transcript)
        copies = [copy for message in transcript if (copy := kept(message)) is not None]
        known = self._first or self._copies == copies
        self.end()
        self._copies = copies if known else None
        return kept if known else None
