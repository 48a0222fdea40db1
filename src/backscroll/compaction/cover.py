"""Choosing lines that together mention most of what weighs: greedy cover. Pure; where the lines are from and what a
word weighs is decided elsewhere.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

AGAIN = 0.3  # of a word's weight that is left for the next line that mentions it: said twice is not worth twice
_LEAST = 5  # tokens: no line worth keeping takes fewer
_FRAME = 3  # tokens by which a line costs more than its text: it stands in a row of its own


class Candidate(NamedTuple):
    """A line that could be kept."""

    words: Sequence[str]
    """What it mentions."""
    tokens: int
    factor: float = 1.0
    """How much more, or less, than its words it is worth."""


def cover(candidates: Sequence[Candidate], weights: Mapping[str, float], room: int) -> list[int]:
    """Indexes of the chosen lines, best first, within `room` tokens. Every word that a line mentions has a weight.

    At each turn the line that adds most weight for each of its tokens. Equal ones are taken in the order given.
    """
    left = dict(weights)
    heap = [(-worth(candidate, left), number) for number, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and room >= _LEAST:
        _, number = heapq.heappop(heap)
        candidate = candidates[number]
        if candidate.tokens > room:
            continue
        adds = worth(candidate, left)
        if heap and -adds > heap[0][0]:  # others were chosen since that mention the same
            heapq.heappush(heap, (-adds, number))
            continue
        if adds <= 0:
            break
        chosen.append(number)
        room -= candidate.tokens
        for word in candidate.words:
            left[word] *= AGAIN
    return chosen


def worth(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """What a line adds for each of its tokens."""
    return candidate.factor * sum(map(weights.__getitem__, candidate.words)) / (candidate.tokens + _FRAME)


def stretches(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans of a text in order, neighbours joined into one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
