"""What a session, the key of a record and a blob may be called, and what a lease may be. Nothing else may live here.

A name is data and never a path, so slashes, dots and quotes are as good as letters. Refused is what some technology
cannot hold as it is: no name at all, control characters with NUL among them, lone surrogates, more than 255 bytes.
"""

import re
import unicodedata
from collections.abc import Iterable

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Record

LONGEST = 255  # bytes: what any database takes as a key
LONGEST_KEY = 300
LONGEST_LEASE = 31_536_000  # seconds: a year, so that no owner keeps a session for ever who is not there any more
INTERNAL = "backscroll: "
"""Sessions in which a layer around a store keeps what it needs itself begin with this."""
_BLOB = re.compile(r"[A-Za-z0-9_-]{1,200}")


def is_blob(name: str) -> bool:
    """Whether a blob may be called so."""
    return _BLOB.fullmatch(name) is not None


def checked_blob(name: str) -> str:
    """The name as it came. Raises `ConfigurationError` for one that could be a path."""
    if not isinstance(name, str) or not is_blob(name):
        raise ConfigurationError(f"a blob's name has 1 to 200 letters, digits, - and _, and this is {name!r:.80}")
    return name


def checked_keys(records: Iterable[Record]) -> list[Record]:
    """Records as they came. Raises `ConfigurationError` for one with a key that no store could keep."""
    found = list(records)
    for record in found:
        if record.key is not None and not 0 < _size(record.key) <= LONGEST_KEY:
            raise ConfigurationError(f"the key {record.key!r:.80} has not 1 to {LONGEST_KEY} bytes of UTF-8")
    return found


def checked(session: str) -> str:
    """The name as it came. Raises `ConfigurationError` for one that no store could keep."""
    if not isinstance(session, str):
        raise ConfigurationError(f"a session's name is a str, and this is {type(session).__name__}: {session!r:.80}")
    if not session:
        raise ConfigurationError("a session needs a name: an empty one could mean any")
    if session.isascii() and session.isprintable() and len(session) <= LONGEST:
        return session
    try:
        size = len(session.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"the session name {session!r:.80} is no Unicode text: {error.reason}") from None
    if size > LONGEST:
        raise ConfigurationError(f"the session name {session!r:.80} has {size} bytes; at most {LONGEST} are allowed")
    if any(unicodedata.category(character) == "Cc" for character in session):
        raise ConfigurationError(f"the session name {session!r:.80} holds a control character")
    return session


def checked_lease(owner: str, seconds: float) -> tuple[str, float]:
    """Both as they came. Raises `ConfigurationError` for an owner without a name, and for seconds that are none."""
    if not isinstance(owner, str) or not 0 < _size(owner) <= LONGEST:
        raise ConfigurationError(f"the owner {owner!r:.80} of a lease has not 1 to {LONGEST} bytes of UTF-8")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_LEASE:
        raise ConfigurationError(f"a lease of {seconds!r} seconds: it takes 0 to {LONGEST_LEASE}, and 0 ends it")
    return owner, seconds


def another(session: str, gone: bool) -> ConflictError:
    """What an append meets that was meant for another incarnation of the session, or for one that is `gone`."""
    return ConflictError(f"session {session!r}: it was deleted{'' if gone else ' and begun again'} meanwhile")


def kept(session: str, holder: str, seconds: float) -> ConflictError:
    """What is raised while another one holds a lease."""
    return ConflictError(f"session {session!r} is kept by {holder!r} for another {seconds:.1f} s")


def _size(text: str) -> int:
    """Bytes in UTF-8; 0 for what is no Unicode text."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0
