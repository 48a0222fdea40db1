"""Encode events as bytes of JSON for the store, and decode them exactly.

The format has a number. Every format ever written stays readable: a change of shape gets a new number with its own
reader, and `tests/golden` holds a file of each.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from backscroll.errors import BackscrollError, ConfigurationError, CorruptionError, MessageError
from backscroll.history.group_snapshot import GroupSnapshot
from backscroll.history.log import (
    Checkpoint,
    CompactionSkipped,
    Foreseen,
    HealingBegun,
    HistorySnapshot,
    IdempotencyKeyUsed,
    LaneOpened,
    LaneSnapshot,
    LogEvent,
    Lost,
    MessageAdded,
    NativeMade,
    Overflowed,
    PinChanged,
    PlanAt,
    PlanRecorded,
    RequestRecorded,
    Rewound,
    SummaryFailed,
    SummaryMade,
    SystemPromptRecorded,
    ToolsOffered,
    UsageObserved,
)
from backscroll.history.plan import Plan
from backscroll.history.plan_codec import UTF_8, Body, Fetch, PlanRecords, read_counts, to_json
from backscroll.history.ranges import SeqRange
from backscroll.history.rewound_plan import until
from backscroll.history.soundness import unsound
from backscroll.messages import MAX_DEPTH, validated
from backscroll.ports import LOST, Record, Stored
from backscroll.tokens.counts import Count
from backscroll.tokens.model_profiles import Counting
from backscroll.tokens.usage import CalibratorSnapshot, Estimate, Report, SummarizerUsage

FORMAT = 4
"""Of everything written today. Format 1 did not record which groups a message joins; formats before 3 packed nothing of
a digest; formats before 4 had no results that join no group, and their views healed nothing.
"""
FORMATS = (1, 2, 3, 4)
_HEALS = 4
"""The first format of a version whose views heal odd messages."""
_OPTIONAL = frozenset(
    (
        *("counting", "stale", "passing", "marked", "sent_to", "tools", "planned", "native", "requested", "foreseen"),
        "outside",
        "apart",
    )
)
"""Fields of a lane in a checkpoint that are written only if there is something to say."""
_LAYERED = {
    "encrypted": "is encrypted: give the `encryption_key` that it was written with",
    "offloaded": "has its body elsewhere: give the `blob_store` that it was written with",
}
"""Kinds that wrappers of a store write. Finding one here means that the store was opened without that wrapper."""
_ODD = re.compile(rb"\d[eE]\+?\d{3}")
"""A number that may be infinite."""
_WITH_PLANS = (PlanRecorded, LaneOpened)


def id_key(digest: str) -> str:
    """Return the key under which an append's idempotency key is found."""
    return f"id:{digest}"


def kind_of(event: LogEvent) -> str:
    """Return the kind of an event's record."""
    return _WRITERS[type(event)][0]


def prompt_key(digest: str) -> str:
    """Return the key under which the text of a system prompt is found."""
    return f"prompt:{digest}"


class Codec:
    """Encode and decode one session's log, in order from some position on. Keeps the positions of plans and digests.

    Args:
        fetch: Reads the record at a position, for references to earlier records. `None`: such references fail.
        looking: Read only the visible part of a digest, and not the larger part from which the next one is made.
    """

    def __init__(self, fetch: Fetch | None = None, *, looking: bool = False) -> None:
        self._fetch = fetch
        self._plans = PlanRecords(fetch, looking=looking)

    def after(self, events: Iterable[LogEvent]) -> "Codec":
        """Return a codec to encode these events with. The caller keeps it only if the store accepted the records."""
        for event in events:
            if isinstance(event, _WITH_PLANS):
                twin = Codec(self._fetch)
                twin._plans = self._plans.twin()
                return twin
        return self

    def encode_all(self, events: Iterable[LogEvent], first: int) -> list[Record]:
        """Encode events whose positions begin at `first`."""
        return [self.encode(event, at) for at, event in enumerate(events, first)]

    def encode(self, event: LogEvent, at: int) -> Record:
        """Encode an event whose position will be `at`."""
        kind, body = self.written(event, at)
        key: str | None = None
        match event:
            case IdempotencyKeyUsed():
                key = id_key(event.digest)
            case SystemPromptRecorded():
                key = prompt_key(event.digest)
        seq = event.seq if isinstance(event, MessageAdded) else None
        return Record(kind=kind, seq=seq, body=to_json(body).encode(*UTF_8), format=FORMAT, key=key)

    def written(self, event: LogEvent, at: int) -> tuple[str, Body]:
        """Return the kind of an event whose position will be `at`, and the body of its record as JSON values."""
        kind, write = _WRITERS[type(event)]
        body = write(event)
        match event:
            case PlanRecorded() | LaneOpened():
                body["plan"] = self._plans.write(event.lane, event.plan)
                self._plans.is_at(at, event.lane, event.plan, body["plan"])
            case Checkpoint():
                body["lanes"] = [self._lane(snapshot) for snapshot in event.lanes]
        return kind, body

    def _lane(self, snapshot: LaneSnapshot) -> Body:
        plan, *before = (self._placed_plan(snapshot.name, plan) for plan in (snapshot.plan, *snapshot.before))
        summary = None if snapshot.summary is None else _summary(snapshot.summary)
        native = None if snapshot.native is None else _fields(snapshot.native)
        written = _fields(snapshot) | {"plan": plan, "before": before, "summary": summary, "native": native}
        written["tools"] = _stored_tools(snapshot.tools)
        return {name: value for name, value in written.items() if name not in _OPTIONAL or value}

    def _placed_plan(self, lane: str, plan: Plan | PlanAt) -> Body:
        """Write a plan as its position in the log, or whole if it has none."""
        if isinstance(plan, PlanAt):
            return {"at": plan.place, "until": plan.until}
        at = self._plans.place(lane, plan)
        return self._plans.write(lane, plan) if at is None else {"at": at, "until": None}

    def decode(self, stored: Stored) -> LogEvent:
        """Decode an event.

        Raises:
            CorruptionError: No version of Backscroll wrote this record.
            ConfigurationError: A wrapper wrote it, and the store was opened without that wrapper.
        """
        at, record = stored
        if record.kind == LOST:
            return _lost(record)
        if record.kind in _LAYERED:
            raise ConfigurationError(f"record {at} {_LAYERED[record.kind]}")
        if record.format not in FORMATS or record.kind not in _READERS:
            raise CorruptionError(
                f"record {at} is of kind {record.kind!r} in format {record.format}, and this version reads formats "
                f"up to {FORMAT}: upgrade Backscroll to read it"
            )
        try:
            body = _from_json(record.body.decode(json.detect_encoding(record.body), "surrogatepass"))
            event = self.event(record.kind, body, at, record.format)
            _check(event, record)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            if isinstance(error, BackscrollError) and not isinstance(error, MessageError):  # of another record
                raise
            raise CorruptionError(f"record {at} ({record.kind}) cannot be read: {error!r:.200}") from error
        return event

    def event(self, kind: str, body: Body, at: int, form: int = FORMAT) -> LogEvent:
        """Return the event at a position from what `written` returned for it. Raises the standard library's errors for
        anything else.
        """
        if kind in ("plan", "lane"):
            plan_body, lane = body["plan"], body["lane"]
            body["plan"] = self._plans.read(lane, plan_body, heals=form >= _HEALS)
            self._plans.is_at(at, lane, body["plan"], plan_body)
        elif kind == "checkpoint":
            body["lanes"] = tuple([self._read_lane(lane, form) for lane in body["lanes"]])
        elif kind == "message" and form > 1:
            body.setdefault("joins", ())
        return _READERS[kind](body)

    def plan(self, lane: str, at: PlanAt) -> Plan:
        """Return the plan at a position of the log."""
        known = self._plans.known(lane, at.place)
        if known is None:
            if self._fetch is None:
                raise ValueError(f"record {at.place} is not available here")
            event = self.decode(self._fetch(at.place))
            known = event.plan if isinstance(event, PlanRecorded | LaneOpened) else Plan()
        return known if at.until is None else until(known, at.until)

    def _read_lane(self, body: Body, form: int) -> LaneSnapshot:
        plan, *before = (
            PlanAt(each["at"], each["until"])
            if "at" in each
            else self._plans.read(body["name"], each, heals=form >= _HEALS)
            for each in (body["plan"], *body["before"])
        )
        values = {key: _frozen(value) for key, value in body.items()}
        summary = None if body["summary"] is None else SummaryMade(**body["summary"])
        values["spent"] = SummarizerUsage(*values["spent"])
        values |= {
            "plan": plan,
            "summary": summary,
            "before": tuple(before),
            "meter": _meter(body["meter"]),
            "counting": _counting(body.get("counting")),
            "tools": _tools(body.get("tools")),
            "stale": tuple(SeqRange(first, last) for first, last in body.get("stale", ())),
            "native": None if body.get("native") is None else _read_native(body["native"]),
            "foreseen": _foreseen(body.get("foreseen")),
        }
        return LaneSnapshot(**values)


def _meter(values: Any) -> CalibratorSnapshot:
    meter = CalibratorSnapshot(*values)
    anchor, before = (None if report is None else Report(*report) for report in (meter.anchor, meter.before))
    return meter._replace(anchor=anchor, before=before, recent=_frozen(meter.recent))


def _foreseen(values: Any) -> Foreseen | None:
    if values is None:
        return None
    what, last, budget, meter = values
    return Foreseen(what, last, budget, _meter(meter))


def _check(event: LogEvent, record: Record) -> None:
    """Check that an event is possible; raises `ValueError`."""
    if isinstance(event, MessageAdded):
        if event.seq != record.seq:
            raise ValueError(f"it holds message {event.seq!r:.40}, but its record names {record.seq}")
        if _ODD.search(record.body) or record.body.count(b"[") + record.body.count(b"{") > MAX_DEPTH:
            validated(event.message)
    if (fault := unsound(event)) is not None:
        raise ValueError(fault)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


# Made once: `json.loads` makes a decoder at each call that names an option.
_from_json = json.JSONDecoder(parse_constant=_refused).decode


def _lost(record: Record) -> LogEvent:
    """Decode a lost record. A lost message gets a placeholder: the branch stays the same, and the view shows the
    gap.
    """
    why = record.body.decode("utf-8", "replace")
    if record.seq is None:
        return Lost(why)
    text = f"[this message was lost: {why}]"
    counts = (Count(len(text)),)  # never too few tokens
    message = {"role": "user", "content": text, "metadata": {"source": "hook", "lost": True}}
    return MessageAdded(record.seq, message, counts, joins=())


# -- events --


def _message(event: MessageAdded) -> Body:
    body = {"seq": event.seq, "message": event.message, "counts": event.counts, "by": event.counted_by}
    body |= {"joins": event.joins} if event.joins else {}
    return body | {"late": event.late} if event.late else body


def _read_message(body: Body) -> MessageAdded:
    counts, joins = read_counts(body["counts"]), body.get("joins")
    joins, late = None if joins is None else tuple(joins), _frozen(body.get("late", ()))
    return MessageAdded(
        seq=body["seq"], message=body["message"], counts=counts, counted_by=body["by"], joins=joins, late=late
    )


def _identified(event: IdempotencyKeyUsed) -> Body:
    body: Body = {"id": event.id, "first": event.first, "last": event.last}
    return body | {"digested": True} if event.digested else body


def _recorded(event: PlanRecorded) -> Body:
    figures = {"removed": event.removed, "tokens": event.tokens, "messages": event.messages}
    return {"lane": event.lane, **figures, "undone": event.undone}


def _read_recorded(body: Body) -> PlanRecorded:
    removed = tuple(body["removed"])
    return PlanRecorded(
        lane=body["lane"],
        plan=body["plan"],
        removed=removed,
        tokens=body["tokens"],
        messages=body["messages"],
        undone=body["undone"],
    )


def _observed(event: UsageObserved) -> Body:
    body: Body = {"lane": event.lane, "report": event.report}
    return body if event.cached is None else body | {"cached": event.cached, "written": event.written}


def _requested(event: RequestRecorded) -> Body:
    body: Body = {"lane": event.lane, "budget": event.budget, "plan": event.plan, "last": event.last}
    body["estimate"] = event.estimate
    if event.prompt is not None:
        body["prompt"] = event.prompt
    if event.ephemerals:
        body["ephemerals"] = event.ephemerals
    tools = _stored_tools(event.tools)
    optional: Body = {"total": event.total, "counting": event.counting, "marked": event.marked, "tools": tools}
    optional |= {"foresees": event.foresees}
    return body | {name: value for name, value in optional.items() if value is not None}


def _read_requested(body: Body) -> RequestRecorded:
    estimate = tuple(body["estimate"])
    ephemerals = tuple((after, digest, *(role or ["user"])) for after, digest, *role in body.get("ephemerals", []))
    total = None if "total" not in body else tuple(body["total"])
    return RequestRecorded(
        lane=body["lane"],
        budget=body["budget"],
        plan=body["plan"],
        last=body["last"],
        estimate=estimate,
        prompt=body.get("prompt"),
        ephemerals=ephemerals,
        total=total,
        counting=_counting(body.get("counting")),
        marked=_frozen(body.get("marked")),
        tools=_tools(body.get("tools")),
        foresees=body.get("foresees"),
    )


def _tools(values: Any) -> ToolsOffered | None:
    return None if values is None else ToolsOffered(values[0], _frozen(values[1]), *values[2:])


def _stored_tools(tools: ToolsOffered | None) -> tuple[Any, ...] | None:
    """Return tools as they are stored: without what a provider adds where it adds nothing."""
    return None if tools is None else tuple(tools) if tools.prompt else tuple(tools)[:2]


def _counting(values: Any) -> Counting | None:
    return None if values is None else Counting(*values)


def _fields(value: Any) -> Body:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _summary(event: SummaryMade) -> Body:
    body = _fields(event)
    if not event.instructions:
        del body["instructions"]
    return body


def _read_native(body: Body) -> NativeMade:
    return NativeMade(**body | {"counts": read_counts(body["counts"])})


def _history(snapshot: HistorySnapshot) -> Body:
    body = _fields(snapshot)
    groups = [
        (g.first, g.members, g.open_calls, g.answered, g.orphans, *([g.serving] if g.serving else ()))
        for g in snapshot.groups
    ]
    if snapshot.reminder is None:
        del body["reminder"]
    for name in ("serving", "turns", "others"):
        if not body[name]:
            del body[name]
    if snapshot.last_sealed < 0:
        del body["last_sealed"]
    return body | {"groups": groups}


def _checkpoint(event: Checkpoint) -> Body:
    body: Body = {"history": _history(event.history), "newest_lane": event.newest_lane}
    return body if event.answering is None else body | {"answering": event.answering}


def _read_checkpoint(body: Body) -> Checkpoint:
    values = {key: _frozen(value) for key, value in body["history"].items()}
    values["groups"] = tuple(GroupSnapshot(*group) for group in values["groups"])
    return Checkpoint(HistorySnapshot(**values), body["lanes"], body["newest_lane"], body.get("answering"))


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, at any depth."""
    return tuple(map(_frozen, value)) if type(value) is list else value


_Write = Callable[[Any], Body]
_WRITERS: Mapping[type, tuple[str, _Write]] = {
    MessageAdded: ("message", _message),
    IdempotencyKeyUsed: ("id", _identified),
    PlanRecorded: ("plan", _recorded),
    LaneOpened: ("lane", lambda event: {"lane": event.lane}),
    PinChanged: ("pin", lambda event: {"seq": event.seq, "pinned": event.pinned}),
    UsageObserved: ("usage", _observed),
    HealingBegun: ("heals", lambda event: {"lane": event.lane}),
    Overflowed: (
        "overflow",
        lambda event: {"lane": event.lane, "tokens": event.tokens, "limit": event.limit, "sent": event.sent},
    ),
    Rewound: ("rewind", lambda event: {"to": event.to}),
    SystemPromptRecorded: ("prompt", lambda event: {"digest": event.digest, "text": event.text}),
    RequestRecorded: ("request", _requested),
    SummaryMade: ("summary", _summary),
    SummaryFailed: ("no_summary", _fields),
    NativeMade: ("native", _fields),
    Checkpoint: ("checkpoint", _checkpoint),
    CompactionSkipped: (
        "settled",
        lambda event: {
            "lane": event.lane, "tokens": event.tokens, "messages": event.messages, "batch": event.batch,
        },
    ),
}  # fmt: skip
_READERS: Mapping[str, Callable[[Body], LogEvent]] = {
    "message": _read_message,
    "id": lambda body: IdempotencyKeyUsed(body["id"], body["first"], body["last"], body.get("digested", False)),
    "plan": _read_recorded,
    "lane": lambda body: LaneOpened(body["lane"], body["plan"]),
    "pin": lambda body: PinChanged(body["seq"], body["pinned"]),
    "usage": lambda body: UsageObserved(body["lane"], Report(*body["report"]), body.get("cached"), body.get("written")),
    "heals": lambda body: HealingBegun(body["lane"]),
    "overflow": lambda body: Overflowed(
        body["lane"], body["tokens"], body["limit"], Estimate(*sent) if (sent := body.get("sent")) else None
    ),
    "rewind": lambda body: Rewound(body["to"]),
    "prompt": lambda body: SystemPromptRecorded(body["digest"], body["text"]),
    "request": _read_requested,
    "summary": lambda body: SummaryMade(**body),
    "no_summary": lambda body: SummaryFailed(**body),
    "native": _read_native,
    "checkpoint": _read_checkpoint,
    "settled": lambda body: CompactionSkipped(body["lane"], body["tokens"], body["messages"], body["batch"]),
}
