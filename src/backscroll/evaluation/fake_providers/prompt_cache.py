"""A provider's prompt cache: which tokens of a request it reads, and which it writes.

"Prompt caching" (Claude Platform Docs) has the rules of marks: a request looks back from each mark over at most 20
positions, the mark's own as the first, and finds only positions that an earlier request wrote. "Prompt caching"
(OpenAI) and "Context caching" (Gemini API) describe automatic caches, which match the longest prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.evaluation.fake_providers.chain import fingerprint

LOOK_BACK = 20
"""Positions that are looked up from each mark, its own included."""

LIVES = {"5m": 300.0, "1h": 3600.0, "30m": 1800.0}
"""Seconds for which an entry lives after it was written or last read, by `ttl`."""


class Unit(NamedTuple):
    """One block of a request, in the order of the prompt."""

    content: str
    """Canonical text: equal texts are cached as one."""
    tokens: int
    mark: str | None = None
    """`ttl` of the mark on this block, if it has one."""


@dataclass(frozen=True)
class CacheUsage:
    """Tokens of one request by how they were billed."""

    read: int = 0
    written: int = 0
    uncached: int = 0
    written_by_ttl: tuple[tuple[str, int], ...] = ()
    """Parts of `written` by `ttl`."""


class PromptCache:
    """A prompt cache without a clock: `advance` lets time pass."""

    def __init__(self) -> None:
        self._now = 0.0
        self._entries: dict[str, tuple[float, str]] = {}

    def advance(self, seconds: float) -> None:
        """Let time pass. Entries that were not used for their life are gone."""
        self._now += seconds
        self._entries = {key: entry for key, entry in self._entries.items() if entry[0] > self._now}

    def bill_marks(self, salt: str, units: Sequence[Unit], minimum: int) -> CacheUsage:
        """Read and write the cache as Anthropic does, at marks.

        Args:
            salt: What must be equal for any hit, such as the model.
            units: The blocks of the prompt.
            minimum: Tokens that a prefix needs to be cached.
        """
        keys, sums = _positions(salt, units)
        marks = [at for at, unit in enumerate(units) if unit.mark is not None]
        hits = [at for mark in marks for at in self._look_back(keys, mark)]
        read_at = max(hits, default=-1)
        self._refresh(keys[read_at : read_at + 1])
        read = covered = sums[read_at] if read_at >= 0 else 0
        written: dict[str, int] = {}
        for mark in marks:
            if mark > read_at and sums[mark] >= minimum:
                ttl = units[mark].mark or "5m"
                written[ttl] = written.get(ttl, 0) + sums[mark] - covered
                covered = sums[mark]
                self._write(keys[mark], ttl)
        total = sums[-1] if sums else 0
        return CacheUsage(read, covered - read, total - covered, tuple(sorted(written.items())))

    def bill_prefix(self, salt: str, units: Sequence[Unit], minimum: int, ttl: str = "30m") -> CacheUsage:
        """Read and write the cache as automatic caches do: the longest prefix that any earlier request had.

        Args:
            salt: What must be equal for any hit, such as the model and the `prompt_cache_key`.
            units: The blocks of the prompt. A prefix ends between two of them.
            minimum: Tokens that a prefix needs to be cached.
            ttl: How long entries live, a key of `LIVES`.
        """
        keys, sums = _positions(salt, units)
        cached = [at for at, total in enumerate(sums) if total >= minimum]
        read_at = max((at for at in cached if keys[at] in self._entries), default=-1)
        read = sums[read_at] if read_at >= 0 else 0
        self._refresh([keys[at] for at in cached if at <= read_at])
        for at in cached:
            if at > read_at:
                self._write(keys[at], ttl)
        written = sums[-1] - read if cached else 0
        total = sums[-1] if sums else 0
        return CacheUsage(read, written, total - read - written, ((ttl, written),))

    def _look_back(self, keys: list[str], mark: int) -> list[int]:
        reached = range(mark, max(mark - LOOK_BACK, -1), -1)
        found = next((at for at in reached if keys[at] in self._entries), None)
        return [] if found is None else [found]

    def _refresh(self, keys: list[str]) -> None:
        for key in keys:
            if key in self._entries:
                self._write(key, self._entries[key][1])

    def _write(self, key: str, ttl: str) -> None:
        self._entries[key] = (self._now + LIVES[ttl], ttl)


def _positions(salt: str, units: Sequence[Unit]) -> tuple[list[str], list[int]]:
    """Return key and tokens of the prefix that ends with each unit."""
    keys: list[str] = []
    sums: list[int] = []
    key, total = fingerprint(salt), 0
    for unit in units:
        key, total = fingerprint(key, unit.content), total + unit.tokens
        keys.append(key)
        sums.append(total)
    return keys, sums
