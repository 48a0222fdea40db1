"""Items of the Responses API in runs, one for each stored message. Only new items are read at each step.

One response of a model is several items. They stay together, so that reasoning is never parted from what followed it:
a run is all items in a row that a model made, or one item of anybody else. A message behind a call begins another run:
the call was sent without its result, and this is what the model answered.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, overload

from backscroll.messages.dialects.response_items import PAIRS, role_of

Item = Any
"""An input item: a dict, or an object of the openai client."""
Run = tuple[Item, ...]


class Runs(Sequence[Run]):
    """The runs of a list of items. Nothing is copied.

    Args:
        items: The items; they must not change while this is used.
        starts: The index of each run's first item, ascending.
        end: How many of the items are in runs.
    """

    def __init__(self, items: Sequence[Item], starts: Sequence[int], end: int) -> None:
        self._items = items
        self._starts = starts
        self._end = end

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self._starts)

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> list[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | list[Run]:
        """Return a run, or a list of runs."""
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        end = self._starts[index + 1] if index + 1 < len(self) else self._end
        return tuple(self._items[self._starts[index] : end])


class Grouping:
    """Where the runs of a growing list begin."""

    def __init__(self) -> None:
        self._starts = array("q")
        self._end = 0
        self._settled = 0
        """Runs that no later item can change. Behind them are only items of the model."""
        self.read: int = 0
        """Items that were read so far."""

    def known(self, items: Sequence[Item]) -> Runs | None:
        """Return the beginning of a list in the runs of the list before it; `None` if it is shorter."""
        return None if len(items) < self._end else Runs(items, self._starts, self._end)

    def runs(self, items: Sequence[Item], *, whole: bool = False) -> Runs:
        """Return the runs of a list that begins with the one before it. `whole`: it may begin with anything."""
        if whole or len(items) < self._end:
            self._starts, self._settled, self._end = array("q"), 0, 0
        begin = self._end if self._settled == len(self._starts) else self._starts[self._settled]
        del self._starts[self._settled :]
        stretch: list[int] = []
        for at in range(begin, len(items)):
            self.read += 1
            if _is_of_model(items[at]):
                stretch.append(at)
                continue
            self._close(items, stretch)
            stretch = []
            self._starts.append(at)
            self._settled = len(self._starts)
        self._close(items, stretch)
        self._end = len(items)
        return Runs(items, self._starts, self._end)

    def _close(self, items: Sequence[Item], stretch: list[int]) -> None:
        """Begin the runs of items of the model in a row; where all of a response are messages, one for each."""
        for response in _responses(items, stretch):
            messages = all(kind_of(items[at]) == "message" for at in response)
            self._starts.extend(response if messages else response[:1])


def _responses(items: Sequence[Item], stretch: list[int]) -> list[list[int]]:
    """Part items of the model in a row before each message behind a call, with the reasoning that led to it."""
    found: list[list[int]] = [[]]
    called = False
    for at in stretch:
        kind = kind_of(items[at])
        if kind == "message" and called:
            thought = len(found[-1])
            while kind_of(items[found[-1][thought - 1]]) == "reasoning":
                thought -= 1
            found.append(found[-1][thought:])
            del found[-2][thought:]
        called = kind in PAIRS or (called and kind != "message")
        found[-1].append(at)
    return found


def plain(item: Item) -> dict[str, Any]:
    """Return an item as a new dict; its values are shared."""
    if isinstance(item, Mapping):
        return dict(item)
    found: dict[str, Any] = item.model_dump(exclude_unset=True)
    return found


def kind_of(item: Item) -> str:
    """Return the type of an item; empty if it has none."""
    kind = item.get("type") if isinstance(item, Mapping) else getattr(item, "type", None)
    return kind if isinstance(kind, str) else ""


def origin_of(item: Item) -> str:
    """Return the role of an item's message: `assistant` for everything that a model made."""
    if isinstance(item, Mapping):
        return role_of(item)
    return role_of({"type": kind_of(item), "role": getattr(item, "role", None)})


def _is_of_model(item: Item) -> bool:
    """Return whether an item can be one of several of a response; a plain message is by itself."""
    return bool(kind_of(item)) and origin_of(item) == "assistant"
