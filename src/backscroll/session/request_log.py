"""The requests of a session, and the exact messages of each, with the reason for each message.

What a request held follows from the log up to it, which a replica of the session applies.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from backscroll.compaction.lane_state import LaneState
from backscroll.errors import ReferenceNotFoundError
from backscroll.history.history import Entry, History
from backscroll.history.log import (
    Checkpoint,
    LogEvent,
    NativeMade,
    PlanRecorded,
    RequestRecorded,
    SummaryFailed,
    SummaryMade,
    UsageObserved,
)
from backscroll.history.plan import Digest, Gap, Native, reference
from backscroll.messages import Message, copy_message, in_a_row
from backscroll.messages.rewriter import NO_RESULT
from backscroll.ports import Operation
from backscroll.session.breakdown import shown_entries
from backscroll.session.explain import MessageStatus, explain_entries
from backscroll.session.past import state_at
from backscroll.session.state import Position, SessionState
from backscroll.session.store_sync import enter, fetch, flush_deferred, load_and_apply, refresh_lane
from backscroll.session.system_prompt import prompt_of
from backscroll.view.cache_marks import Marking, set_marks
from backscroll.view.ephemerals import unstored
from backscroll.view.group_rendering import Sources
from backscroll.view.segment import BLOCK, EPHEMERAL, SUMMARY, Segment

_KINDS = frozenset(("request", "usage", "summary", "no_summary", "native"))
_NEAR = 256  # records between the last position read and one that is reached from there
RequestItemKind = Literal["message", "prompt", "digest", "native", "bridge", "filled", "ephemeral", "left out"]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One view that was handed out. Tokens are of the whole request, including its overhead."""

    at: int
    """Its position in the session's log, for `get_request`."""
    lane: str
    budget: int
    """Tokens that it was allowed."""
    plan: int
    """The number of its plan; 0 = nothing was left out or shortened."""
    last: int
    """The newest message in it; -1 without one."""
    estimated: int
    """Expected tokens, estimated when it was handed out."""
    upper: int
    """The upper estimate, on which compaction decides; never above the budget."""
    compacted: bool
    """Whether the lane got a new plan since its previous request. False if that request is outside the listed range."""
    measured: int | None
    """The provider's count of the whole request. `None`: not reported."""
    cached: int | None
    written: int | None
    """Parts of it that the provider read from its cache and wrote to it. `None`: not reported."""
    answer: int | None
    """The provider's count of the answer. `None`: not reported."""
    summarizer: tuple[int, int]
    """Input and output tokens of the lane's summaries since its previous request."""

    @property
    def tokens(self) -> int:
        """Tokens of the request: as its provider counted them, else as expected."""
        return self.estimated if self.measured is None else self.measured


@dataclass(frozen=True, slots=True)
class RequestItem:
    """One message of a request, or a range of messages that it leaves out."""

    kind: RequestItemKind
    """`message` of the history; `prompt` of a factory; `digest` of everything left out; `native` block of the provider;
    `bridge` between two messages of one role; `filled` for a missing result; `ephemeral`, never stored; `left out`.
    """
    message: Message | None
    """The message as sent. `None`: it is left out."""
    role: str
    first: int
    last: int
    """The messages of the history that it shows; -1 for none."""
    state: str
    """As in `MessageStatus`."""
    reason: str
    tokens: int
    """Its present tokens as expected; 0 if left out. Messages for missing results share the tokens
    estimated for these.
    """
    original: int
    """Tokens of the original message, likewise."""
    ref: str


@dataclass(frozen=True, slots=True)
class RequestSnapshot:
    """A request as it was sent, with the reasons."""

    lane: str
    budget: int
    plan: int
    messages: list[Message]
    """What `get_messages_for_request` returned, with its marks. Ephemeral messages are not stored and appear as
    `{"role": ..., "ephemeral": SHA-256}`.
    """
    lines: tuple[RequestItem, ...]
    """The same in order, with what is left out."""


def list_requests(state: SessionState, start: int, stop: int | None) -> Operation[list[RequestRecord]]:
    """Return the requests at positions of the log from `start` up to but excluding `stop`, in order."""
    yield from enter(state)
    yield from flush_deferred(state)
    found = yield from state.reader.events_of(_KINDS, start, stop)
    return list(_listed(found, whole=start <= 0))


def get_request(state: SessionState, at: int) -> Operation[RequestSnapshot]:
    """Return the request at a position of the log.

    Raises:
        ReferenceNotFoundError: There is no request.
    """
    yield from enter(state)
    event, past, lane = yield from lane_of_request(state, at)
    past.ephemerals, sent_to = unstored(event.ephemerals), past.look(event.lane).sent_to
    lane.around = replace(lane.around, marking=_marking(event, lane))
    yield from refresh_lane(past, lane, (yield from prompt_of(past, event.prompt)))
    messages = _messages(lane, sent_to)
    lines = tuple(_lines(past.history, lane, messages))
    return RequestSnapshot(
        lane=event.lane, budget=event.budget, plan=event.plan, messages=in_a_row(messages), lines=lines
    )


def left_out(state: SessionState, at: int, first: int, last: int) -> Operation[list[tuple[MessageStatus, Message]]]:
    """Return messages that the request at a position left out, with the status of each in it."""
    yield from enter(state)
    _, past, lane = yield from lane_of_request(state, at)
    branch = past.history.branch
    seqs = list(branch.between(branch.position(first), branch.position(last + 1)))
    entries = yield from fetch(past, seqs)
    statuses = explain_entries(past.history, lane, entries)
    return [(each, copy_message(entry.message)) for each, entry in zip(statuses, entries, strict=True)]


def lane_of_request(state: SessionState, at: int) -> Operation[tuple[RequestRecorded, SessionState, LaneState]]:
    """Return the request at a position, a replica of the session at that time, and the request's lane in it, without a
    view. The lock must be held.

    Raises:
        ReferenceNotFoundError: There is no request.
    """
    event = yield from _requested_at(state, at)
    past = yield from _before_request(state, at, event)
    return event, past, past.make_lane(event.lane, past.look(event.lane).plan)


def _requested_at(state: SessionState, at: int) -> Operation[RequestRecorded]:
    found: Sequence[tuple[int, LogEvent]] = ()
    if type(at) is int and at >= 0:
        yield from flush_deferred(state)
        found = yield from state.reader.events_of(("request",), at, at + 1)
    for _, event in found:
        if isinstance(event, RequestRecorded):
            return event
    raise ReferenceNotFoundError(
        f"no request is at position {at!r} of this session's log: `list_requests()` returns their positions"
    )


def _before_request(state: SessionState, at: int, event: RequestRecorded) -> Operation[SessionState]:
    """Return a replica of the session when a request was made."""
    replica = yield from _going_on(state, at)
    last = replica.history.last
    if event.last >= 0 and (last is None or last.seq != event.last):  # others wrote before this request was stored
        place = yield from state.reader.place_before_next(event.last)
        replica = yield from state_at(state, min(place, at))
    return replica


def _going_on(state: SessionState, at: int) -> Operation[SessionState]:
    """Return a replica at a position: the last one read, continued, if that is close enough."""
    before, state.looked_at = state.looked_at, None
    if before is None or not before.place <= at <= before.place + _NEAR:
        found = Position(at, (yield from state_at(state, at)), state.reader.codec())
    else:
        found, replica = before, before.state
        page = yield from state.reader.page_from(found.place, at - found.place, found.codec)
        for place, event in page:
            if not isinstance(event, Checkpoint):
                yield from load_and_apply(replica, event, place)
            if isinstance(event, Checkpoint | PlanRecorded) and replica.history.noted:
                replica.history.evict(set(), replica.history.next_seq)
        replica.pending_notifications.clear()
    state.looked_at = Position(at, found.state, found.codec)
    return found.state


def _listed(events: Sequence[tuple[int, LogEvent]], whole: bool) -> Iterator[RequestRecord]:
    measured: dict[int, UsageObserved] = {}
    newest: dict[str, int] = {}
    for at, event in events:
        if isinstance(event, RequestRecorded):
            newest[event.lane] = at
        elif isinstance(event, UsageObserved) and event.lane in newest:
            measured[newest[event.lane]] = event
    plans: dict[str, int] = {}
    spent: dict[str, tuple[int, int]] = {}
    for at, event in events:
        if isinstance(event, SummaryMade | SummaryFailed | NativeMade):
            read, wrote = spent.get(event.lane, (0, 0))
            spent[event.lane] = read + event.input_tokens, wrote + event.output_tokens
        elif isinstance(event, RequestRecorded):
            name = event.lane
            first = max(plans.values(), default=0) if whole else event.plan  # a lane starts from the newest plan
            before = plans.get(name, first)
            estimated, upper = event.total or event.estimate
            measures, tokens = _reported(measured.get(at)), spent.pop(name, (0, 0))
            head = at, name, event.budget, event.plan, event.last
            yield RequestRecord(*head, estimated, upper, event.plan != before, *measures, summarizer=tokens)
            plans[name] = event.plan


def _reported(seen: UsageObserved | None) -> tuple[int | None, int | None, int | None, int | None]:
    if seen is None:
        return None, None, None, None
    return seen.report.tokens, seen.cached, seen.written, seen.report.answer or None


def _marking(event: RequestRecorded, lane: LaneState) -> Marking | None:
    """Return the marks that a request bears. How long they last is not recorded: as the options say now."""
    if event.marked is None:
        return None
    marking = Marking(*event.marked)
    return marking if lane.around.marking is None else marking._replace(ttls=lane.around.marking.ttls)


def _messages(lane: LaneState, sent_to: int) -> list[Message]:
    """Return the messages of a view, one to one. `sent_to`: entries with a lower `seq` were in the request before."""
    view, marking = lane.view, lane.around.marking
    assert view is not None
    copies = view.marked_copies(sent_to) if view.is_written else view.aligned_copies()
    if marking is not None and not view.is_written:
        set_marks(copies, view.mark_places(marking, sent_to), marking.ttls)
    for segment in view.segments:
        if segment.key[1] == EPHEMERAL:
            copies[segment.start + (segment.separator is not None)] = _unstored(segment)
    return copies


def _unstored(segment: Segment) -> Message:
    message = segment.messages[0]
    return {"role": message["role"], "ephemeral": str(message["content"]).rpartition(" ")[2]}


def _lines(history: History, lane: LaneState, messages: Sequence[Message]) -> Iterator[RequestItem]:
    """Yield the view's messages in order, with what is left out at its place."""
    assert lane.view is not None
    gaps = list(lane.plan.gaps())
    for segment in lane.view.segments:
        while segment.group is not None and gaps and gaps[0].first < segment.group.first:
            yield _gap(gaps.pop(0))
        shown = list(messages[segment.start : segment.start + len(segment.messages) + (segment.separator is not None)])
        if segment.separator is not None:
            yield _made("bridge", shown.pop(0), segment.separator_estimate.expected)
        if segment.group is not None:
            yield from _members(history, lane, segment, shown)
            continue
        kind: RequestItemKind = "prompt"
        if segment.key[1] == SUMMARY:
            kind = "native" if segment.key[2] == BLOCK else "digest"
        elif segment.key[1] == EPHEMERAL:
            kind = "ephemeral"
        for message in shown:
            yield _made(kind, message, segment.estimate.expected)
    yield from map(_gap, gaps)


def _members(history: History, lane: LaneState, segment: Segment, shown: list[Message]) -> Iterator[RequestItem]:
    """Yield the messages of a group. A message more than it has entries replaces a missing result. Without one, texts
    that healing added count with the last message.
    """
    statuses = explain_entries(history, lane, segment.entries)
    tokens = dict(shown_entries(segment, lane))
    filled = segment.estimate.expected - sum(tokens.values())
    if segment.sources is not None:
        explained = dict(zip(segment.entries, statuses, strict=True))
        yield from _arranged_members(segment.sources, explained, tokens, shown, filled)
        return
    waiting = [(entry, each) for entry, each in zip(segment.entries, statuses, strict=True) if each.state != "left out"]
    made = len(shown) - len(waiting)
    shares, extra = _shares(filled, made), 0 if made else filled
    for left, message in zip(range(len(shown), 0, -1), shown, strict=True):
        if not waiting or (left > len(waiting) and _is_filled(message, waiting[0][0])):
            yield _made("filled", message, next(shares))
            continue
        entry, each = waiting.pop(0)
        yield RequestItem(
            kind="message",
            message=message,
            role=each.role,
            first=each.seq,
            last=each.seq,
            state=each.state,
            reason=each.reason,
            tokens=tokens[entry] + (extra if left == 1 else 0),
            original=each.tokens,
            ref=each.ref,
        )


def _arranged_members(
    sources: Sources, explained: dict[Entry, MessageStatus], tokens: dict[Entry, int], shown: list[Message], filled: int
) -> Iterator[RequestItem]:
    """Yield the messages of a group in which a message may be made of several entries, or an entry be in several
    messages: it counts with its last. Lines for missing results within other messages count with the last message.
    """
    last = {entry: at for at, entries in enumerate(sources) for entry in entries}
    alone = sum(not entries for entries in sources)
    shares = _shares(filled if alone else 0, alone)
    for at, (entries, message) in enumerate(zip(sources, shown, strict=True)):
        if not entries:
            yield _made("filled", message, next(shares))
            continue
        first, own = explained[entries[0]], [entry for entry in entries if last[entry] == at]
        extra = filled if not alone and at == len(sources) - 1 else 0
        yield RequestItem(
            kind="message",
            message=message,
            role=first.role,
            first=entries[0].seq,
            last=entries[-1].seq,
            state=first.state,
            reason=first.reason,
            tokens=sum(tokens[entry] for entry in own) + extra,
            original=sum(explained[entry].tokens for entry in own),
            ref=first.ref,
        )


def _shares(tokens: int, number: int) -> Iterator[int]:
    """Divide tokens among so many messages."""
    return (tokens // number + (at < tokens % number) for at in range(number))


def _is_filled(message: Message, entry: Entry) -> bool:
    return message is not entry.message and message != entry.message and NO_RESULT in json.dumps(message)


_REASONS = {
    "prompt": "from the system prompt factory",
    "digest": "summarizes what is left out",
    "native": "the provider's own compaction",
    "bridge": "separates two messages of one role",
    "filled": "replaces a result that was never recorded",
    "ephemeral": "never stored: shown by its SHA-256",
}


def _made(kind: RequestItemKind, message: Message, tokens: int) -> RequestItem:
    return RequestItem(
        kind=kind,
        message=message,
        role=str(message["role"]),
        first=-1,
        last=-1,
        state="whole",
        reason=_REASONS[kind],
        tokens=tokens,
        original=tokens,
        ref="",
    )


def _gap(gap: Gap) -> RequestItem:
    state = "digested" if isinstance(gap, Digest) else "compacted" if isinstance(gap, Native) else "left out"
    return RequestItem(
        kind="left out",
        message=None,
        role="",
        first=gap.first,
        last=gap.last,
        state=state,
        reason=gap.by,
        tokens=0,
        original=0,
        ref=reference(gap.first, gap.last),
    )
