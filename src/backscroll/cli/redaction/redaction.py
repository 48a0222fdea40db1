"""Takes texts out of messages before they are stored."""

import re
from collections.abc import Collection, Iterable
from functools import partial
from hashlib import sha256
from typing import Any

from backscroll.cli.redaction.secret_patterns import KINDS, SecretPattern
from backscroll.messages import Message
from backscroll.messages.validation import MAX_DEPTH

_KEPT = frozenset((
    "assistant", "developer", "model", "system", "tool", "user",
    "custom_tool_call", "custom_tool_call_output", "document", "function", "function_call", "function_call_output",
    "image", "input_file", "input_image", "input_text", "message", "output_text", "reasoning", "redacted_thinking",
    "summary_text", "text", "thinking", "tool_call", "tool_result", "tool_use",
    "arguments", "call_id", "content", "id", "input", "name", "output", "role", "tool_call_id", "tool_calls",
    "tool_use_id", "type",
))  # fmt: skip
"""Keys, and values of `role` and `type`, that no pattern changes: a message needs them to be one."""


class Redaction:
    """Takes out the texts that patterns match.

    Args:
        kinds: Names of known patterns, from `KINDS`.
        patterns: Regular expressions. Of one with a group, only what the first group matches is taken out.
    """

    def __init__(self, kinds: Collection[str] = (), patterns: Collection[str] = ()) -> None:
        self._kinds, self._patterns = frozenset(kinds), frozenset(patterns)
        custom = (SecretPattern("", ("",), re.compile(each)) for each in sorted(self._patterns))
        self._all = (*(each for kind in KINDS if kind in self._kinds for each in KINDS[kind]), *custom)
        self.marks: frozenset[str] = self._kinds.union(map(_mark, self._patterns))
        """What a session notes of its redaction. Not the expressions themselves: they may hold the very secrets."""

    def with_marks(self, marks: Iterable[str]) -> "Redaction | None":
        """Return this redaction with what the marks name as well; `None` if a mark is not known here."""
        more = set(marks) - self.marks
        if not more:
            return self
        return Redaction(self._kinds | more, self._patterns) if more <= KINDS.keys() else None

    def text(self, text: str) -> str:
        """Return a text without what the patterns match."""
        for kind, signs, pattern in self._all:
            if any(sign in text for sign in signs):
                text = pattern.sub(partial(_without, kind), text)
        return text

    def name(self, session: str) -> str:
        """Return the name of a session, or where it holds what must not be seen, another one in its place."""
        if self.text(session) == session:
            return session
        return f"{session.partition('/')[0]}/{sha256(session.encode()).hexdigest()[:32]}"

    def message(self, message: Message) -> Message:
        """Return a message with all of its texts, also keys, without what the patterns match."""
        return self._value(message, 0) if self._all else message

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth > MAX_DEPTH:
            return value  # no store accepts a message that is so deep
        if isinstance(value, list):
            return [self._value(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return {
                key if key in _KEPT else self.text(key): each if _is_kind(key, each) else self._value(each, depth + 1)
                for key, each in value.items()
            }
        return value


def _is_kind(key: str, value: object) -> bool:
    return key in ("role", "type") and isinstance(value, str) and value in _KEPT


def _mark(pattern: str) -> str:
    """Return a name for an expression that is too short to find the expression from it."""
    return f"pattern-{sha256(pattern.encode()).hexdigest()[:8]}"


def _without(kind: str, found: re.Match[str]) -> str:
    if not found[0]:
        return ""  # nothing was matched: a mark between all characters would hide nothing
    begin, end = found.span(1 if found.re.groups and found[1] is not None else 0)
    left = f"[redacted: {kind}]" if kind else "[redacted]"
    return f"{found.string[found.start() : begin]}{left}{found.string[end : found.end()]}"
