"""When a message came, where its agent works, and whether it is all there is: noted with what is stored, for those who
look it up later.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from backscroll.integrations.translation import Translation
from backscroll.messages import Message

_FOLDER = re.compile(r"(?:[Ww]orking directory: |<cwd>)([^\n\\<\"]{1,400})")
"""How Claude Code and Codex say it, in a system prompt or in the first messages."""


class NotingTranslation(Translation[Any]):
    """Notes them with each message, as an import of a client's own log does.

    Args:
        inner: Reads and writes the messages.
        now: Returns the time, with its zone.
    """

    def __init__(self, inner: Translation[Any], now: Callable[[], datetime]) -> None:
        self._inner, self._now = inner, now
        self.folder = ""
        """The working folder of the agent. Empty: unknown."""
        self.recalls = False
        """Whether the conversation has our recall tool, if it begins now: that holds for all of it."""
        self.is_single = False
        """Whether the request is a question by itself: without tools, and without an answer before it."""

    def to_message(self, native: Any) -> Message:
        """Return the message with its notes."""
        found = self._inner.to_message(native)
        noted: dict[str, Any] = {"time": self._now().isoformat(timespec="seconds")}
        noted |= ({"project": self.folder} if self.folder else {}) | ({"single": True} if self.is_single else {})
        noted |= {"recall": True} if self.recalls else {}
        return {**found, "metadata": {**found.get("metadata", {}), "log": noted}}

    def to_native(self, message: Message, natives: Sequence[Any]) -> Any:
        """Return the message to send."""
        return self._inner.to_native(message, natives)

    def says(self, native: Any) -> object:
        """Return what a message says."""
        return self._inner.says(native)

    def said(self, message: Message) -> object:
        """Return the same of a stored message."""
        return self._inner.said(message)


def folder_in(texts: Sequence[str]) -> str:
    """Return the working folder that the beginning of a conversation names; empty if it names none."""
    found = next(filter(None, map(_FOLDER.search, texts)), None)
    return found[1].strip() if found else ""
