"""Lines of a session's file: JSON that anybody can read, and the same bytes back. Pure; no file is opened here.

    {"backscroll":1,"session":"support-42","begun":3,"id":"5f0c...","crc":"0a1b2c3d"}
    {"at":0,"kind":"message","seq":0,"format":1,"commit":1,"body":{"seq":0,"message":...},"crc":"4e5f6a7b"}

The first line tells whose file it is. `commit` stands in the last line of what was appended together: without it the
lines before are torn. A body that is JSON on one line stands there as it is, byte for byte; any other text stands under
`text`, and what is no text under `base64`. The checksum is of all bytes before it; that of a record begins with the
session's name, so that no line can pass for one of another session.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from backscroll.errors import ConfigurationError, StoreUnavailableError
from backscroll.ports import Record

VERSION = 1
"""Of everything that is written today; what was ever written is read for ever."""
_INTEGERS = range(-(2**63), 2**63)
_BEGINS = b'{"backscroll":'
_CRC = b',"crc":"'
SEAL = len(_CRC) + len(b'0a1b2c3d"}')
"""Bytes of a line from its checksum on."""
_HEAD = re.compile(
    rb'\{"at":(\d+),"kind":("(?:[^"\\]|\\.)*")(?:,"seq":(-?\d+))?(?:,"key":("(?:[^"\\]|\\.)*"))?,"format":(-?\d+)'
    rb'(?:,"commit":(\d+))?,"(body|text|base64)":'
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Header(NamedTuple):
    """The line that a file begins with."""

    session: str
    begun: int
    """Grows from session to session: their order. Nanoseconds since 1970; earlier versions counted from 1."""
    id: str
    """Of this file alone: a session that was deleted and began again has another one."""
    parent: str | None = None
    """The session that this one was forked from, by an earlier version."""
    parent_id: str | None = None
    shares: int = 0
    """Places that are read from the parent."""
    commit: int | None = None


class Head(NamedTuple):
    """What a record's line says before its body."""

    at: int
    kind: bytes
    """As it stands in the line: an index does not ask."""
    seq: int | None
    key: str | None
    format: int
    commit: int | None
    form: bytes
    start: int
    """Of the body, in bytes from the start of the line."""


class Form(NamedTuple):
    """A record, with its body as it will stand in the file."""

    record: Record
    name: bytes
    body: bytes


# -- writing --


def check(records: Sequence[Record]) -> None:
    """Raises `ConfigurationError` for a record that no line can hold."""
    for kind, seq, _, number, key in records:
        if any(value not in _INTEGERS for value in (number, 0 if seq is None else seq)):
            raise ConfigurationError(f"seq {seq} or format {number} has more than 64 bits")
        if _SURROGATE.search(kind) or (key is not None and _SURROGATE.search(key)):
            raise ConfigurationError(f"the kind {kind!r:.80} or the key {key!r:.80} is no Unicode text")


def form_of(record: Record) -> Form:
    """Chooses how a body stands in its line. Costs about as much as reading it as JSON."""
    body = record.body
    try:
        text = body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return Form(record, b"base64", b'"%b"' % b64encode(body))
    if _SURROGATE.search(text) is None and _is_json_on_one_line(text):
        return Form(record, b"body", body)
    # written with escapes, two lone surrogates that follow each other would come back as one character
    told = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
    if json.loads(told) == text:
        return Form(record, b"text", told.encode())
    return Form(record, b"base64", b'"%b"' % b64encode(body))


def _is_json_on_one_line(text: str) -> bool:
    if "\n" in text or "\r" in text:
        return False
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def record_lines(session: str, first: int, forms: Sequence[Form], commit: int) -> Iterator[bytes]:
    """The lines of what is appended together."""
    seed, last = seed_of(session), len(forms) - 1
    for number, (record, name, body) in enumerate(forms):
        told = f'{{"at":{first + number},"kind":{_text(record.kind)}'
        told += "" if record.seq is None else f',"seq":{record.seq}'
        told += "" if record.key is None else f',"key":{_text(record.key)}'
        told += f',"format":{record.format}' + (f',"commit":{commit}' if number == last else "")
        yield sealed(b'%b,"%b":%b' % (told.encode(), name, body), seed)


def header_line(header: Header) -> bytes:
    """The line that a file begins with."""
    told = {"backscroll": VERSION} | {name: value for name, value in header._asdict().items() if value is not None}
    if header.parent is None:
        del told["shares"]
    return sealed(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()[:-1], 0)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def sealed(begun: bytes, seed: int) -> bytes:
    """A line with its checksum and its end."""
    return b'%b%b%08x"}\n' % (begun, _CRC, crc32(begun, seed))


# -- reading: lines come without their ends --


def seed_of(session: str) -> int:
    """What checksums of a session's records begin with."""
    return crc32(session.encode())


def is_good(line: bytes, seed: int) -> bool:
    """Whether a line is as it was written."""
    start = len(line) - SEAL
    return start > 0 and line[start:] == b'%b%08x"}' % (_CRC, crc32(memoryview(line)[:start], seed))


def head_of(line: bytes) -> Head | None:
    """What a good line says before its body; None for one that is no record."""
    found = _HEAD.match(line)
    if found is None:
        return None
    at, kind, seq, key, number, commit, form = found.groups()
    return Head(
        int(at), kind, None if seq is None else int(seq), None if key is None else json.loads(key),
        int(number), None if commit is None else int(commit), form, found.end(),
    )  # fmt: skip  # as they stand in the line


def record_of(line: bytes, head: Head) -> Record:
    """The record of a good line."""
    told = line[head.start : -SEAL]
    if head.form == b"text":
        told = json.loads(told).encode("utf-8", "surrogatepass")
    elif head.form == b"base64":
        told = b64decode(told[1:-1], validate=True)
    return Record(json.loads(head.kind), head.seq, told, head.format, head.key)


def is_header(line: bytes) -> bool:
    """Whether a line looks like one that a file begins with."""
    return line.startswith(_BEGINS)


def header_of(line: bytes) -> Header | None:
    """The header of a line; None if it is not what was written. Raises `StoreUnavailableError` for a later version."""
    if not is_header(line) or not is_good(line, 0):
        return None
    told = json.loads(line)
    if told["backscroll"] > VERSION:
        raise StoreUnavailableError(
            f"the file has version {told['backscroll']}, and this version of Backscroll knows versions up to "
            f"{VERSION}: upgrade it"
        )
    return Header(**{name: told[name] for name in Header._fields if name in told})
