"""Pack log events of a session in memory: the bodies of their records, several compressed at once."""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from backscroll.history.codec import Codec
from backscroll.history.ledger import Ledger
from backscroll.history.log import LaneOpened, LogEvent, PlanRecorded
from backscroll.history.plan import DigestContent, DigestLine, Plan
from backscroll.history.plan_codec import UTF_8, to_json

_FAST = 1  # of zlib's levels: half the time of the usual one, for a tenth more bytes

Placed = tuple[int, LogEvent]
"""An event with its position in the log."""
PlanEvent = PlanRecorded | LaneOpened


def pack(events: Iterable[Placed]) -> bytes:
    """Return events as bytes. They are a quarter to a third of the text of their messages."""
    return _packed(_written(events))


def unpack(data: bytes) -> list[Placed]:
    """Return the events that were packed, equal to them and independent."""
    return _read(_unpacked(data))


def pack_plans(events: Sequence[tuple[int, PlanEvent]]) -> bytes:
    """Return events with what views need of their plans. A note that several plans have is written once."""
    known: dict[int, int] = {}  # by identity: a digest takes over the notes of the one before
    lines, numbers, bare = list[DigestLine](), list[list[int]](), list[Placed]()
    for at, event in events:
        notes = event.plan.digest.notes
        for note in notes:
            if id(note) not in known:
                known[id(note)] = len(lines)
                lines.append(note)
        numbers.append([known[id(note)] for note in notes])
        bare.append((at, replace(event, plan=_with_notes(visible(event.plan), ()))))
    return _packed((lines, numbers, _written(bare)))


def unpack_plans(data: bytes) -> dict[int, PlanEvent]:
    """Return the events that were packed with `pack_plans`, by position."""
    lines, numbers, bodies = _unpacked(data)
    notes = [DigestLine(*line) for line in lines]
    found: dict[int, PlanEvent] = {}
    for (at, event), own in zip(_read(bodies), numbers, strict=True):
        assert isinstance(event, PlanEvent)
        found[at] = replace(event, plan=_with_notes(event.plan, tuple([notes[number] for number in own])))
    return found


def visible(plan: Plan) -> Plan:
    """Return a plan without what only the next digest is made from. It gives the same views."""
    native = plan.native
    if native is not None:
        native = replace(native, digest=_visible(native.digest))
    return replace(plan, digest=_visible(plan.digest), native=native)


def _visible(digest: DigestContent) -> DigestContent:
    ledger = None if digest.ledger is None else Ledger()
    return replace(digest, weights=(), reserve=(), removed=(), ledger=ledger)


def _with_notes(plan: Plan, notes: tuple[DigestLine, ...]) -> Plan:
    return replace(plan, digest=replace(plan.digest, notes=notes))


def _written(events: Iterable[Placed]) -> list[Sequence[Any]]:
    codec = Codec()
    return [(at, *codec.written(event, at)) for at, event in events]


def _read(bodies: Iterable[Sequence[Any]]) -> list[Placed]:
    codec = Codec()
    return [(at, codec.event(kind, body, at)) for at, kind, body in bodies]


def _packed(values: Any) -> bytes:
    return zlib.compress(to_json(values).encode(*UTF_8), _FAST)


def _unpacked(data: bytes) -> Any:
    return json.loads(zlib.decompress(data))
