"""Calls of our own tools that bring back what a view left out, and their answers: echoes of other messages. Pure.

An echo is in the history like any message, and a reference finds it. A search that found echoes would find itself, each
time longer; a digest that quoted them would say again what stands under its own reference.
"""

from collections.abc import Iterable

from backscroll.messages.reader import ParsedMessage

RECALL_TOOLS = frozenset(("recall", "retrieve_offloaded_content"))
"""The tools that Backscroll gives to models: its own, and the one of the offloader for Strands."""
_MOST_CALLS = 1_000  # whose results may still come


class Echoes:
    """Find the parts that are echoes, message by message in their order."""

    def __init__(self) -> None:
        self._calls: dict[str, None] = {}

    def of(self, reading: ParsedMessage) -> frozenset[int]:
        """The numbers of the parts of a message that are echoes."""
        found = []
        for number, part in enumerate(reading.parts):
            if part.kind == "call" and part.id is not None:
                self._calls.pop(part.id, None)  # ids are used again: the newest call counts
                if part.name in RECALL_TOOLS:
                    self._calls[part.id] = None
                    found.append(number)
            elif part.id is not None and part.id in self._calls:
                found.append(number)
        for _ in range(len(self._calls) - _MOST_CALLS):
            del self._calls[next(iter(self._calls))]
        return frozenset(found) if found else _NONE


_NONE: frozenset[int] = frozenset()


def echoes_of(readings: Iterable[ParsedMessage]) -> list[frozenset[int]]:
    """The same of several messages at once."""
    echoes = Echoes()
    return [echoes.of(reading) for reading in readings]
