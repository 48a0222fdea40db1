"""Pack log events of a session in memory: the bodies of their records, several compressed at once."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import replace

from backscroll.history.codec import Codec
from backscroll.history.log import LogEvent
from backscroll.history.plan import DigestContent, Plan
from backscroll.history.plan_codec import UTF_8, to_json

_FAST = 1  # of zlib's levels: half the time of the usual one, for a tenth more bytes

Placed = tuple[int, LogEvent]
"""An event with its position in the log."""


def pack(events: Iterable[Placed]) -> bytes:
    """Return events as bytes. They are a quarter to a third of the text of their messages."""
    codec = Codec()
    return zlib.compress(to_json([(at, *codec.written(event, at)) for at, event in events]).encode(*UTF_8), _FAST)


def unpack(data: bytes) -> list[Placed]:
    """Return the events that were packed, equal to them and independent."""
    codec = Codec()
    return [(at, codec.event(kind, body, at)) for at, kind, body in json.loads(zlib.decompress(data))]


def visible(plan: Plan) -> Plan:
    """Return a plan without what only the next digest is made from. It gives the same views."""
    native = plan.native
    if native is not None:
        native = replace(native, digest=_visible(native.digest))
    return replace(plan, digest=_visible(plan.digest), native=native)


def _visible(digest: DigestContent) -> DigestContent:
    return replace(digest, weights=(), reserve=(), removed=())
