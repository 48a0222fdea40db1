"""Calls of recall tools and their results: echoes of other messages.

The history keeps an echo like any message, and a reference finds it. A search that found echoes would find itself, each
time longer. A digest that quoted them would repeat what has its own reference already.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId

RECALL_TOOLS = frozenset(("recall", "retrieve_offloaded_content"))
"""The tools that Backscroll gives to models: its own, and the offloader's for Strands."""
_OF_SERVER = re.compile(r"(?:.*[^a-z0-9])?backscroll[^a-z0-9]+(?:read|search)", re.IGNORECASE)
"""The tools of `backscroll mcp`, under the name that its guide uses. Each client joins both names in its own way, as in
`mcp__backscroll__search`.
"""
_MOST_CALLS = 1_000  # calls whose results may still come


@lru_cache(maxsize=1_024)
def recalls(tool: str) -> bool:
    """Return whether a tool is one of Backscroll's that reads or searches a history, by its name."""
    return tool in RECALL_TOOLS or _OF_SERVER.fullmatch(tool) is not None


class Echoes:
    """Find the parts that are echoes, message by message in order."""

    def __init__(self) -> None:
        self._calls: dict[CallId, None] = {}

    def of(self, reading: ParsedMessage) -> frozenset[int]:
        """Return the numbers of a message's parts that are echoes."""
        found = []
        for number, part in enumerate(reading.parts):
            if part.kind == "call" and part.id is not None:
                is_ours = recalls(part.name or "")
                for name in part.id.names:
                    self._calls.pop(name, None)  # ids are reused: the newest call counts
                    if is_ours:
                        self._calls[name] = None
                if is_ours:
                    found.append(number)
            elif part.id is not None and part.id in self._calls:
                found.append(number)
        for _ in range(len(self._calls) - _MOST_CALLS):
            del self._calls[next(iter(self._calls))]
        return frozenset(found) if found else _NONE


_NONE: frozenset[int] = frozenset()


def echoes_of(readings: Iterable[ParsedMessage]) -> list[frozenset[int]]:
    """Find the echoes of several messages at once."""
    echoes = Echoes()
    return [echoes.of(reading) for reading in readings]
