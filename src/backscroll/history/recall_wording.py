"""How a view says that what it leaves out can be read: by which tools, if by any."""

from typing import NamedTuple

from backscroll.messages.recall_lead import LEAD


class RecallWording(NamedTuple):
    """The tools that the texts of a view name. A plan keeps it, so that texts which were sent never change."""

    read: str = "recall"
    """The tool that reads a reference. Empty: there is none, and no text speaks of recall."""
    search: str = "recall"
    """The tool that searches. Empty: there is none."""
    session: str = ""
    """The session's name in calls of these tools. Empty: they know which session is meant."""

    @property
    def lead(self) -> str:
        """The words between what is left out and its reference."""
        if not self.read:
            return " "
        if self == RECALL:
            return LEAD
        session = f" session={self.session}" if self.session else ""
        return f", {self.read}{session} ref="

    @property
    def offer(self) -> str:
        """The sentence of a summary that says how to read and to search, behind a space; empty without a tool."""
        if not self.read:
            return ""
        if self == RECALL:
            return " Nothing is lost: recall a reference to read it word for word, or search for what it was about."
        session = f"session={self.session} and " if self.session else ""
        reads = f"call {self.read} with {session}a reference as ref to read it word for word"
        if not self.search:
            return f" Nothing is lost: {reads}."
        searches = f"{self.search} with {session}a query to search for what it was about"
        return f" Nothing is lost: {reads}, or {searches}."


RECALL = RecallWording()
"""The tool `recall`, which managers define."""
NO_RECALL = RecallWording("", "")
"""Nothing can be read."""
