"""A stream without the calls of our recall tool, put together from the streams of several round trips."""

from abc import ABC, abstractmethod
from typing import Any

from backscroll.integrations.proxy.server_events import ServerEvent


class RecallStream(ABC):
    """The events that a client gets. Those of other parts are handed on as they come; held back are those of our calls,
    and the last ones of an answer, which say whether it was the last.
    """

    def __init__(self) -> None:
        self.held: list[ServerEvent] = []
        """The last events of the newest answer."""
        self.rounds: int = 0
        """Answers that began."""

    def begin(self) -> None:
        """Take the beginning of an answer."""
        self.rounds += 1
        self.held = []

    @abstractmethod
    def shown(self, event: ServerEvent) -> bytes:
        """Return what the client gets of an event now."""

    @abstractmethod
    def end(self, merged: dict[str, Any] | None) -> bytes:
        """Return the last events.

        Args:
            merged: What all answers say together. `None`: the newest did not end, and goes on as it came.
        """

    @abstractmethod
    def error(self, text: str) -> bytes:
        """Return an event by which the client learns that the provider failed behind a round trip."""

    def rest(self) -> bytes:
        """Return what was held back, as it came."""
        return b"".join(event.raw for event in self.held)
