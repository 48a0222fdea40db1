"""The index of a session's file, built from its lines in order. Opens no file.

Lines count once the last line of their append is there. What a crash left of an append is torn, and the next append
starts at the same position. A damaged line costs its own positions and no others. If its append was never acknowledged,
a power cut may have lost any part of it, and the whole append is torn.
"""

from array import array
from bisect import bisect_left
from typing import NamedTuple

from backscroll.errors import CorruptionError
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.lines import Header

_MOST_MISSING = 10_000_000  # missing positions at once, so that a damaged number cannot exhaust the memory


class Span(NamedTuple):
    """Bytes of a file."""

    start: int
    size: int


class _Waiting(NamedTuple):
    """A record whose append is not yet complete."""

    at: int
    start: int
    size: int
    """0 for a record that is missing or damaged."""
    seq: int | None = None
    key: str | None = None


class _Mark(NamedTuple):
    """The state of the index before an append that contains damage."""

    commit: int
    starts: int
    seqs: int
    damaged: int
    end: int
    commits: int
    whole: int
    seal: bytes


class Index:
    """The index of one file. Positions below `base` are read from the parent."""

    began: int
    header_line: bytes

    def __init__(self, session: str) -> None:
        self.session = session
        self.header: Header | None = None
        self.header_line, self.began = b"", 0
        """The first line of the file, and its offset."""
        self.base: int = 0
        self.end: int = 0
        """Number of records in the log."""
        self.commits: int = 0
        """Number of the newest whole append; the start of a fork counts as one."""
        self.whole: int = 0
        """Offset of the end of the last whole append."""
        self.seal: bytes = b""
        """The last bytes of that append."""
        self.keys: dict[str, int] = {}
        self.torn: list[Span] = []
        """Spans between whole appends that belong to none."""
        self.rest: list[Span] = []
        """Spans behind the last whole append: left by a crash, or being written now."""
        self.tail: Span | None = None
        """The unfinished line at the end."""
        self._seed = lines.seed_of(session)
        self._starts = array("q")
        """Offsets of the records from `base` on. For a damaged one: -1 - the offset where it should be."""
        self._seqs = array("q")
        self._places = array("q")
        """Positions of the records that have a `seq`."""
        self._damaged: list[int] = []
        self._waiting: list[_Waiting] = []
        self._marks: list[_Mark] = []

    # -- growing --

    def again(self) -> None:
        """Prepare for reading again from `whole`."""
        self._waiting, self.rest, self.tail = [], [], None
        if not self.commits:
            self.header = None

    def feed(self, start: int, line: bytes) -> None:
        """Add the next line, without its end."""
        span = Span(start, len(line) + 1)
        head = lines.head_of(line) if lines.is_good(line, self._seed) else None
        if head is None:
            self._odd(span, line)
            return
        self._back_to(next((mark for mark in self._marks if mark.end == head.at), None), start)
        if head.at == self.end:  # an append starts, so the lines before belong to none
            self._tear()
        expected = self.end + len(self._waiting)
        if not expected <= head.at <= expected + _MOST_MISSING:
            self.rest.append(span)
            return
        if head.at > expected:
            self._miss(expected, head.at, start)
        self._waiting.append(_Waiting(head.at, *span, head.seq, head.key))
        if head.commit is not None:
            self._commit(span, line, head.commit)

    def _tear(self) -> None:
        """Move what waits to the torn spans: its append is incomplete."""
        self.rest += [Span(each.start, each.size) for each in self._waiting if each.size]
        self._waiting = []

    def _odd(self, span: Span, line: bytes) -> None:
        """Handle a line that is no record."""
        if not line.strip():
            return
        header = lines.header_of(line) if not self.commits else None
        if header is None:
            self.rest.append(span)
        elif header.session != self.session:
            raise CorruptionError(f"the file belongs to the session {header.session!r}, not to {self.session!r}")
        else:
            self._tear()
            self.header, self.header_line, self.began = header, line, span.start
            self.base = self.end = header.shares
            if header.commit is not None:
                self._commit(span, line, header.commit)

    def _miss(self, first: int, last: int, start: int) -> None:
        """Add missing records before `start`, located at the first damaged line, if any."""
        behind = self._waiting[-1].start if self._waiting else self.whole - 1
        odd = [span for span in self.rest if span.start > behind]
        self.rest = [span for span in self.rest if span.start <= behind]
        start = min([start, *(span.start for span in odd)])
        self._waiting += [_Waiting(place, start, 0) for place in range(first, last)]

    def _commit(self, span: Span, line: bytes, commit: int) -> None:
        if any(not each.size for each in self._waiting):
            lengths = len(self._starts), len(self._seqs), len(self._damaged)
            self._marks.append(
                _Mark(commit, *lengths, end=self.end, commits=self.commits, whole=self.whole, seal=self.seal)
            )
        for at, start, size, seq, key in self._waiting:
            self._starts.append(start if size else -1 - start)
            if not size:
                self._damaged.append(at)
            if seq is not None:
                self._seqs.append(seq)
                self._places.append(at)
            if key is not None:
                self.keys[key] = at
        self.end += len(self._waiting)
        self.torn += self.rest
        self.commits = max(commit, self.commits)
        self.whole, self.seal = sum(span), line[-lines.SEAL :] + b"\n"
        self.again()

    def settle(self, acknowledged: int) -> None:
        """Drop damaged appends at the end that were not acknowledged: a power cut tore them."""
        self._back_to(next((mark for mark in self._marks if mark.commit > acknowledged), None), self.whole)

    def _back_to(self, mark: _Mark | None, until: int) -> None:
        """Drop an append and all behind it, up to an offset of the file."""
        if mark is None:
            return
        self.rest = [Span(mark.whole, until - mark.whole), *(span for span in self.rest if span.start >= until)]
        del self._starts[mark.starts :], self._damaged[mark.damaged :]
        del self._seqs[mark.seqs :], self._places[mark.seqs :]
        self.end, self.commits, self.whole, self.seal = mark.end, mark.commits, mark.whole, mark.seal
        self.keys = {key: place for key, place in self.keys.items() if place < self.end}
        self._marks, self._waiting = self._marks[: self._marks.index(mark)], []

    def unfinished(self) -> list[Span]:
        """All spans behind the last whole append."""
        waiting = [Span(each.start, each.size) for each in self._waiting if each.size]
        return sorted([*self.rest, *waiting, *([self.tail] if self.tail else ())])

    # -- asking --

    @property
    def id(self) -> str | None:
        """The id of the file; `None` if its header is damaged."""
        return self.header.id if self.header else None

    def start(self, place: int) -> int:
        """Offset of a record's line. Negative for a damaged one: -1 - the offset where it should be."""
        return self._starts[place - self.base] if place < self.end else self.whole

    def damaged(self) -> list[int]:
        """Positions of the records that are missing or damaged."""
        return list(self._damaged)

    def damaged_between(self, first: int, last: int) -> int | None:
        """The first damaged position from `first` to before `last`."""
        at = bisect_left(self._damaged, first)
        return self._damaged[at] if at < len(self._damaged) and self._damaged[at] < last else None

    def seqs_around(self, place: int) -> tuple[int | None, int | None]:
        """The nearest `seq`s before and after a position; `None` if this file has none, -1 at the start of a log."""
        at = bisect_left(self._places, place)
        before = self._seqs[at - 1] if at else None if self.base else -1
        return before, self._seqs[at] if at < len(self._seqs) else None

    def place_of_seq(self, seq: int) -> tuple[int, int]:
        """The first position with at least this `seq`, or `end`, and the lowest position it could have."""
        at = bisect_left(self._seqs, seq)
        before = self._places[at - 1] + 1 if at else self.base
        return (self._places[at] if at < len(self._places) else self.end), before
