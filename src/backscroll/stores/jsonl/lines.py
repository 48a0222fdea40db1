"""The format of a session's file: JSON lines that anyone can read, and that give back the same bytes.

    {"backscroll":1,"session":"support-42","begun":3,"id":"5f0c...","crc":"0a1b2c3d"}
    {"at":0,"kind":"message","seq":0,"format":1,"commit":1,"body":{"seq":0,"message":...},"crc":"4e5f6a7b"}

The first line names the session. `commit` is in the last line of an append: without it, the lines before are torn. A
body that is JSON on one line is kept byte for byte; any other text is under `text`, and other bytes under `base64`. The
checksum covers all bytes before it. That of a record starts with the session's name, so that no line passes for another
session's.
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
"""Version of everything that is written today. All versions stay readable."""
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
    """The first line of a file."""

    session: str
    begun: int
    """Orders the sessions. Nanoseconds since 1970; earlier versions counted from 1."""
    id: str
    """Unique for each file: a session that was deleted and created again has another one."""
    parent: str | None = None
    """The session that this one was forked from, by an earlier version."""
    parent_id: str | None = None
    shares: int = 0
    """Number of records that are read from the parent."""
    commit: int | None = None


class Head(NamedTuple):
    """The fields of a record's line before its body."""

    at: int
    kind: bytes
    """As JSON: an index does not need it."""
    seq: int | None
    key: str | None
    format: int
    commit: int | None
    form: bytes
    start: int
    """Start of the body, in bytes from the start of the line."""


class Form(NamedTuple):
    """A record, and the representation of its body in the file."""

    record: Record
    name: bytes
    body: bytes


# -- writing --


def check(records: Sequence[Record]) -> None:
    """Raise `ConfigurationError` for a record that no line can hold."""
    for kind, seq, _, number, key in records:
        if any(value not in _INTEGERS for value in (number, 0 if seq is None else seq)):
            raise ConfigurationError(f"seq {seq} or format {number} does not fit in 64 bits")
        if _SURROGATE.search(kind) or (key is not None and _SURROGATE.search(key)):
            raise ConfigurationError(f"the kind {kind!r:.80} or the key {key!r:.80} is not valid Unicode text")


def form_of(record: Record) -> Form:
    """Choose the representation of a body. Costs about as much as parsing it as JSON."""
    body = record.body
    try:
        text = body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return Form(record, b"base64", b'"%b"' % b64encode(body))
    if _SURROGATE.search(text) is None and _is_json_on_one_line(text):
        return Form(record, b"body", body)
    # as escapes, two adjacent lone surrogates would come back as one character
    escaped = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
    if json.loads(escaped) == text:
        return Form(record, b"text", escaped.encode())
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
    """Yield the lines of one append."""
    seed, last = seed_of(session), len(forms) - 1
    for number, (record, name, body) in enumerate(forms):
        head = f'{{"at":{first + number},"kind":{_text(record.kind)}'
        head += "" if record.seq is None else f',"seq":{record.seq}'
        head += "" if record.key is None else f',"key":{_text(record.key)}'
        head += f',"format":{record.format}' + (f',"commit":{commit}' if number == last else "")
        yield sealed(b'%b,"%b":%b' % (head.encode(), name, body), seed)


def header_line(header: Header) -> bytes:
    """Return the first line of a file."""
    fields = {"backscroll": VERSION} | {name: value for name, value in header._asdict().items() if value is not None}
    if header.parent is None:
        del fields["shares"]
    return sealed(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()[:-1], 0)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def sealed(begun: bytes, seed: int) -> bytes:
    """Complete a line with its checksum and end."""
    return b'%b%b%08x"}\n' % (begun, _CRC, crc32(begun, seed))


# -- reading: lines come without their ends --


def seed_of(session: str) -> int:
    """The initial value for checksums of a session's records."""
    return crc32(session.encode())


def is_good(line: bytes, seed: int) -> bool:
    """Whether a line passes its checksum."""
    start = len(line) - SEAL
    return start > 0 and line[start:] == b'%b%08x"}' % (_CRC, crc32(memoryview(line)[:start], seed))


def head_of(line: bytes) -> Head | None:
    """Parse the fields of a valid line before its body; `None` if it is no record."""
    found = _HEAD.match(line)
    if found is None:
        return None
    at, kind, seq, key, number, commit, form = found.groups()
    return Head(
        at=int(at), kind=kind, seq=None if seq is None else int(seq), key=None if key is None else json.loads(key),
        format=int(number), commit=None if commit is None else int(commit), form=form, start=found.end(),
    )  # fmt: skip  # in the order of the line


def record_of(line: bytes, head: Head) -> Record:
    """Parse the record of a valid line."""
    body = line[head.start : -SEAL]
    if head.form == b"text":
        body = json.loads(body).encode("utf-8", "surrogatepass")
    elif head.form == b"base64":
        body = b64decode(body[1:-1], validate=True)
    return Record(kind=json.loads(head.kind), seq=head.seq, body=body, format=head.format, key=head.key)


def is_header(line: bytes) -> bool:
    """Whether a line looks like the first line of a file."""
    return line.startswith(_BEGINS)


def header_of(line: bytes) -> Header | None:
    """Parse a header; `None` if it fails its checksum. Raise `StoreUnavailableError` for a later version."""
    if not is_header(line) or not is_good(line, 0):
        return None
    fields = json.loads(line)
    if fields["backscroll"] > VERSION:
        raise StoreUnavailableError(
            f"the file has version {fields['backscroll']}, and this version of Backscroll supports versions up "
            f"to {VERSION}: upgrade Backscroll"
        )
    return Header(**{name: fields[name] for name in Header._fields if name in fields})
