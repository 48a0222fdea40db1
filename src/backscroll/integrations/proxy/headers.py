"""Which headers of a request and of an answer are handed on: all but those of one connection."""

import re
from collections.abc import Iterable, Set

Pairs = list[tuple[bytes, bytes]]
_OF_A_CONNECTION = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"trailers", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip  # one thought
_FINAL = range(200, 600)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_READABLE = (b"gzip", b"deflate")
_FOR_US = frozenset((b"host", b"expect", b"x-backscroll-token", b"x-backscroll-session"))
"""Headers of a request that are for the server which it reaches."""


def of_request(
    given: Iterable[tuple[bytes, bytes]], length: int | None, *, is_read: bool, is_own: bool = True
) -> Pairs:
    """Return the headers of a request to the provider. Its client adds `host`.

    Args:
        given: Those of the client, in lower case.
        length: Bytes of the body, if it is known here. `None`: as the client says.
        is_read: Whether the answer is read here: it must then come in an encoding that can be read.
        is_own: Whether the body is the client's own. Any other one is sent unpacked.
    """
    dropped = _FOR_US | ({b"content-length"} if length is not None else set())
    if not is_own:
        dropped |= {b"content-encoding"}
    found = _handed_on(given, dropped)
    if length is not None:
        found.append((b"content-length", str(length).encode()))
    if is_read:
        accepted = b", ".join(value for name, value in found if name == b"accept-encoding").lower()
        found = [pair for pair in found if pair[0] != b"accept-encoding"]
        known = [each for each in _READABLE if each in accepted]
        found.append((b"accept-encoding", b", ".join(known) or b"identity"))
    return found


def is_answer(status: int, given: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether an answer has a head that may be handed on: a final status, and no control character."""
    return status in _FINAL and not any(_CONTROL.search(value) for _, value in given)


def of_answer(given: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Return the headers of an answer to the client: its bytes are handed on as they are, so their length holds. Of an
    answer in chunks it does not (RFC 9112, 6.3).
    """
    pairs = [(name.lower(), value) for name, value in given]
    is_chunked = any(name == b"transfer-encoding" for name, _ in pairs)
    return _handed_on(pairs, {b"content-length"} if is_chunked else set())


def _handed_on(given: Iterable[tuple[bytes, bytes]], dropped: Set[bytes]) -> Pairs:
    pairs = list(given)
    named = {each.strip().lower() for name, value in pairs if name == b"connection" for each in value.split(b",")}
    return [pair for pair in pairs if pair[0] not in _OF_A_CONNECTION | named | dropped]
