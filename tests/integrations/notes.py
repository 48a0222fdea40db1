"""A framework for tests: its messages are objects with a text, a call or results, and notes that say nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from backscroll.integrations.translation import Translation


@dataclass
class Note:
    """A message."""

    role: str
    text: str
    call: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    """Says nothing: messages that differ in it are the same."""


class NoteTranslation(Translation[Note]):
    """Reads notes as messages of OpenAI's dialect, and counts how often."""

    def __init__(self) -> None:
        self.read = 0

    def to_message(self, native: Note) -> dict[str, Any]:
        self.read += 1
        if native.role == "tool":
            return {"role": "tool", "tool_call_id": native.call, "content": native.text}
        if native.call is None:
            return {"role": native.role, "content": native.text}
        function = {"name": "read", "arguments": f'{{"path": "{native.call}"}}'}
        calls = [{"id": native.call, "type": "function", "function": function}]
        return {"role": native.role, "content": native.text, "tool_calls": calls}

    def to_native(self, message: dict[str, Any], natives: Sequence[Note]) -> Note:
        if natives:
            return replace(natives[0], text=message["content"])
        return Note(message["role"], message["content"])


def rounds(number: int, *, size: int = 40, begin: int = 0) -> list[Note]:
    """So many rounds of a call and its result."""
    return [
        note
        for at in range(begin, begin + number)
        for note in (
            Note("assistant", f"step {at}", f"c{at}"),
            Note("tool", f"line of result {at}\n" * size, f"c{at}"),
        )
    ]
