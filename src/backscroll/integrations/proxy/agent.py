"""Which agent sends a request: its system prompt and its tools.

A client runs several agents under one id, or under none, and they may begin with the same messages. Each has tools and
a system prompt of its own. A prompt may also change within one agent's work: it holds the date, the working folder or
the state of a repository.
"""

import re
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
"""Numbers are no words: dates, times and counts change."""
_ALIKE = 0.8
"""Share of the words of two prompts that both have, from which they are one agent's. A larger share takes a changed
folder for another agent, a smaller one takes a sub-agent for its main agent where both name the same surroundings."""


class Agent(NamedTuple):
    """What identifies an agent."""

    prompt: str
    """Its system prompt. Empty: it has none."""
    tools: frozenset[str]
    """The names of its tools."""

    def is_like(self, other: "Agent") -> bool:
        """Return whether both are one agent, as far as these show."""
        return self.tools == other.tools and _are_alike(self.prompt, other.prompt)


def _are_alike(one: str, other: str) -> bool:
    if one == other:
        return True
    words, others = set(_WORD.findall(one)), set(_WORD.findall(other))
    return len(words & others) >= _ALIKE * len(words | others)
