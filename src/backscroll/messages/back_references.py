"""Results that only refer to an earlier one, because their client believes that it is still in the model's context.

Each row was read in the code of the client that writes it. Clients compare with the beginning alone, and so does this.
"""

import re
from typing import NamedTuple

_LONGEST = 1_000  # characters: the longest known one has 420, and a file that begins with such a sentence has more
_MARK = re.compile(r"\[result-id: (r\d+)\]\s*\Z")
"""Claude Code marks a result that a later one may name like this."""
_MARK_AT_END = 40  # characters that end with that mark


class Sentence(NamedTuple):
    """How a client says that a result is an earlier one."""

    client: str
    source: str
    """The package and version in which it was read."""
    pattern: re.Pattern[str]
    """Matches its beginning. A group `mark` names the earlier result; without one, it is that of the same call."""


SENTENCES = (
    Sentence(
        "Claude Code",
        "npm @anthropic-ai/claude-code 2.1.100 and 2.1.197",
        re.compile(r"File unchanged since last read\. The content from the earlier Read tool_result"),
    ),
    Sentence(
        "Claude Code",
        "npm @anthropic-ai/claude-code 2.1.100 and 2.1.197, behind a switch",
        re.compile(r"Wasted call — file unchanged since your last Read\."),
    ),
    Sentence(
        "Claude Code",
        "npm @anthropic-ai/claude-code 2.1.100, behind a switch",
        re.compile(r"<identical to result \[(?P<mark>r\d+)\] from your [^>]{1,200} call earlier"),
    ),
    Sentence(
        "Qwen Code",
        "npm @qwen-code/qwen-code 0.24.4",
        re.compile(r"\[File [^\n]{1,400}? unchanged since last read in this session — the full content was provided"),
    ),
)


def meant_by(text: str) -> str | None:
    """Return which earlier result a result's text refers to: its mark, or an empty text for that of the same call.
    `None`: it refers to none.
    """
    if len(text) > _LONGEST or (beginning := text.lstrip())[:1] not in _FIRST:
        return None
    beginning = _IN_OBJECT.sub("", beginning, count=1)
    found = (sentence.pattern.match(beginning) for sentence in SENTENCES)
    return next((match.groupdict().get("mark") or "" for match in found if match), None)


_IN_OBJECT = re.compile(r'\A\{"\w+": ?"')
"""A result as the one value of an object, as Gemini takes it."""
_FIRST = frozenset("FW<[{")
"""The characters with which the sentences begin: one character rules nearly every result out."""


def mark_of(text: str) -> str:
    """Return the mark under which a later result may name this one; empty without one."""
    found = _MARK.search(text[-_MARK_AT_END:])
    return found[1] if found else ""
