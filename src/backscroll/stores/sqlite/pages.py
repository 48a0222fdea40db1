"""Pages of a database file and of its log as they lie on the disk, read without SQLite, which refuses damaged ones.

Knows the format of the files (sqlite.org/fileformat2.html) and no table. Whatever is found is handed out, also what is
none: whoever asks has to check it.
"""

import os
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

USUAL = 4096  # bytes of a page
_LEAF, _INDEX, _INNER, _INNER_INDEX = 13, 10, 5, 2
"""Kinds of pages of a tree."""
_FRAME = 24  # bytes before each page in the log
_HEADER = 32  # bytes before the first of them


class Cell(NamedTuple):
    """What may be a row."""

    number: int | None
    """Of a row of a table; None in an index."""
    values: tuple[Any, ...]
    """Texts come as bytes."""
    pages: tuple[int, ...]
    """Further pages that it takes."""


class Frame(NamedTuple):
    """A page in the log."""

    page: int
    start: int
    """Where its header stands in the file."""


class Pages:
    """The pages of one database. The file stays open for whoever opened it: closing it would drop his locks."""

    def __init__(self, file: int, log: bytes) -> None:
        self._file, self._log = file, log
        self._length = os.fstat(file).st_size
        self.size = self._size()
        most = self._length // self.size + len(log) // self.size + 1
        self.frames, self.tail = _frames(log, self.size, most)
        """Frames of the log that were committed, and those behind the last commit."""
        self._newest: dict[int, int] = {}
        self._count()

    def _count(self) -> None:
        self._newest = {frame.page: frame.start for frame in self.frames}
        self.count = max(-(-self._length // self.size), *self._newest, 0)
        """Pages, which are numbered from 1."""

    def trust_tail(self) -> None:
        """Takes what stands behind the last commit for committed: whoever knows of another commit may ask for it."""
        self.frames += self.tail
        self.tail = []
        self._count()

    def _size(self) -> int:
        """The size that the header tells, unless pages of the usual one look more like pages."""
        told = int.from_bytes(os.pread(self._file, 2, 16), "big")
        told = 65536 if told == 1 else told
        if told == USUAL or told < 512 or told & (told - 1):
            return USUAL
        return max((told, USUAL), key=self._trees)

    def _trees(self, size: int) -> float:
        """The share of pages of that size that begin like one of a tree."""
        starts = range(size, self._length, size)
        kinds = [os.pread(self._file, 1, start) for start in starts]
        return sum(kind in (b"\x0d", b"\x0a", b"\x05", b"\x02") for kind in kinds) / max(len(starts), 1)

    def newest(self, page: int) -> bytes:
        """A page as it was last committed."""
        start = self._newest.get(page)
        return self.before(page) if start is None else self.framed(start)

    def before(self, page: int) -> bytes:
        """A page as it stands in the database itself."""
        return os.pread(self._file, self.size, (page - 1) * self.size).ljust(self.size, b"\0")

    def framed(self, start: int) -> bytes:
        """A page that stands in the log."""
        return self._log[start + _FRAME : start + _FRAME + self.size].ljust(self.size, b"\0")

    def older(self) -> Iterator[tuple[int, bytes]]:
        """Pages as they were before they were last committed, the newest first."""
        for frame in reversed(self.frames):
            if self._newest[frame.page] != frame.start:
                yield frame.page, self.framed(frame.start)
        for page in self._newest:
            yield page, self.before(page)

    def cells(self, page: int, image: bytes) -> tuple[list[Cell], bool]:
        """What stands in a page of a tree, and whether that is all: nothing is missing, nothing beside it."""
        base = 100 if page == 1 else 0
        kind, free, number, content, loose = struct.unpack_from(">BHHHB", image, base)
        found: list[Cell] = []
        if kind == _INNER:
            return found, True
        if kind not in (_LEAF, _INDEX, _INNER_INDEX):
            return found, not any(image)
        first = base + (12 if kind == _INNER_INDEX else 8)
        if first + 2 * number > self.size:
            return found, False
        used, good = loose, True
        for (start,) in struct.iter_unpack(">H", image[first : first + 2 * number]):
            read = self._cell(image, start, kind)
            good = good and read is not None
            if read is not None:
                found.append(read[0])
                used += read[1]
        return found, good and used + _free(image, free) == self.size - (content or 65536)

    def scattered(self, image: bytes) -> Iterator[Cell]:
        """Whatever in a page can be read as a row, wherever it stands."""
        for start in range(self.size - 4):
            for kind in (_LEAF, _INDEX):
                read = self._cell(image, start, kind)
                if read is not None:
                    yield read[0]

    def _cell(self, image: bytes, start: int, kind: int) -> tuple[Cell, int] | None:
        """A cell, and its bytes in the page; None where there is none."""
        try:
            at = start + 4 if kind == _INNER_INDEX else start
            length, at = _varint(image, at)
            number, at = _signed(*_varint(image, at)) if kind == _LEAF else (None, at)
            here = self._here(length, kind)
            if at + here > self.size or not _is_record(image, at, length):
                return None
            payload, pages = image[at : at + here], list[int]()
            if here < length:
                (following,) = struct.unpack_from(">I", image, at + here)
                payload += self._further(following, length - here, pages)
                here += 4
            return Cell(number, _values(payload), tuple(pages)), max(at + here - start, 4)
        except (IndexError, ValueError, struct.error):
            return None

    def _here(self, length: int, kind: int) -> int:
        """Bytes of a row that stand in its own page."""
        least = (self.size - 12) * 32 // 255 - 23
        most = self.size - 35 if kind == _LEAF else (self.size - 12) * 64 // 255 - 23
        if length <= most:
            return length
        here = least + (length - least) % (self.size - 4)
        return here if here <= most else least

    def _further(self, page: int, length: int, pages: list[int]) -> bytes:
        parts = []
        while length > 0:
            if not 0 < page <= self.count or len(pages) > self.count:
                raise ValueError("no such page")
            pages.append(page)
            image = self.newest(page)
            parts.append(image[4 : 4 + min(length, self.size - 4)])
            length -= len(parts[-1])
            (page,) = struct.unpack_from(">I", image)
        return b"".join(parts)


def _free(image: bytes, start: int) -> int:
    """Bytes of the blocks in a page that are free."""
    size = 0
    while 0 < start <= len(image) - 4 and size < len(image):
        following, length = struct.unpack_from(">HH", image, start)
        size += length
        start = following if following > start else 0
    return size


def _varint(image: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the place behind it."""
    value = 0
    for at in range(at, at + 8):  # noqa: B020, PLR1704 - it goes on from there
        byte = image[at]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + 1
    return value << 8 | image[at + 1], at + 2


def _signed(value: int, at: int) -> tuple[int, int]:
    return value - 2**64 if value >= 2**63 else value, at


def _is_record(image: bytes, at: int, length: int) -> bool:
    """Whether the sizes that a row tells of its columns make up its length. The cheapest of all tests comes first."""
    if length < 2 or not 2 <= image[at] < 0x80:
        return False
    end, told = at + image[at], image[at]
    at += 1
    while at < end and told <= length:
        kind, at = _varint(image, at)
        told += _length(kind)
    return at == end and told == length


_LENGTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)


def _length(kind: int) -> int:
    return (kind - 12) // 2 if kind >= 12 else _LENGTHS[kind]


def _values(payload: bytes) -> tuple[Any, ...]:
    kinds, at, end = [], 1, payload[0]
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        part = payload[at : at + _length(kind)]
        at += len(part)
        if kind >= 12:
            values.append(part)
        elif kind == 7:
            values.append(struct.unpack(">d", part)[0])
        else:
            values.append(None if kind == 0 else int.from_bytes(part, "big", signed=True) if part else kind - 8)
    return tuple(values)


# -- the log --


def _frames(log: bytes, size: int, most: int) -> tuple[list[Frame], list[Frame]]:
    """Frames that were committed, and those behind the last commit; only of pages up to `most`."""
    committed: list[Frame] = []
    tail: list[Frame] = []
    for frame, commits in _chain(log, _FRAME + size):
        if 0 < frame.page <= most:
            tail.append(frame)
        if commits:
            committed += tail
            tail = []
    return committed, tail


def _chain(log: bytes, step: int) -> Iterator[tuple[Frame, bool]]:
    """Each frame of the log, and whether it ends a commit.

    The checksum of a frame goes on from the one before. SQLite takes the first wrong one for the end of the log. Here
    the log goes on where the next frame shows that only this one was hit.
    """
    if len(log) < _HEADER + _FRAME:
        return
    order = ">" if log[3] & 1 else "<"
    whole = _sum(log[:24], (0, 0), order) == _told(log, 24)
    salts = log[16:24] if whole else log[_HEADER + 8 : _HEADER + 16]
    before = _told(log, 24) if whole else None
    for start in range(_HEADER, len(log) - _FRAME, step):
        told = _told(log, start + 16)
        got = None if before is None else _sum(_covered(log, start, step), before, order)
        before = told
        if got != told:
            ahead = start + step
            if ahead + _FRAME >= len(log):
                if log[start + 8 : start + 16] != salts:
                    return  # what an earlier log left there
            else:
                following = [_sum(_covered(log, ahead, step), sums, order) for sums in (told, got) if sums]
                if log[ahead + 8 : ahead + 16] != salts or _told(log, ahead + 16) not in following:
                    return
                if got and following[-1] == _told(log, ahead + 16):
                    before = got  # nothing is wrong but what stands for the checksum
        page, commits = struct.unpack_from(">II", log, start)
        yield Frame(page, start), commits > 0


def _covered(log: bytes, start: int, step: int) -> bytes:
    """What the checksum of a frame is made of."""
    return log[start : start + 8] + log[start + _FRAME : start + step].ljust(step - _FRAME, b"\0")


def _told(log: bytes, at: int) -> tuple[int, int]:
    one, other = struct.unpack_from(">II", log, at)
    return one, other


def _sum(content: bytes, known: tuple[int, int], order: str) -> tuple[int, int]:
    one, other = known
    for left, right in struct.iter_unpack(f"{order}II", content):
        one = (one + left + other) & 0xFFFFFFFF
        other = (other + right + one) & 0xFFFFFFFF
    return one, other
