"""Records that point to a blob: their format, and the names of blobs.

Every record of the kind `offloaded` is a pointer, so that a store shows what it holds. A caller's record of that kind
is wrapped as well, with its body inside: no caller's record can pass for a pointer.
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
    """The content of a pointer record."""

    kind: str
    format: int
    blob: str | None
    """Name of the blob. `None`: the body is in the record itself."""
    size: int
    body: bytes


def blob_name(owner: str, body: bytes) -> str:
    """Return a name for a body: its owner, its SHA-256, and a random suffix.

    A blob belongs to one record. So no writer can start to use a blob that another has begun to delete.
    """
    return f"{owner}-{sha256(body).hexdigest()}-{secrets.token_hex(8)}"


def fits(name: str, body: bytes) -> bool:
    """Whether a body has the SHA-256 in its name."""
    return name.split("-")[1:2] == [sha256(body).hexdigest()]


def pointing(record: Record, blob: str | None) -> Record:
    """Return the record to store: a pointer to `blob`, or a wrapper with the body inside if there is none."""
    fields: dict[str, Any] = {"kind": record.kind, "format": record.format, "blob": blob, "size": len(record.body)}
    head = json.dumps(fields, separators=(",", ":")).encode()
    return record._replace(kind=KIND, format=_FORMAT, body=head if blob is not None else head + b"\n" + record.body)


def pointer(record: Record) -> Pointer | None:
    """Parse a pointer record; `None` for any other record. Raise `CorruptionError` if it is invalid."""
    if record.kind != KIND:
        return None
    head, _, body = record.body.partition(b"\n")
    try:
        if record.format != _FORMAT:
            raise ValueError(f"format {record.format} is newer than this version: upgrade Backscroll")
        return Pointer(body=body, **json.loads(head))
    except (ValueError, TypeError) as error:
        raise CorruptionError(f"a pointer record is invalid: {head!r:.80} ({error})") from error
