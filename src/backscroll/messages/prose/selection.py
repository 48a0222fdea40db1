"""Choose which passages are kept where not all of them fit."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from statistics import median_high

from backscroll.messages.prose.lines import cut
from backscroll.messages.prose.passage import Passage

MARK = "…"
_AROUND = 3  # characters around a passage: the end of its line, and a mark with its space
_AT_BEGIN = 2  # characters of a mark before the first passage
_WHOLE = 0.6  # more for a list than for its best item: before sentences around it, behind the ends of the text
_ITEM, _LEAST = 90, 45  # characters of an item's beginning where a list only fits so: a clause, and no less than a name
_LISTS = 2 / 3  # of the room left that a list with longer beginnings may have, so that what is around it has some, too
Candidate = tuple[float, int, tuple[int, ...], bool]
"""The weight below zero, the first position, all positions that are kept together, and whether they are cut."""


class Selection:
    """The passages kept so far, and the room that is left."""

    def __init__(self, passages: Sequence[Passage], room: int) -> None:
        self._passages = passages
        self._left = room - _AT_BEGIN
        self.kept: dict[int, str] = {}
        """Their texts, by their positions."""

    def each(self, count: int) -> int:
        """Return how many characters the beginnings of so many items may have."""
        return max(_LEAST, min(self._left // count - 2 * _AROUND, max(_ITEM, int(self._left * _LISTS) // count)))

    def add(self, positions: Iterable[int], *, longest: int | None = None) -> bool:
        """Keep passages with the headings that they need, if all of them fit."""
        added: dict[int, str] = {}
        for position in positions:
            text = self._passages[position].text
            added[position] = cut_item(text, longest) if longest else text
            for heading in self._headings(position, added):
                above = self._passages[heading]
                added[heading] = above.text if above.title else cut_item(above.text, _ITEM)
        needed = sum(len(text) + _AROUND for text in added.values())
        if needed > self._left:
            return False
        self._left -= needed
        self.kept.update(added)
        return True

    def _headings(self, position: int, added: dict[int, str]) -> Iterator[int]:
        heading = self._passages[position].heading
        while heading is not None and heading not in self.kept and heading not in added:
            yield heading
            heading = self._passages[heading].heading


def cut_item(text: str, longest: int) -> str:
    """Return an item with its indent, cut behind its first words if it is long."""
    indent = text[: len(text) - len(text.lstrip())]
    return indent + cut(text, longest)


def selected(passages: Sequence[Passage], room: int) -> dict[int, str]:
    """Return the texts of the passages that are kept, by their positions; nothing if not one of them fits."""
    selection = Selection(passages, room)
    queue = list(_candidates(passages))
    heapq.heapify(queue)
    while queue:
        weight, first, positions, is_cut = heapq.heappop(queue)
        if all(position in selection.kept for position in positions):
            continue
        if selection.add(positions, longest=selection.each(len(positions)) if is_cut else None) or len(positions) == 1:
            continue
        if is_cut:
            for position in positions:
                heapq.heappush(queue, (-passages[position].weight, position, (position,), False))
        else:
            heapq.heappush(queue, (weight, first, positions, True))
    return selection.kept


def _candidates(passages: Sequence[Passage]) -> Iterator[Candidate]:
    groups: dict[int, list[int]] = {}
    for position, passage in enumerate(passages):
        if passage.group is not None:
            groups.setdefault(passage.group, []).append(position)
        elif not passage.title and passage.weight > 0:
            yield (-passage.weight, position, (position,), False)
    for positions in groups.values():
        usual = median_high(passages[position].weight for position in positions)  # one good item is no good list
        yield (-usual - _WHOLE * (len(positions) > 1), positions[0], tuple(positions), False)
