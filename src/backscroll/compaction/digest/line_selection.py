"""Choose lines that together mention most of the weight: a greedy cover."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf

NEIGHBOR = 0.5  # of a chosen line's worth that the lines next to it gain: code is edited in blocks
AGAIN = 0.3  # of a word's weight that is left for the next line that mentions it: repetition is worth less
_PATIENCE, _LEAST_PATIENCE = 4, 1_000
"""How often lines are weighed again, for each line and at least, before only the best of those with the same words is:
a log that repeats itself would be weighed whole for each choice.
"""
_LEAST = 5  # tokens: no line worth keeping takes fewer
_END = (inf, -1)  # sorts after everything in the heap
FRAME = 3  # tokens by which a line costs more than its text: it has a row of its own


Candidate = tuple[tuple[str, ...], int, float, float]
"""A line that could be kept: its words, its tokens, a factor for its topic, and what it would add per token if it were
the first. A plain tuple, because there are a thousand of them.
"""


def ranked(candidates: Sequence[Candidate]) -> list[int]:
    """Return their indexes, best first; equal ones in order."""
    worths = [worth for _, _, _, worth in candidates]
    return sorted(range(len(worths)), key=worths.__getitem__, reverse=True)


def cover(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    room: int,
    order: Sequence[int] | None = None,
    neighbors: Callable[[int], Iterable[int]] | None = None,
) -> list[int]:
    """Choose lines within `room` tokens, best first.

    Each round takes the line that adds most weight per token; of equal ones, the first.

    Args:
        candidates: The lines.
        weights: The weight of each word.
        room: Tokens of the chosen lines at most.
        order: The result of `ranked`, if known.
        neighbors: Returns the lines next to a chosen one, which gain a share of its worth. So blocks grow around what
            matters, and lines that mention nothing are chosen with their neighbors. `None`: no line gains.

    Returns:
        Indexes of the chosen lines.
    """
    lines = _Lines(candidates, weights, neighbors)
    worth, chosen = lines.worth, lines.chosen
    places = ((-candidates[number][3], number) for number in (ranked(candidates) if order is None else order))
    again = [_END]  # a heap of those that others made worth less, by their new worth; best is lowest
    behind: dict[tuple[str, ...], deque[int]] = {}
    patience = _PATIENCE * len(candidates) + _LEAST_PATIENCE
    first = next(places, _END)  # the best that no chosen one has made worth less yet
    while room >= _LEAST:
        if again[0] < first:
            number = heappop(again)[1]
        elif first is _END:
            break
        else:
            number, first = first[1], next(places, _END)
        words, tokens, _, _ = candidates[number]
        adds = -worth(number)
        if tokens <= room and number not in chosen and adds < 0:
            if adds > again[0][0] or adds > first[0]:
                heappush(again, (adds, number))  # others with the same words were chosen since
                patience -= 1
                if patience == 0:
                    behind = _alike(candidates, {each for _, each in (*again, first, *places)} - {_END[1], *chosen})
                    again = _heap([*lines.gained, *(queue.popleft() for queue in behind.values())], worth)
                    first = _END
                continue
            room -= tokens
            for near in lines.choose(number, -adds):
                heappush(again, (-worth(near), near))
        if behind.get(words):
            following = behind[words].popleft()
            heappush(again, (-worth(following), following))
    return list(chosen)


class _Lines:
    """What lines add per token, given those that are chosen."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        weights: Mapping[str, float],
        neighbors: Callable[[int], Iterable[int]] | None,
    ) -> None:
        self._candidates, self._neighbors = candidates, neighbors
        self._left = defaultdict(float, weights)
        self._weigh = self._left.__getitem__
        self.chosen: dict[int, None] = {}
        self.gained: dict[int, float] = {}
        """What lines gained from a chosen one next to them."""

    def worth(self, number: int) -> float:
        """Return what a line adds per token."""
        words, tokens, factor, _ = self._candidates[number]
        return (factor * sum(map(self._weigh, words)) + self.gained.get(number, 0.0)) / (tokens + FRAME)

    def choose(self, number: int, worth: float) -> list[int]:
        """Choose a line of this worth, and return those that gain."""
        self.chosen[number] = None
        words, tokens, _, _ = self._candidates[number]
        for word in words:
            self._left[word] *= AGAIN
        gain = worth * (tokens + FRAME) * NEIGHBOR
        around = () if self._neighbors is None else self._neighbors(number)
        found = [near for near in around if near not in self.chosen and gain > self.gained.get(near, 0.0)]
        self.gained.update(dict.fromkeys(found, gain))
        return found


def _heap(numbers: Iterable[int], worth: Callable[[int], float]) -> list[tuple[float, int]]:
    """Return lines as a heap by their worth."""
    heap = [_END, *((-worth(number), number) for number in numbers)]
    heapify(heap)
    return heap


def _alike(candidates: Sequence[Candidate], rest: Iterable[int]) -> dict[tuple[str, ...], deque[int]]:
    """Return lines by their words, the best of each first: those behind it never become worth more."""
    alike: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in sorted(rest, key=lambda each: (-candidates[each][2] / (candidates[each][1] + FRAME), each)):
        alike[candidates[number][0]].append(number)
    return {words: deque(numbers) for words, numbers in alike.items()}


def stretches(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort the spans of a text, and join adjacent ones."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
