"""Calls of recall tools and their results: echoes of other messages.

The history keeps an echo like any message, and a reference finds it. A search that found echoes would find itself, each
time longer. A digest that quoted them would repeat what has its own reference already.
"""

from collections.abc import Iterable

from backscroll.messages.contents import names_of
from backscroll.messages.reader import ParsedMessage

RECALL_TOOLS = frozenset(("recall", "retrieve_offloaded_content"))
"""The tools that Backscroll gives to models: its own, and the offloader's for Strands."""
_MOST_CALLS = 1_000  # calls whose results may still come


class Echoes:
    """Find the parts that are echoes, message by message in order."""

    def __init__(self) -> None:
        self._calls: dict[str, None] = {}

    def of(self, reading: ParsedMessage) -> frozenset[int]:
        """Return the numbers of a message's parts that are echoes."""
        found = []
        for number, part in enumerate(reading.parts):
            if part.kind == "call" and part.id is not None:
                for name in names_of(part.id):
                    self._calls.pop(name, None)  # ids are reused: the newest call counts
                    if part.name in RECALL_TOOLS:
                        self._calls[name] = None
                if part.name in RECALL_TOOLS:
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
