"""Choosing lines that together mention most of what weighs: greedy cover. Pure; where the lines are from and what a
word weighs is decided elsewhere.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

AGAIN = 0.3  # of a word's weight that is left for the next line that mentions it: said twice is not worth twice
_LEAST = 5  # tokens: no line worth keeping takes fewer
FRAME = 3  # tokens by which a line costs more than its text: it stands in a row of its own


class Candidate(NamedTuple):
    """A line that could be kept."""

    words: Sequence[str]
    """What it mentions."""
    tokens: int
    factor: float = 1.0
    """How much more, or less, than its words it is worth."""


def cover(
    candidates: Sequence[Candidate], weights: Mapping[str, float], room: int, worths: Sequence[float] | None = None
) -> list[int]:
    """Indexes of the chosen lines, best first, within `room` tokens. `worths`: what each adds at the start, if known.

    At each turn the line that adds most weight for each of its tokens. Equal ones are taken in the order given.
    """
    left = defaultdict(float, weights)
    worths = [worth(candidate, left) for candidate in candidates] if worths is None else worths
    first = sorted(range(len(candidates)), key=worths.__getitem__, reverse=True)  # stable: of equal ones in order
    again: list[tuple[float, int]] = []  # a heap of those that others have made worth less, by their new worth
    chosen: list[int] = []
    at, end = 0, len(first)
    while room >= _LEAST and (at < end or again):
        if again and (at == end or again[0] < (-worths[first[at]], first[at])):
            number = heappop(again)[1]
        else:
            number, at = first[at], at + 1
        candidate = candidates[number]
        if candidate.tokens > room:
            continue
        adds = worth(candidate, left)
        if (at < end and adds < worths[first[at]]) or (again and -adds > again[0][0]):
            heappush(again, (-adds, number))  # others were chosen since that mention the same
            continue
        if adds <= 0:
            break
        chosen.append(number)
        room -= candidate.tokens
        for word in candidate.words:
            left[word] *= AGAIN
    return chosen


def worth(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """What a line adds for each of its tokens. `weights` knows every word that it mentions."""
    words, tokens, factor = candidate
    return factor * sum(map(weights.__getitem__, words)) / (tokens + FRAME)


def stretches(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans of a text in order, neighbours joined into one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
