"""What a session's file holds and where: made from its lines, in order. Pure; no file is opened here.

Lines count when the last line of their append is there. What a crash left of an append is torn: the next one begins
again at the same place. A line that is not as it was written costs its own places, and no others; if nobody was told
that its append is safe, a power cut may have taken any part of it, and all of it is torn.
"""

from array import array
from bisect import bisect_left
from typing import NamedTuple

from backscroll.errors import CorruptionError
from backscroll.stores.jsonl import lines
from backscroll.stores.jsonl.lines import Header

_MOST_MISSING = 10_000_000  # places that may be missing at once, so that no number in a file can take all memory


class Span(NamedTuple):
    """Bytes of a file."""

    start: int
    size: int


class _Waiting(NamedTuple):
    """A record whose append may not be whole."""

    at: int
    start: int
    size: int
    """0 for a record that is not there, or not as it was written."""
    seq: int | None = None
    key: str | None = None


class _Mark(NamedTuple):
    """What was known before an append in which something is not as it was written."""

    commit: int
    starts: int
    seqs: int
    damaged: int
    end: int
    commits: int
    whole: int
    seal: bytes


class Index:
    """Grows with the file. Places below `base` are read from the parent."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.header: Header | None = None
        self.told, self.began = b"", 0
        """The header as it stands in the file, and where."""
        self.base = 0
        self.end = 0
        """The place behind the last record."""
        self.commits = 0
        """Appends that are whole, and the beginning of a fork: the number that the newest of them has."""
        self.whole = 0
        """Bytes up to the end of the last whole append."""
        self.seal = b""
        """The end of the last line of it."""
        self.keys: dict[str, int] = {}
        self.torn: list[Span] = []
        """What belongs to no whole append, between those that are."""
        self.rest: list[Span] = []
        """The same behind them: what a crash left, or somebody is writing just now."""
        self.tail: Span | None = None
        """What stands behind the last end of a line."""
        self._seed = lines.seed_of(session)
        self._starts = array("q")
        """Of the records from `base` on, in bytes; -1 - the place to look at where one is not as it was written."""
        self._seqs = array("q")
        self._places = array("q")
        """Of the records that have a seq."""
        self._damaged: list[int] = []
        self._waiting: list[_Waiting] = []
        self._marks: list[_Mark] = []

    # -- growing --

    def again(self) -> None:
        """What follows is read from `whole` on."""
        self._waiting, self.rest, self.tail = [], [], None
        if not self.commits:
            self.header = None

    def feed(self, start: int, line: bytes) -> None:
        """Takes the next line, without its end."""
        span = Span(start, len(line) + 1)
        head = lines.head_of(line) if lines.is_good(line, self._seed) else None
        if head is None:
            self._odd(span, line)
            return
        self._back_to(next((mark for mark in self._marks if mark.end == head.at), None), start)
        if head.at == self.end:  # an append begins: what stands before it belongs to none
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
        """What waits belongs to no whole append."""
        self.rest += [Span(each.start, each.size) for each in self._waiting if each.size]
        self._waiting = []

    def _odd(self, span: Span, line: bytes) -> None:
        """A line that is no record."""
        if not line.strip():
            return
        header = lines.header_of(line) if not self.commits else None
        if header is None:
            self.rest.append(span)
        elif header.session != self.session:
            raise CorruptionError(f"it is the file of the session {header.session!r}, and not of {self.session!r}")
        else:
            self._tear()
            self.header, self.told, self.began = header, line, span.start
            self.base = self.end = header.shares
            if header.commit is not None:
                self._commit(span, line, header.commit)

    def _miss(self, first: int, last: int, start: int) -> None:
        """Records before `start` are not there, or not as they were written: where the first odd line is, if any."""
        behind = self._waiting[-1].start if self._waiting else self.whole - 1
        odd = [span for span in self.rest if span.start > behind]
        self.rest = [span for span in self.rest if span.start <= behind]
        start = min([start, *(span.start for span in odd)])
        self._waiting += [_Waiting(place, start, 0) for place in range(first, last)]

    def _commit(self, span: Span, line: bytes, commit: int) -> None:
        if any(not each.size for each in self._waiting):
            lengths = len(self._starts), len(self._seqs), len(self._damaged)
            self._marks.append(_Mark(commit, *lengths, self.end, self.commits, self.whole, self.seal))
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
        """Takes back, from the end, what holds damage and was not acknowledged: a power cut tore it."""
        self._back_to(next((mark for mark in self._marks if mark.commit > acknowledged), None), self.whole)

    def _back_to(self, mark: _Mark | None, until: int) -> None:
        """Forgets an append and all behind it, up to a byte of the file."""
        if mark is None:
            return
        self.rest = [Span(mark.whole, until - mark.whole), *(span for span in self.rest if span.start >= until)]
        del self._starts[mark.starts :], self._damaged[mark.damaged :]
        del self._seqs[mark.seqs :], self._places[mark.seqs :]
        self.end, self.commits, self.whole, self.seal = mark.end, mark.commits, mark.whole, mark.seal
        self.keys = {key: place for key, place in self.keys.items() if place < self.end}
        self._marks, self._waiting = self._marks[: self._marks.index(mark)], []

    def unfinished(self) -> list[Span]:
        """All that stands behind the last whole append."""
        waiting = [Span(each.start, each.size) for each in self._waiting if each.size]
        return sorted([*self.rest, *waiting, *([self.tail] if self.tail else ())])

    # -- asking --

    @property
    def id(self) -> str | None:
        """Of the file; None where its header is not as it was written."""
        return self.header.id if self.header else None

    def start(self, place: int) -> int:
        """Where a record's line begins, in bytes; negative, -1 - where to look, for one that is not as it was."""
        return self._starts[place - self.base] if place < self.end else self.whole

    def damaged(self) -> list[int]:
        """Places of the records that are not there, or not as they were written."""
        return list(self._damaged)

    def damaged_between(self, first: int, last: int) -> int | None:
        """The first such place from `first` to before `last`."""
        at = bisect_left(self._damaged, first)
        return self._damaged[at] if at < len(self._damaged) and self._damaged[at] < last else None

    def seqs_around(self, place: int) -> tuple[int | None, int | None]:
        """The nearest seqs before and behind a place; None where there is none here, -1 before the first of a log."""
        at = bisect_left(self._places, place)
        before = self._seqs[at - 1] if at else None if self.base else -1
        return before, self._seqs[at] if at < len(self._seqs) else None

    def place_of_seq(self, seq: int) -> tuple[int, int]:
        """The place of the first record with at least this seq, `end` if none, and behind which place it can stand."""
        at = bisect_left(self._seqs, seq)
        before = self._places[at - 1] + 1 if at else self.base
        return (self._places[at] if at < len(self._places) else self.end), before
