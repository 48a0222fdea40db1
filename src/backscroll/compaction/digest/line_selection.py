"""Choosing lines that together mention most of what weighs: greedy cover. Pure; where the lines are from and what a
word weighs is decided elsewhere.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import inf

AGAIN = 0.3  # of a word's weight that is left for the next line that mentions it: said twice is not worth twice
_LEAST = 5  # tokens: no line worth keeping takes fewer
_END = (inf, -1)  # stands behind everything that waits
FRAME = 3  # tokens by which a line costs more than its text: it stands in a row of its own


Candidate = tuple[Sequence[str], int, float, float]
"""A line that could be kept: the words that it mentions, its tokens, how much more or less than its words it is worth,
and what it would add for each of its tokens if it were the first. A plain tuple, for there are a thousand of them.
"""


def ranked(candidates: Sequence[Candidate]) -> list[int]:
    """Their indexes, best first; equal ones as they come."""
    worths = [worth for _, _, _, worth in candidates]
    return sorted(range(len(worths)), key=worths.__getitem__, reverse=True)


def cover(
    candidates: Sequence[Candidate], weights: Mapping[str, float], room: int, order: Sequence[int] | None = None
) -> list[int]:
    """Indexes of the chosen lines, best first, within `room` tokens. `order`: what `ranked` says of them, if known.

    At each turn the line that adds most weight for each of its tokens. Equal ones are taken in the order given.
    """
    left = defaultdict(float, weights)
    weigh = left.__getitem__
    order, at = ranked(candidates) if order is None else order, 0
    again = [_END]  # a heap of those that others have made worth less, by their new worth; best is lowest
    chosen: list[int] = []
    first = _place(candidates, order, at)
    while room >= _LEAST:
        if again[0] < first:
            number = heappop(again)[1]
        elif first is _END:
            break
        else:
            number, at = order[at], at + 1
            first = _place(candidates, order, at)
        words, tokens, factor, _ = candidates[number]
        if tokens > room:
            continue
        adds = -factor * sum(map(weigh, words)) / (tokens + FRAME)
        if adds > again[0][0] or adds > first[0]:
            heappush(again, (adds, number))  # others were chosen since that mention the same
            continue
        if adds >= 0:
            break
        chosen.append(number)
        room -= tokens
        for word in words:
            left[word] *= AGAIN
    return chosen


def _place(candidates: Sequence[Candidate], order: Sequence[int], at: int) -> tuple[float, int]:
    """Where the next one stands that nothing has made worth less yet."""
    return (-candidates[order[at]][3], order[at]) if at < len(order) else _END


def stretches(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans of a text in order, neighbours joined into one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
