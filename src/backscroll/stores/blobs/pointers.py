"""Records that stand for others whose body is a blob: what they look like, and what a blob is called. No I/O here.

Every record of the kind `offloaded` is a pointer, so that a store shows what it holds. A record that calls itself so is
wrapped as well, with its body inside: nothing that was written can pass for a pointer.
"""

import json
import secrets
from hashlib import sha256
from typing import Any, NamedTuple

from backscroll.errors import CorruptionError
from backscroll.ports import Record

KIND = "offloaded"
_FORMAT = 1


class Pointer(NamedTuple):
    """What a record of this kind says."""

    kind: str
    format: int
    blob: str | None
    """None where the body stands in the record itself."""
    size: int
    body: bytes


def blob_name(owner: str, body: bytes) -> str:
    """A name for a body: whose it is, its SHA-256, and an end that is used once.

    A blob is one record's alone. So nobody can begin to use one that somebody else is about to delete.
    """
    return f"{owner}-{sha256(body).hexdigest()}-{secrets.token_hex(8)}"


def fits(name: str, body: bytes) -> bool:
    """Whether a body is the one that was named so."""
    return name.split("-")[1:2] == [sha256(body).hexdigest()]


def pointing(record: Record, blob: str | None) -> Record:
    """What is stored for a record: where its body is, or the body again, where there is no blob."""
    told: dict[str, Any] = {"kind": record.kind, "format": record.format, "blob": blob, "size": len(record.body)}
    head = json.dumps(told, separators=(",", ":")).encode()
    return record._replace(kind=KIND, format=_FORMAT, body=head if blob is not None else head + b"\n" + record.body)


def pointer(record: Record) -> Pointer | None:
    """What a record says of another one; None for a record that stands for itself. Raises `CorruptionError`."""
    if record.kind != KIND:
        return None
    told, _, body = record.body.partition(b"\n")
    try:
        if record.format != _FORMAT:
            raise ValueError(f"format {record.format} is newer than this version: upgrade Backscroll")
        return Pointer(body=body, **json.loads(told))
    except (ValueError, TypeError) as error:
        raise CorruptionError(f"a record that should say where its body is says {told!r:.80}: {error}") from error
