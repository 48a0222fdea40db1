"""Validate names of sessions, keys and blobs, and leases.

A name is data and never a path, so slashes, dots and quotes are valid. Invalid is what some technology cannot hold: an
empty name, control characters including NUL, lone surrogates, more than 255 bytes.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Record

LONGEST = 255  # bytes: a key that any database accepts
LONGEST_KEY = 300  # bytes
LONGEST_LEASE = 31_536_000  # seconds, a year: the lease of a process that died must end some day
INTERNAL = "backscroll: "
"""Prefix of the sessions in which a layer keeps its own data."""
KEYS = f"{INTERNAL}key "
"""Prefix of those with the keys of an encrypted store. Each rotation has one of its own, so that the new key is on disk
before the old one is deleted.
"""
_BLOB = re.compile(r"[A-Za-z0-9_-]{1,200}")


def is_blob(name: str) -> bool:
    """Whether a name is valid for a blob."""
    return _BLOB.fullmatch(name) is not None


def checked_blob(name: str) -> str:
    """Validate a blob's name. Raise `ConfigurationError` if it could be a path."""
    if not isinstance(name, str) or not is_blob(name):
        raise ConfigurationError(f"a blob's name must have 1 to 200 letters, digits, - and _, not {name!r:.80}")
    return name


def checked_keys(records: Iterable[Record]) -> list[Record]:
    """Return records as a list. Raise `ConfigurationError` for a key that no store can hold."""
    found = list(records)
    for record in found:
        if record.key is not None:
            check_key(record.key)
    return found


def check_key(key: str) -> None:
    """Raise `ConfigurationError` for a record's key that no store can hold."""
    if not 0 < _size(key) <= LONGEST_KEY:
        raise ConfigurationError(f"a record's key must have 1 to {LONGEST_KEY} bytes of UTF-8, not {key!r:.80}")


def checked(session: str) -> str:
    """Validate a session's name. Raise `ConfigurationError` if no store can hold it."""
    if not isinstance(session, str):
        raise ConfigurationError(f"`session` must be a str, not {type(session).__name__}: {session!r:.80}")
    if not session:
        raise ConfigurationError("`session` must not be empty: pass the session's name")
    if session.isascii() and session.isprintable() and len(session) <= LONGEST:
        return session
    try:
        size = len(session.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"`session` {session!r:.80} is not valid Unicode: {error.reason}") from None
    if size > LONGEST:
        raise ConfigurationError(f"`session` {session!r:.80} has {size} bytes of UTF-8; at most {LONGEST} are allowed")
    if any(unicodedata.category(character) == "Cc" for character in session):
        raise ConfigurationError(f"`session` {session!r:.80} has a control character: remove it")
    return session


checked_once: Callable[[str], str] = functools.lru_cache(maxsize=10_000, typed=True)(checked)
"""Validates a name as `checked` does, for calls that repeat a name many times: one that passed is remembered."""


def checked_lease(owner: str, seconds: float) -> tuple[str, float]:
    """Validate a lease's owner and seconds. Raise `ConfigurationError` if one is out of range."""
    if not isinstance(owner, str) or not 0 < _size(owner) <= LONGEST:
        raise ConfigurationError(f"`owner` must have 1 to {LONGEST} bytes of UTF-8, not {owner!r:.80}")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_LEASE:
        raise ConfigurationError(f"`seconds` must be 0 to {LONGEST_LEASE}, where 0 ends the lease, not {seconds!r}")
    return owner, seconds


def another(session: str, gone: bool) -> ConflictError:
    """The error for an append to an earlier incarnation of the session, or to one that is `gone`."""
    return ConflictError(f"session {session!r}: it was deleted{'' if gone else ' and begun again'} meanwhile")


def kept(session: str, holder: str, seconds: float) -> ConflictError:
    """The error for a lease that another owner holds for `seconds` more."""
    return ConflictError(
        f"session {session!r} is kept by {holder!r} for another {seconds:.1f} s: wait until its lease ends"
    )


def _size(text: str) -> int:
    """Bytes in UTF-8; 0 for invalid Unicode."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0
