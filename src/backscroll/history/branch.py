"""Which messages are on the current branch, as runs of their numbers.

Numbers grow and are never reused, so a branch is a few runs of them, one more for each rewind.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Branch:
    """Ascending `seq`s; a position in the branch is an index."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._starts: list[int] = []
        """Index of the first `seq` of each run."""
        self._length = 0
        for first, last in runs:
            self._begin(first, last)

    def _begin(self, first: int, last: int) -> None:
        self._firsts.append(first)
        self._lasts.append(last)
        self._starts.append(self._length)
        self._length += last - first + 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        """Return the `seq` at an index, which may count from the end."""
        index += self._length if index < 0 else 0
        if not 0 <= index < self._length:
            raise IndexError(f"no index {index} in a branch of {self._length}")
        run = bisect_right(self._starts, index) - 1
        return self._firsts[run] + index - self._starts[run]

    def __contains__(self, seq: int) -> bool:
        run = bisect_right(self._firsts, seq) - 1
        return run >= 0 and seq <= self._lasts[run]

    def runs(self) -> tuple[tuple[int, int], ...]:
        """Return the first and last `seq` of each run."""
        return tuple(zip(self._firsts, self._lasts, strict=True))

    def position(self, seq: int) -> int:
        """Return the index of the first `seq` that is at least this one."""
        run = bisect_left(self._lasts, seq)
        if run == len(self._lasts):
            return self._length
        return self._starts[run] + max(0, seq - self._firsts[run])

    def between(self, start: int, stop: int) -> Iterator[int]:
        """Yield the `seq`s from index `start` up to but excluding `stop`."""
        run = bisect_right(self._starts, start) - 1
        while start < stop:
            offset, begin = start - self._starts[run], self._firsts[run]
            end = min(self._lasts[run] + 1, begin + stop - self._starts[run])
            yield from range(begin + offset, end)
            start, run = self._starts[run] + end - begin, run + 1

    def add(self, seq: int) -> None:
        """Append a `seq` to the end."""
        if self._lasts and self._lasts[-1] + 1 == seq:
            self._lasts[-1] = seq
            self._length += 1
        else:
            self._begin(seq, seq)

    def until(self, last: int) -> "Branch":
        """Return its beginning, up to and including `last`."""
        return Branch((first, min(end, last)) for first, end in self.runs() if first <= last)
