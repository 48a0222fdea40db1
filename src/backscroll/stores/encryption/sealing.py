"""Keys and cryptography: sealed records, keyed hashes, and the store's key under a master key.

A master key wraps the store's key, which is random and never changes. HMAC-SHA256 derives from it a data key for each
session, and the hashes that replace names. AES-256-GCM seals the records. A sealed record is bound to its position and
to the session that wrote it.
"""

import base64
import binascii
import hashlib
import hmac
import importlib
import json
import secrets
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError, CorruptionError
from backscroll.ports import Record

KIND = "encrypted"
WRITER = 16  # bytes of the hash of the session that wrote a record
_VERSION = b"\x01"
_FORMAT = 1
_KEY, _NONCE, _CHECK = 32, 12, 16  # bytes
_HEAD = len(_VERSION) + WRITER + _NONCE
_MOST_CIPHERS = 1_000


def master_key(given: bytes | str) -> bytes:
    """Return the 32 bytes of a key given as bytes or base64 text. Raise `ConfigurationError`, which hides the key."""
    key = given
    if isinstance(given, str):
        try:
            key = base64.b64decode(given.strip().replace("-", "+").replace("_", "/").encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            key = b""
    if not isinstance(key, bytes) or len(key) != _KEY:
        raise ConfigurationError(
            f"`encryption_key` must be {_KEY} random bytes, or their base64 text; create one with "
            '`python -c "import base64, secrets; print(base64.b64encode(secrets.token_bytes(32)).decode())"`'
        )
    return key


def ciphers() -> Any:
    """Return the AES-GCM class. Raise `ConfigurationError` if the extra is missing."""
    try:
        return importlib.import_module("cryptography.hazmat.primitives.ciphers.aead").AESGCM
    except ImportError as error:
        raise ConfigurationError("encryption needs cryptography: pip install 'backscroll[encryption]'") from error


# -- the store's key --


class Wrapped(NamedTuple):
    """The store's key, encrypted with a master key."""

    check: bytes
    """Identifies the master key, so that a wrong key is not reported as damage."""
    nonce: bytes
    key: bytes


def wrap(key: bytes, master: bytes, number: int) -> bytes:
    """Encrypt the store's key for storage."""
    nonce = secrets.token_bytes(_NONCE)
    sealed: bytes = ciphers()(master).encrypt(nonce, key, _about(number))
    return _VERSION + check(master) + nonce + sealed


def wrapped(body: bytes) -> Wrapped:
    """Parse a stored key. Raise `CorruptionError` if it is invalid."""
    start = len(_VERSION) + _CHECK
    if not body.startswith(_VERSION) or len(body) != start + _NONCE + _KEY + 16:
        raise CorruptionError("the record of the store's key is not what was written")
    return Wrapped(body[len(_VERSION) : start], body[start : start + _NONCE], body[start + _NONCE :])


def unwrap(found: Wrapped, master: bytes, number: int) -> bytes:
    """Decrypt the store's key. Raise `CorruptionError` on failure: the master key was checked before."""
    try:
        key: bytes = ciphers()(master).decrypt(found.nonce, found.key, _about(number))
    except importlib.import_module("cryptography.exceptions").InvalidTag as error:
        raise CorruptionError("the record of the store's key is not what was written") from error
    return key


def check(master: bytes) -> bytes:
    """A hash that identifies a master key and reveals nothing else of it."""
    return _keyed(master, b"check", b"")[:_CHECK]


def new_key() -> bytes:
    """Return a random key for a store."""
    return secrets.token_bytes(_KEY)


def _about(number: int) -> bytes:
    return b"store key %d" % number


def _keyed(key: bytes, purpose: bytes, what: bytes) -> bytes:
    return hmac.digest(key, purpose + b"\0" + what, hashlib.sha256)


# -- records --


class Sealer:
    """Seals the records of one store."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._cipher = ciphers()
        self._invalid: Any = importlib.import_module("cryptography.exceptions").InvalidTag
        self._ciphers: dict[bytes, Any] = {}

    def writer(self, session: str) -> bytes:
        """The hash that replaces a session's name in the records it wrote."""
        return _keyed(self.key, b"session", session.encode())[:WRITER]

    def name(self, purpose: str, what: str) -> str:
        """The hash that replaces a name: a record's key, or the name of a fork."""
        return _keyed(self.key, purpose.encode(), what.encode("utf-8", "surrogatepass")).hex()

    def seal(self, record: Record, writer: bytes, at: int) -> Record:
        """Encrypt a record. Only its size and its `seq` stay readable."""
        key = None if record.key is None else self.name("key", record.key)
        nonce = secrets.token_bytes(_NONCE)
        plain = json.dumps([record.kind, record.format, record.key]).encode() + b"\n" + record.body
        sealed = self._of(writer).encrypt(nonce, plain, _place(writer, at, record.seq, key))
        return Record(kind=KIND, seq=record.seq, body=_VERSION + writer + nonce + sealed, format=_FORMAT, key=key)

    def open(self, record: Record, at: int) -> tuple[Record, bytes]:
        """Decrypt a record; return it and the hash of its writer. Raise `CorruptionError` if it was not sealed for this
        position.
        """
        body = record.body
        writer, nonce = body[len(_VERSION) : len(_VERSION) + WRITER], body[_HEAD - _NONCE : _HEAD]
        if not body.startswith(_VERSION) or record.format != _FORMAT or len(nonce) != _NONCE:
            raise CorruptionError("its encryption has an unknown format")
        try:
            plain = self._of(writer).decrypt(nonce, body[_HEAD:], _place(writer, at, record.seq, record.key))
        except self._invalid as error:
            raise CorruptionError("it is not what was encrypted there") from error
        head, _, body = plain.partition(b"\n")
        kind, number, key = json.loads(head)
        return Record(kind=kind, seq=record.seq, body=body, format=number, key=key), writer

    def _of(self, writer: bytes) -> Any:
        found = self._ciphers.get(writer)
        if found is None:
            if len(self._ciphers) >= _MOST_CIPHERS:
                self._ciphers.clear()
            found = self._ciphers[writer] = self._cipher(_keyed(self.key, b"data", writer))
        return found


def _place(writer: bytes, at: int, seq: int | None, key: str | None) -> bytes:
    return json.dumps([writer.hex(), at, seq, key]).encode()
