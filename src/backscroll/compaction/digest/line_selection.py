"""Choose lines that together mention most of the weight: a greedy cover."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import inf

NEIGHBOR = 0.5  # of a chosen line's worth that the lines next to it gain: code is edited in blocks
AGAIN = 0.3  # of a word's weight that is left for the next line that mentions it: repetition is worth less
_LEAST = 5  # tokens: no line worth keeping takes fewer
_END = (inf, -1)  # sorts after everything in the heap
FRAME = 3  # tokens by which a line costs more than its text: it has a row of its own


Candidate = tuple[Sequence[str], int, float, float]
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
    left = defaultdict(float, weights)
    weigh = left.__getitem__
    order, at = ranked(candidates) if order is None else order, 0
    again = [_END]  # a heap of those that others made worth less, by their new worth; best is lowest
    chosen: dict[int, None] = {}
    gained: dict[int, float] = {}
    first = _place(candidates, order, at)
    while room >= _LEAST:
        if again[0] < first:
            number = heappop(again)[1]
        elif first is _END:
            break
        else:
            number, at = order[at], at + 1
            first = _place(candidates, order, at)
        words, tokens, _, _ = candidates[number]
        adds = -_worth(candidates[number], weigh, gained.get(number, 0.0))
        if tokens > room or number in chosen or adds >= 0:
            continue
        if adds > again[0][0] or adds > first[0]:
            heappush(again, (adds, number))  # others with the same words were chosen since
            continue
        chosen[number] = None
        room -= tokens
        for word in words:
            left[word] *= AGAIN
        gain = -adds * (tokens + FRAME) * NEIGHBOR
        for near in neighbors(number) if neighbors is not None else ():
            if near not in chosen and gain > gained.get(near, 0.0):
                gained[near] = gain
                heappush(again, (-_worth(candidates[near], weigh, gain), near))
    return list(chosen)


def _worth(candidate: Candidate, weigh: Callable[[str], float], gained: float) -> float:
    """Return what a line adds per token."""
    words, tokens, factor, _ = candidate
    return (factor * sum(map(weigh, words)) + gained) / (tokens + FRAME)


def _place(candidates: Sequence[Candidate], order: Sequence[int], at: int) -> tuple[float, int]:
    """Return the next line that no chosen one has made worth less yet."""
    return (-candidates[order[at]][3], order[at]) if at < len(order) else _END


def stretches(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort the spans of a text, and join adjacent ones."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
