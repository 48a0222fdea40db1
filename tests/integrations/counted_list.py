"""A list that counts the items which it hands out: a step that copies or walks a history has all of them."""

from collections.abc import Iterator
from typing import Any


class CountedList(list[Any]):
    """A list of a framework's messages. Comparing it with another list hands out nothing."""

    handed = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.handed += 1
            yield item

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.handed += len(found) if isinstance(at, slice) else 1
        return found
