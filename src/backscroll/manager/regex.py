"""Regular expressions written by models, with limits on time and memory.

The syntax is that of Python's `re` plus that of the package `regex`, without recursion. Python's own engine cannot be
interrupted: a pattern like `(a|aa)*b` would block everything for ever.
"""

import re
import time
from threading import get_ident
from typing import Any

from backscroll.errors import ConfigurationError

LIMIT = 2.0
"""Seconds of processor time that the search of one pattern may take, with all that is done between its lines."""
LONGEST = 5_000  # characters of a pattern: compiling takes some microseconds each
_MOST_NODES = 50_000  # of a compiled pattern with repetitions written out: about 300 bytes each
_AT_ONCE = 0.02  # seconds other threads may wait; releasing the GIL costs more than most searches
_RECURSION = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
_TOKEN = re.compile(r"(?P<least>\{\s*(\d*)\s*(?:,\s*\d*\s*)?\}[?+]?)|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\s+|.", re.DOTALL)


class LimitedPattern:
    """A compiled pattern whose time limit covers all lines that it searches."""

    def __init__(self, pattern: str, limit: float = LIMIT) -> None:
        self._pattern, self._limit, self._left, self._lines = pattern, limit, limit, 0
        self._expression = _compiled(pattern)
        self._thread, self._until = 0, 0.0
        """The thread of the last search, and its processor time then."""

    def finds(self, line: str) -> bool:
        """Return whether the pattern matches in the line. Raises `ConfigurationError` if its time is used up."""
        if self._thread != (thread := get_ident()):  # each thread has a clock of its own
            self._thread, self._until = thread, time.thread_time()
        found = False
        if self._left > 0:
            self._lines += 1
            try:
                found = self._search(line)
            except TimeoutError:
                self._left = 0
        now = time.thread_time()
        self._left -= now - self._until
        self._until = now
        if self._left > 0:
            return found
        raise ConfigurationError(
            f"the pattern {self._pattern!r:.80} takes too long, and was stopped after {self._limit:g} seconds, at line "
            f"{self._lines:,}: write it without repetitions inside repetitions, search fewer messages by a `ref` such "
            'as "0-500", or search for words with a query'
        )

    def _search(self, line: str) -> bool:
        try:
            return self._expression.search(line, timeout=min(_AT_ONCE, self._left)) is not None
        except TimeoutError:
            return self._expression.search(line, timeout=self._left, concurrent=True) is not None


def _compiled(pattern: str) -> Any:
    import regex  # noqa: PLC0415 - loaded at the first pattern, and not with the package

    if len(pattern) > LONGEST:
        raise ConfigurationError(
            f"{pattern!r:.80} is no regular expression that is taken: it has {len(pattern)} characters, at most "
            f"{LONGEST} are allowed"
        )
    if _RECURSION.search(pattern):  # uses hundreds of megabytes within the time limit
        raise ConfigurationError(f"{pattern!r:.80} is no regular expression that is taken: write it without recursion")
    if nodes(pattern) > _MOST_NODES:
        raise ConfigurationError(
            f"{pattern!r:.80} is no regular expression that is taken: it repeats too much, write smaller numbers"
        )
    try:
        return regex.compile(pattern, cache_pattern=False)  # its cache keeps hundreds, of any size
    except (regex.error, ValueError, LookupError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise ConfigurationError(f"{pattern!r:.80} is no regular expression: {error}") from None


def nodes(pattern: str) -> int:
    """Return an upper bound on the nodes of the compiled pattern, with repetitions written out.

    This is not a parser. If it is unclear what a number repeats, the largest element before it is assumed.
    """
    groups: list[tuple[int, int]] = []
    total, largest, single = 0, 1, False  # of the open group: all nodes, and those of its largest member
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token["least"]:
            least = int(token[2].lstrip("0")[:9] or 0)
            total += (1 if single else largest) * (max(1, least) - 1)
        elif text == "(":
            groups.append((total, largest))
            total, largest = 1, 1
        elif text == ")" and groups:
            before, most = groups.pop()
            total, largest = before + total, max(most, total)
        elif not text.isspace():
            total += 1
        single = text not in "()*+?" and not text.isspace()
        if total > _MOST_NODES:
            break
    return total + sum(before for before, _ in groups)
