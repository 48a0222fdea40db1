"""Events as they are stored: JSON in bytes, and back, exactly. Pure; where they are kept is a store's business.

The format has a number. What was ever written is read for ever: a change of shape is a new number with its own reader,
and `tests/golden` holds a file of each. A digest, by far the largest part of a plan, is written once and referred to
by later plans that still tell the same.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from backscroll.errors import DamagedError
from backscroll.history import (
    Event,
    Identified,
    LaneOpened,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanRecorded,
    Rewound,
    Settled,
    UsageObserved,
)
from backscroll.plan import NO_DIGEST, Clip, Digest, Drop, Edit, Fold, Mask, Note, Plan
from backscroll.ports import Record, Stored
from backscroll.usage import Count, MediaCount, Report

FORMAT = 1
"""Of everything that is written today."""

Body = dict[str, Any]


class Codec:
    """For one session's log, from some place on. Remembers which digests were written."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[int, Digest]] = {}
        """By lane: the newest digest, and the place of the record that holds it."""

    def copy(self) -> "Codec":
        """The same, to be kept only if what it wrote was stored."""
        twin = Codec()
        twin._digests = dict(self._digests)
        return twin

    def encode(self, event: Event, at: int) -> Record:
        """What is stored for an event whose place will be `at`."""
        kind, write = _WRITERS[type(event)]
        body = write(event)
        if isinstance(event, PlanRecorded | LaneOpened):
            body["plan"] = self._plan(event.lane, event.plan, at)
        return Record(kind, event.seq if isinstance(event, MessageAdded) else None, _dump(body), FORMAT)

    def _plan(self, lane: str, plan: Plan, at: int) -> Body:
        body: Body = {"number": plan.number, "after": plan.summary_after, "edits": [_edit(e) for e in plan.edits]}
        known = self._digests.get(lane)
        if plan.digest == NO_DIGEST:
            return body
        if known is not None and known[1] == plan.digest:
            return body | {"digest_at": known[0]}
        self._digests[lane] = at, plan.digest
        return body | {"digest": _digest(plan.digest)}

    def decode(self, stored: Stored) -> Event:
        """The event again. Raises `DamagedError` for what no version of Backscroll wrote."""
        at, record = stored
        reader = _READERS.get(record.kind)
        if record.format != FORMAT or reader is None:
            raise DamagedError(
                f"record {at} is of kind {record.kind!r} in format {record.format}, and this version reads format "
                f"{FORMAT}: upgrade Backscroll to read it"
            )
        try:
            body = json.loads(record.body)
            if "plan" in body:
                body["plan"] = self._read_plan(body["lane"], body["plan"], at)
            return reader(body)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DamagedError(f"record {at} ({record.kind}) cannot be read: {error!r:.200}") from error

    def _read_plan(self, lane: str, body: Body, at: int) -> Plan:
        digest = NO_DIGEST
        if "digest" in body:
            digest = _read_digest(body["digest"])
            self._digests[lane] = at, digest
        elif "digest_at" in body:
            place, digest = self._digests[lane]
            if place != body["digest_at"]:
                raise ValueError(f"its digest is in record {body['digest_at']}, the newest known is in {place}")
        return Plan(tuple(map(_read_edit, body["edits"])), body["number"], body["after"], digest)


def _dump(body: Body) -> bytes:
    """Strict JSON. Lone surrogates are written as they are: escaped, two of them would come back as one character."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


# -- parts of plans --


def _edit(edit: Edit) -> list[Any]:
    match edit:
        case Clip():
            return ["clip", edit.seq, edit.part, edit.head, edit.tail, edit.count, edit.by, edit.between]
        case Mask():
            return ["mask", edit.seq, edit.part, edit.note, edit.count, edit.by]
        case Drop():
            return ["drop", edit.first, edit.last, edit.by]
        case Fold():
            return ["fold", edit.first, edit.last, edit.by]


def _read_edit(told: list[Any]) -> Edit:
    kind, *rest = told
    if kind == "clip":
        seq, part, head, tail, count, by, between = rest
        return Clip(seq, part, head, tail, Count(*count), by, tuple((start, end) for start, end in between))
    if kind == "mask":
        seq, part, note, count, by = rest
        return Mask(seq, part, note, Count(*count), by)
    first, last, by = rest
    if kind == "drop":
        return Drop(first, last, by)
    if kind == "fold":
        return Fold(first, last, by)
    raise ValueError(f"unknown edit {kind!r}")


def _digest(digest: Digest) -> Body:
    return {"notes": digest.notes, "weights": digest.weights, "spare": digest.spare, "told": digest.told}


def _read_digest(body: Body) -> Digest:
    return Digest(
        tuple(Note(*note) for note in body["notes"]),
        tuple((word, weight) for word, weight in body["weights"]),
        tuple(Note(*note) for note in body["spare"]),
        body["told"],
    )


def _read_count(told: list[Any]) -> Count | MediaCount:
    return MediaCount(*told) if isinstance(told[0], str) else Count(*told)


# -- events --


def _message(event: MessageAdded) -> Body:
    return {"seq": event.seq, "message": event.message, "counts": event.counts, "by": event.counted_by}


def _read_message(body: Body) -> MessageAdded:
    return MessageAdded(body["seq"], body["message"], tuple(map(_read_count, body["counts"])), body["by"])


def _recorded(event: PlanRecorded) -> Body:
    told = {"removed": event.removed, "tokens": event.tokens, "messages": event.messages}
    return {"lane": event.lane, **told, "undone": event.undone}


def _read_recorded(body: Body) -> PlanRecorded:
    removed = tuple(body["removed"])
    return PlanRecorded(body["lane"], body["plan"], removed, body["tokens"], body["messages"], body["undone"])


_Write = Callable[[Any], Body]
_WRITERS: Mapping[type, tuple[str, _Write]] = {
    MessageAdded: ("message", _message),
    Identified: ("id", lambda event: {"id": event.id, "first": event.first, "last": event.last}),
    PlanRecorded: ("plan", _recorded),
    LaneOpened: ("lane", lambda event: {"lane": event.lane}),
    PinChanged: ("pin", lambda event: {"seq": event.seq, "pinned": event.pinned}),
    UsageObserved: ("usage", lambda event: {"lane": event.lane, "report": event.report}),
    Overflowed: ("overflow", lambda event: {"lane": event.lane, "tokens": event.tokens, "limit": event.limit}),
    Rewound: ("rewind", lambda event: {"to": event.to}),
    Settled: (
        "settled",
        lambda event: {
            "lane": event.lane, "tokens": event.tokens, "messages": event.messages, "batch": event.batch,
        },
    ),
}  # fmt: skip
_READERS: Mapping[str, Callable[[Body], Event]] = {
    "message": _read_message,
    "id": lambda body: Identified(body["id"], body["first"], body["last"]),
    "plan": _read_recorded,
    "lane": lambda body: LaneOpened(body["lane"], body["plan"]),
    "pin": lambda body: PinChanged(body["seq"], body["pinned"]),
    "usage": lambda body: UsageObserved(body["lane"], Report(*body["report"])),
    "overflow": lambda body: Overflowed(body["lane"], body["tokens"], body["limit"]),
    "rewind": lambda body: Rewound(body["to"]),
    "settled": lambda body: Settled(body["lane"], body["tokens"], body["messages"], body["batch"]),
}
