"""Split a text into specific words (paths, identifiers, numbers, ids), ordinary words, and lines.

Only portions of a long text are read (`compaction/sampling.py`). A specific word is one that an agent can only have
from its context: it contains a digit, an underscore, a slash, an inner dot, or an inner capital.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain

from backscroll.compaction.sampling import portions, sampled
from backscroll.messages.structure import pieces_of

LONGEST_SPAN = 240  # characters of one salient line; a longer one is split where a value or a sentence ends
_LEAST_SPAN = 120
_REMEMBERED, _LONGEST_REMEMBERED = 16_000, 128_000  # characters of a text of which the words are remembered; of long
# ones few are, for they would fill the memory
_SHORTEST_RUN, _LONGEST_RUN = 4, 160
_RUN = re.compile(rf"[\w./~@$+-]{{{_SHORTEST_RUN},{_LONGEST_RUN}}}")
_SPECIFIC = re.compile(r"\d{4}|\d\.\d|[^\W\d_]\d|\d[^\W\d_]|\w_\w|/\w|\w\.\w{2}|[a-z][A-Z]|[A-Z]{2}[a-z]")
_DOTTED = re.compile(r"[/.](?=\w{6})")
_NUMBERED = re.compile(r"\d+(?:\s?[→\t|:]|[-:]\t)\s?")
_SHORT_NUMBER = re.compile(r"\d{1,3}(?:\s?[→\t|:]|[-:]\t)\s?")
_VALUE_END = re.compile(r"[,;}\]]\s*(?=[\"{\[\w'])|(?<=[.!?])\s+")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_ORDINARY = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")


def _blank(kept: re.Pattern[str]) -> bytes:
    """Return a table that blanks every ASCII character but these: four times as fast as `findall`."""
    return bytes(char if kept.match(chr(char) * _SHORTEST_RUN) else 32 for char in range(256))


def _runs(text: str, kept: re.Pattern[str], table: bytes) -> list[str]:
    """Return the matches of a pattern in a text; some may be shorter or longer than the pattern allows."""
    return text.encode().translate(table).decode().split() if text.isascii() else kept.findall(text)


class _Remembered(dict[str, tuple[str, ...]]):
    """Words of a run, read once, because the same names occur repeatedly. A full cache is cleared."""

    def __init__(self, read: Callable[[str], tuple[str, ...]], most: int) -> None:
        self._read, self._most = read, most

    def __missing__(self, run: str) -> tuple[str, ...]:
        found = self._read(run)
        if len(run) <= _LONGEST_RUN:
            if len(self) >= self._most:
                self.clear()
            self[run] = found
        return found


def specific_words(text: str) -> tuple[str, ...]:
    """Return the specific words of a text, sorted and unique; for a path or a dotted name also its last component."""
    if len(text) <= _REMEMBERED:
        return _known_words(text)
    return _known_long(text) if len(text) <= _LONGEST_REMEMBERED else _words_in(sampled(text))


def _words_in(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(chain.from_iterable(map(_specific, set(_runs(text, _RUN, _OF_RUNS)))))))


_known_words = lru_cache(maxsize=2_048)(_words_in)
_known_long = lru_cache(maxsize=8)(_words_in)
"""Each compaction reads what stays in a view again, so results are cached."""


def _words_of(run: str) -> tuple[str, ...]:
    if not _SHORTEST_RUN <= len(run) <= _LONGEST_RUN:
        return tuple(word for part in _RUN.findall(run) for word in _words_of(part))
    word = run.strip(".-+$@~") if run[0] not in "~." else run.rstrip(".-+$@~")
    if len(word) < 4 or not _SPECIFIC.search(word):
        return ()
    last = word.rpartition("/")[2] if "/" in word else _DOTTED.split(word)[-1]
    if last != word and len(last) >= 5 and _SPECIFIC.search(last):
        return word, last
    return (word,)


def _taken_apart(letters: str) -> tuple[str, ...]:
    return tuple(map(str.lower, _ORDINARY.findall(letters)))


_OF_RUNS, _OF_LETTERS = _blank(_RUN), _blank(_LETTERS)
_specific = _Remembered(_words_of, 32_768).__getitem__
_ordinary = _Remembered(_taken_apart, 8_192).__getitem__


def ordinary_words(text: str) -> set[str]:
    """Return words in lower case, with identifiers split."""
    return set(chain.from_iterable(map(_ordinary, _runs(sampled(text), _LETTERS, _OF_LETTERS))))


@lru_cache(maxsize=16_384)  # the next digest reads its lines again
def line_words(line: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the specific words of a line, sorted, and its ordinary words if there are specific ones."""
    found = set(chain.from_iterable(map(_specific, _runs(line, _RUN, _OF_RUNS))))
    return (tuple(sorted(found)), frozenset(ordinary_words(line))) if found else ((), frozenset())


def spans(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the lines of a text as (start, end), without line ends; long ones split where a value or sentence ends."""
    for first, last in portions(text, start, len(text) if end is None else end):
        at = first
        for line in text[first:last].splitlines(keepends=True):
            stop = at + len(line)
            if len(line) > LONGEST_SPAN:
                yield from _split(text, at, stop)
            else:
                yield at, stop - (line[-1] in "\r\n")
            at = stop


def _split(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while stop - start > LONGEST_SPAN:
        end = 0
        for found in _VALUE_END.finditer(text, start + _LEAST_SPAN, start + LONGEST_SPAN):
            end = found.end()
        end = end or start + LONGEST_SPAN
        yield start, end
        start = end
    yield start, stop


def pieces(text: str) -> list[str]:
    """Return the same lines as texts, without numbering and surrounding space."""
    lines = sampled(text).splitlines(keepends=True)
    if max(map(len, lines), default=0) > LONGEST_SPAN:
        lines = [line[start:end] for line in lines for start, end in _split(line, 0, len(line))]
    # most lines have no number: these need no call
    return [bare(line) if (short := line.strip())[:1].isdecimal() else short for line in lines]


def result_pieces(text: str) -> list[str]:
    """Return the lines of a tool result; of JSON with long lines its values."""
    found = pieces_of(text) if len(text) > LONGEST_SPAN else None
    if found is None or max(map(len, sampled(text).split("\n"))) <= LONGEST_SPAN:
        return pieces(text)
    values = [text[piece.start : piece.end] for piece in found.pieces]
    end = len(text) - found.tail
    return [*pieces(text[: found.head]), *values, *(pieces(text[end:]) if found.tail else ())]


def bare(line: str, number: re.Pattern[str] = _NUMBERED) -> str:
    """Remove a line's number and surrounding space."""
    line = line.lstrip()
    if line[:1].isdecimal() and (numbered := number.match(line)):
        line = line[numbered.end() :]
    return line.strip()


def significant_text(line: str) -> str:
    """Return the part of a line that mentions something. A number of four digits is a specific word, a shorter one is
    not. The result mostly equals `bare`, so that a digest finds the cached words of a result's line.
    """
    short = line.strip()
    return bare(line, _SHORT_NUMBER) if short[:1].isdecimal() else short
