"""A recorded conversation, and the error for files without one."""

from dataclasses import dataclass, field
from typing import Any

from backscroll.errors import TranscriptError

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as it was recorded, ready to be added message by message."""

    name: str
    """Its file, with `#2` for the second conversation of a file."""
    format: str
    """`openai`, `responses`, `anthropic`, `bedrock`, `gemini`, `amplifier`, `claude-code`, `codex`, `swe-agent` or
    `tau-bench`.
    """
    messages: list[Message]
    """In the dialect of the recording, with only what a request would hold."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Records of the file that are not among the messages: number by reason."""

    began: list[int] = field(default_factory=list)
    """For the logs of Claude Code and Codex: with which record each message begins, counted from 0."""

    @property
    def skipped(self) -> int:
        """Number of records of the file that are not among the messages."""
        return sum(self.reasons.values())


def is_answer(message: Message) -> bool:
    """Return whether the model made a message, so that a request came before it."""
    return message["role"] in ("assistant", "model")


def bad(name: str, what: str) -> TranscriptError:
    """Return the one-line error for the file `name`."""
    return TranscriptError(f"{name}: {what}")
