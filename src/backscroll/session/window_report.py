"""What a lane's window holds, its largest messages, and what a compaction would do."""

from copy import copy
from dataclasses import dataclass

from backscroll.compaction.decision import PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.result import CompactionResult
from backscroll.history.history import Entry, History
from backscroll.history.journal import Journal
from backscroll.history.log import Overflowed, UsageObserved
from backscroll.history.plan import reference
from backscroll.ports import Ask, Operation
from backscroll.session.breakdown import KINDS, break_down, shown_entries
from backscroll.session.explain import prose_of
from backscroll.session.past import state_at
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, lane_now, load_session
from backscroll.tokens.usage import Origin, TokenCount, ToolTokens, Usage

PARTS = (*KINDS, "free")
"""The kinds of a request, and the free part of the window."""
LARGEST = 10
_BEGINNING = 60  # characters of a message that identify it
_LOOKED_AT = 4_096  # characters searched for these: any number of blanks may come first


@dataclass(frozen=True, slots=True)
class LargestMessage:
    """One message, and its share of the window."""

    seq: int
    role: str
    ref: str
    tokens: int
    """Its present tokens in the view, scaled with its kind."""
    beginning: str
    """The tool that it calls, or the beginning of its text."""


@dataclass(frozen=True, slots=True)
class WindowReport:
    """A lane's window. All figures in tokens."""

    lane: str
    parts: dict[str, int]
    """Tokens of each of `PARTS`: `usage.by_kind`, which adds up to `usage.used`, and `usage.free`."""
    largest: tuple[LargestMessage, ...]
    """The largest messages, largest first."""
    threshold: int
    """The upper estimate from which the next request is compacted."""
    next_compaction: CompactionResult
    """What a compaction now would do; nothing if the view is at its target already."""
    usage: Usage


def window_report(state: SessionState, lane_name: str) -> Operation[WindowReport]:
    """Return what the lane's window holds, and what a compaction now would do. Changes nothing."""
    yield from enter(state)
    lane, now = yield from lane_now(state, lane_name)
    found = yield Ask(_report, (lane, now), heavy=True, tolerant=True)
    if isinstance(found, Exception):
        raise found
    seen: WindowReport = found
    return seen


def _report(lane: LaneState, now: PolicyInput) -> WindowReport:
    """Report on a lane whose view is up to date."""
    from backscroll.compaction.policy import next_compaction  # noqa: PLC0415  only this report needs a decision

    assert lane.view is not None
    used, scale = _usage(now.history, lane), break_down(lane).scale
    parts = {kind: figure.tokens for kind, figure in used.by_kind.items()} | {"free": used.free}
    each: list[tuple[int, Entry]] = []
    for segment in lane.view.segments:
        each += [(round(tokens * scale), entry) for entry, tokens in shown_entries(segment, lane)]
    each.sort(key=lambda found: (-found[0], found[1].seq))
    largest = tuple(_contributor(entry, tokens) for tokens, entry in each[:LARGEST])
    threshold, coming = next_compaction(lane, now)
    return WindowReport(
        lane=lane.name, parts=parts, largest=largest, threshold=threshold, next_compaction=coming, usage=used
    )


def _contributor(entry: Entry, tokens: int) -> LargestMessage:
    reading = entry.reading
    text = next((text for part in reading.parts if (text := part.readable) and not text.isspace()), "")
    names = ", ".join(part.name for part in reading.call_parts if part.name)
    beginning = " ".join(text.lstrip()[:_LOOKED_AT].split())[:_BEGINNING]
    label = f"calls {names}" if names else beginning
    return LargestMessage(seq=entry.seq, role=reading.role, ref=reference(entry.seq), tokens=tokens, beginning=label)


def usage(state: SessionState, lane_name: str) -> Usage | None:
    """Return what the lane's window holds, by its provider's last report; None before its first view here."""
    known = state.lanes.get(lane_name)
    if known is None or known.view is None:
        return None
    lane = copy(known)
    lane.calibrator = copy(known.calibrator)
    for reported in state.pending_usage:
        if isinstance(reported, UsageObserved | Overflowed) and reported.lane == lane_name:
            lane.apply(reported)
    return _usage(state.history, lane)


def usage_as_stored(state: SessionState, lane_name: str) -> Operation[Usage]:
    """Return what a lane's window holds without a view of it here. Needs no lock, because a replica reads the store."""
    replica = state
    if isinstance(own := state.reader.reader(), Journal):
        replica = state.replica(own)
        yield from load_session(replica, own)
    elif state.history.evicted_to >= 0:
        replica = yield from state_at(state, (yield from own.place_at_end()))
    lane, _ = yield from lane_now(replica, lane_name)
    return _usage(replica.history, lane)


def _usage(history: History, lane: LaneState) -> Usage:
    """Break down a lane's newest view, which must exist."""
    assert lane.view is not None
    prose = prose_of(lane.plan)
    total = lane.used(lane.budget)
    origin: Origin = "measured" if lane.calibrator.measured else "estimated"
    by_kind = {kind: TokenCount(tokens, "estimated") for kind, tokens in break_down(lane).tokens.items()}
    by_kind["overhead"] = TokenCount(by_kind["overhead"].tokens, origin)
    return Usage(
        window=lane.budget,
        used=TokenCount(total.expected, origin),
        used_upper_bound=total.upper,
        free=max(0, lane.allowed(lane.budget) - total.upper),
        by_kind=by_kind,
        messages=len(lane.view.messages),
        stored=len(history.branch),
        compactions=lane.compactions,
        summarizer=lane.spent,
        tools=tuple([ToolTokens(name, tokens) for name, tokens in lane.tools.tools]) if lane.tools else (),
        summarized_by=None if prose is None else prose.by or "a model",
    )
