"""What a recorded conversation is, and the one error for files that hold none. No reading may live here."""

from dataclasses import dataclass, field
from typing import Any

from backscroll.errors import TranscriptError

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation as it was recorded, ready to be added message by message."""

    name: str
    """The file it came from, with `#2` for the second conversation of a file."""
    format: str
    """`openai`, `anthropic`, `bedrock`, `amplifier`, `claude-code`, `codex`, `swe-agent` or `tau-bench`."""
    messages: list[Message]
    """In the dialect of the recording, with nothing but what a request would hold."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why records of the file are not among the messages: reason -> number of records."""

    @property
    def skipped(self) -> int:
        """Records of the file that are not among the messages."""
        return sum(self.reasons.values())


def bad(name: str, what: str) -> TranscriptError:
    """The one-line error for the file `name`."""
    return TranscriptError(f"{name}: {what}")
