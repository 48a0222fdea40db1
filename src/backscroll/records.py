"""Events as they are stored: JSON in bytes, and back, exactly. Pure; where they are kept is a store's business.

The format has a number. What was ever written is read for ever: a change of shape is a new number with its own reader,
and `tests/golden` holds a file of each. A digest, by far the largest part of a plan, is written once and referred to
by later plans that still tell the same; so is a plan, by what says where a session stands.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any

from backscroll.errors import ConfigurationError, DamagedError
from backscroll.log import (
    Checkpoint,
    Event,
    GroupMark,
    HistoryMark,
    Identified,
    LaneMark,
    LaneOpened,
    Lost,
    MessageAdded,
    Overflowed,
    PinChanged,
    PlanAt,
    PlanRecorded,
    PromptSeen,
    Requested,
    Rewound,
    Settled,
    SummaryFailed,
    SummaryMade,
    UsageObserved,
)
from backscroll.plan import NO_DIGEST, Clip, Digest, Drop, Edit, Fold, Mask, Note, Plan, until
from backscroll.ports import LOST, Record, Stored
from backscroll.usage import Count, MediaCount, MeterMark, Report, Spent

FORMAT = 2
"""Of everything that is written today. 1 did not note which groups a message joins."""
FORMATS = (1, 2)
_LAYERED = {
    "encrypted": "is encrypted: give the `encryption_key` that it was written with",
    "offloaded": "has its body elsewhere: give the `blobs` that it was written with",
}
"""Kinds that layers around a store write: who reads them here opened the store without that layer."""
_WITHOUT_WEIGHTS = '"weights":null'
_MOST_PLANS = 40  # of a lane whose places are remembered: those that can be undone

Body = dict[str, Any]
Fetch = Callable[[int], Stored]


def id_key(id: str) -> str:
    """By what an append's idempotency id is found."""
    return f"id:{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def prompt_key(digest: str) -> str:
    """By what the text of a system prompt is found."""
    return f"prompt:{digest}"


class Codec:
    """For one session's log, from some place on. Remembers where plans and their digests were written.

    `fetch` gives the record at a place: what was written before that place is looked up there. `looking`: of a digest
    only what a view shows is read, and not what the next one is made of, which is most of it.
    """

    def __init__(self, fetch: Fetch | None = None, *, looking: bool = False) -> None:
        self._fetch = fetch
        self._looking = looking
        self._digests: dict[str, tuple[int, Digest]] = {}
        """By lane: the newest digest, and the place of the record that holds it."""
        self._plans: dict[str, deque[tuple[int, Plan]]] = {}
        """By lane: the newest plans, likewise."""

    def after(self, events: Iterable[Event]) -> "Codec":
        """One to encode these events with, to be kept only if what it wrote was stored."""
        if not any(isinstance(event, PlanRecorded | LaneOpened) for event in events):
            return self
        twin = Codec(self._fetch)
        twin._digests = dict(self._digests)
        twin._plans = {lane: plans.copy() for lane, plans in self._plans.items()}
        return twin

    def encode(self, event: Event, at: int) -> Record:
        """What is stored for an event whose place will be `at`."""
        kind, write = _WRITERS[type(event)]
        body = write(event)
        key: str | None = None
        match event:
            case PlanRecorded() | LaneOpened():
                body["plan"] = self._plan(event.lane, event.plan)
                if "digest" in body["plan"]:
                    self._digests[event.lane] = at, event.plan.digest
                self._remember(event.lane, at, event.plan)
                return Record(kind, None, _dump_plan(body), FORMAT, None)
            case Checkpoint():
                body["lanes"] = [self._lane(mark) for mark in event.lanes]
            case Identified():
                key = id_key(event.id)
            case PromptSeen():
                key = prompt_key(event.digest)
        return Record(kind, event.seq if isinstance(event, MessageAdded) else None, _dump(body), FORMAT, key)

    def _remember(self, lane: str, at: int, plan: Plan) -> None:
        self._plans.setdefault(lane, deque(maxlen=_MOST_PLANS)).append((at, plan))

    def _plan(self, lane: str, plan: Plan) -> Body:
        body: Body = {"number": plan.number, "after": plan.summary_after, "edits": [_edit(e) for e in plan.edits]}
        known = self._digests.get(lane)
        if plan.digest == NO_DIGEST:
            return body
        if known is not None and known[1] == plan.digest:
            return body | {"digest_at": known[0]}
        return body | {"digest": _digest(plan.digest)}

    def _lane(self, mark: LaneMark) -> Body:
        plan, *before = (self._standing(mark.name, plan) for plan in (mark.plan, *mark.before))
        summary = None if mark.summary is None else _fields(mark.summary)
        return _fields(mark) | {"plan": plan, "before": before, "summary": summary}

    def _standing(self, lane: str, plan: Plan | PlanAt) -> Body:
        """Where a plan is written, or the plan where that is nowhere."""
        if isinstance(plan, PlanAt):
            return {"at": plan.place, "until": plan.until}
        for at, known in self._plans.get(lane, ()):
            if known == plan:
                return {"at": at, "until": None}
        return self._plan(lane, plan)

    def decode(self, stored: Stored) -> Event:
        """The event again. Raises `DamagedError` for what no version of Backscroll wrote."""
        at, record = stored
        if record.kind == LOST:
            return _lost(record)
        if record.kind in _LAYERED:
            raise ConfigurationError(f"record {at} {_LAYERED[record.kind]}")
        reader = _READERS.get(record.kind)
        if record.format not in FORMATS or reader is None:
            raise DamagedError(
                f"record {at} is of kind {record.kind!r} in format {record.format}, and this version reads formats "
                f"up to {FORMAT}: upgrade Backscroll to read it"
            )
        try:
            body = json.loads(record.body)
            if record.kind in ("plan", "lane"):
                told, lane = body["plan"], body["lane"]
                body["plan"] = self._read_plan(lane, told)
                if "digest" in told:
                    self._digests[lane] = at, body["plan"].digest
                self._remember(lane, at, body["plan"])
            elif record.kind == "checkpoint":
                body["lanes"] = tuple(map(self._read_lane, body["lanes"]))
            elif record.kind == "message" and record.format > 1:
                body.setdefault("joins", ())
            return reader(body)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DamagedError(f"record {at} ({record.kind}) cannot be read: {error!r:.200}") from error

    def _read_plan(self, lane: str, body: Body) -> Plan:
        digest = NO_DIGEST
        if "digest" in body:
            digest = self._read_digest(body["digest"])
        elif "digest_at" in body:
            digest = self._digest_at(lane, body["digest_at"])
        return Plan(tuple(map(_read_edit, body["edits"])), body["number"], body["after"], digest)

    def _digest_at(self, lane: str, place: int) -> Digest:
        known = self._digests.get(lane)
        if known is None or known[0] != place:
            if self._fetch is None:
                raise ValueError(f"its digest is in record {place}, which is not at hand")
            record = self._fetch(place).record
            if record.kind == LOST:  # what it told is lost, and the rest is not
                return NO_DIGEST
            known = place, self._read_digest(json.loads(record.body)["plan"]["digest"])
            self._digests[lane] = known
        return known[1]

    def _read_digest(self, body: Body) -> Digest:
        notes = tuple(Note(*note) for note in body["notes"])
        if self._looking:
            return Digest(notes, (), (), body["told"])
        weights = tuple((word, weight) for word, weight in body["weights"])
        return Digest(notes, weights, tuple(Note(*note) for note in body["spare"]), body["told"])

    def plan(self, lane: str, at: PlanAt) -> Plan:
        """The plan that is written there."""
        known = next((plan for place, plan in self._plans.get(lane, ()) if place == at.place), None)
        if known is None:
            if self._fetch is None:
                raise ValueError(f"record {at.place} is not at hand")
            event = self.decode(self._fetch(at.place))
            known = event.plan if isinstance(event, PlanRecorded | LaneOpened) else Plan()
        return known if at.until is None else until(known, at.until)

    def _read_lane(self, body: Body) -> LaneMark:
        plan, *before = (
            PlanAt(told["at"], told["until"]) if "at" in told else self._read_plan(body["name"], told)
            for told in (body["plan"], *body["before"])
        )
        meter = MeterMark(*body["meter"])
        anchor, earlier = (None if told is None else Report(*told) for told in (meter.anchor, meter.before))
        told = {key: _frozen(value) for key, value in body.items()}
        summary = None if body["summary"] is None else SummaryMade(**body["summary"])
        told["spent"] = Spent(*told["spent"])
        told |= {
            "plan": plan,
            "summary": summary,
            "before": tuple(before),
            "meter": meter._replace(anchor=anchor, before=earlier),
        }
        return LaneMark(**told)


def _lost(record: Record) -> Event:
    """In the place of a message stands one that says so: the branch stays as it was, and the view shows the gap."""
    why = record.body.decode("utf-8", "replace")
    if record.seq is None:
        return Lost(why)
    text = f"[this message was lost: {why}]"
    counts = (Count(len(text)),)  # never too few tokens
    message = {"role": "user", "content": text, "metadata": {"source": "hook", "lost": True}}
    return MessageAdded(record.seq, message, counts, joins=())


def _dump(body: Body) -> bytes:
    """Strict JSON. Lone surrogates are written as they are: escaped, two of them would come back as one character."""
    return _json(body).encode("utf-8", "surrogatepass")


def _json(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _dump_plan(body: Body) -> bytes:
    """The same of a body with a plan. The thousands of weights in a digest, which are pairs, are written by hand: that
    takes a quarter of the time.
    """
    digest = body["plan"].get("digest")
    if digest is None or not digest["weights"]:
        return _dump(body)
    pairs = ",".join([f"[{encode_basestring(word)},{weight!r}]" for word, weight in digest["weights"]])
    body["plan"]["digest"] = digest | {"weights": None}
    head, tail = _json(body).split(_WITHOUT_WEIGHTS)  # no text holds that: its quotes would be escaped
    return f'{head}"weights":[{pairs}]{tail}'.encode("utf-8", "surrogatepass")


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
    notes = [note if note.by else note[:4] for note in digest.notes]  # by far the most say nothing of that
    spare = [note[:4] for note in digest.spare]
    return {"notes": notes, "weights": digest.weights, "spare": spare, "told": digest.told}


def _read_count(told: list[Any]) -> Count | MediaCount:
    return MediaCount(*told) if isinstance(told[0], str) else Count(*told)


# -- events --


def _message(event: MessageAdded) -> Body:
    body = {"seq": event.seq, "message": event.message, "counts": event.counts, "by": event.counted_by}
    return body | {"joins": event.joins} if event.joins else body


def _read_message(body: Body) -> MessageAdded:
    counts, joins = tuple(map(_read_count, body["counts"])), body.get("joins")
    return MessageAdded(body["seq"], body["message"], counts, body["by"], None if joins is None else tuple(joins))


def _recorded(event: PlanRecorded) -> Body:
    told = {"removed": event.removed, "tokens": event.tokens, "messages": event.messages}
    return {"lane": event.lane, **told, "undone": event.undone}


def _read_recorded(body: Body) -> PlanRecorded:
    removed = tuple(body["removed"])
    return PlanRecorded(body["lane"], body["plan"], removed, body["tokens"], body["messages"], body["undone"])


def _observed(event: UsageObserved) -> Body:
    body: Body = {"lane": event.lane, "report": event.report}
    return body if event.cached is None else body | {"cached": event.cached, "written": event.written}


def _requested(event: Requested) -> Body:
    body: Body = {"lane": event.lane, "budget": event.budget, "plan": event.plan, "last": event.last}
    body["estimate"] = event.estimate
    if event.prompt is not None:
        body["prompt"] = event.prompt
    return body | {"ephemerals": event.ephemerals} if event.ephemerals else body


def _read_requested(body: Body) -> Requested:
    estimate = tuple(body["estimate"])
    ephemerals = tuple((after, digest, *(role or ["user"])) for after, digest, *role in body.get("ephemerals", []))
    return Requested(body["lane"], body["budget"], body["plan"], body["last"], estimate, body.get("prompt"), ephemerals)


def _fields(value: Any) -> Body:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _history(mark: HistoryMark) -> Body:
    told = _fields(mark)
    groups = [(g.first, g.members, g.open_calls, g.answered, g.orphans) for g in mark.groups]
    return told | {"groups": groups}


def _read_checkpoint(body: Body) -> Checkpoint:
    told = {key: _frozen(value) for key, value in body["history"].items()}
    told["groups"] = tuple(GroupMark(*group) for group in told["groups"])
    return Checkpoint(HistoryMark(**told), body["lanes"], body["newest_lane"])


def _frozen(value: Any) -> Any:
    """Lists as tuples, at any depth."""
    return tuple(map(_frozen, value)) if type(value) is list else value


_Write = Callable[[Any], Body]
_WRITERS: Mapping[type, tuple[str, _Write]] = {
    MessageAdded: ("message", _message),
    Identified: ("id", lambda event: {"id": event.id, "first": event.first, "last": event.last}),
    PlanRecorded: ("plan", _recorded),
    LaneOpened: ("lane", lambda event: {"lane": event.lane}),
    PinChanged: ("pin", lambda event: {"seq": event.seq, "pinned": event.pinned}),
    UsageObserved: ("usage", _observed),
    Overflowed: ("overflow", lambda event: {"lane": event.lane, "tokens": event.tokens, "limit": event.limit}),
    Rewound: ("rewind", lambda event: {"to": event.to}),
    PromptSeen: ("prompt", lambda event: {"digest": event.digest, "text": event.text}),
    Requested: ("request", _requested),
    SummaryMade: ("summary", _fields),
    SummaryFailed: ("no_summary", _fields),
    Checkpoint: ("checkpoint", lambda event: {"history": _history(event.history), "newest_lane": event.newest_lane}),
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
    "usage": lambda body: UsageObserved(body["lane"], Report(*body["report"]), body.get("cached"), body.get("written")),
    "overflow": lambda body: Overflowed(body["lane"], body["tokens"], body["limit"]),
    "rewind": lambda body: Rewound(body["to"]),
    "prompt": lambda body: PromptSeen(body["digest"], body["text"]),
    "request": _read_requested,
    "summary": lambda body: SummaryMade(**body),
    "no_summary": lambda body: SummaryFailed(**body),
    "checkpoint": _read_checkpoint,
    "settled": lambda body: Settled(body["lane"], body["tokens"], body["messages"], body["batch"]),
}
