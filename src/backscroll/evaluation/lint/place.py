"""Where a fault is."""

from typing import NamedTuple


class Place(NamedTuple):
    """Where a fault is."""

    where: str
    """Such as `messages[12]`, `system` or `tools[3]`, with indexes from 0."""
    request: int | None = None
    """The request, counted from 1 in the order sent. `None`: a transcript."""

    def __str__(self) -> str:
        """Return the place in one line."""
        return self.where if self.request is None else f"request {self.request}, {self.where}"
