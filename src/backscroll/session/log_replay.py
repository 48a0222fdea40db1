"""Replay a session's log once, request by request: the parts of each, and how much the previous one held already.

A replay owns a replica of the session and keeps its position, so later requests are found by continuing.
"""

import json
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple

from backscroll.compaction.lane_state import LaneState
from backscroll.history.log import Checkpoint, PlanRecorded, RequestRecorded, SystemPromptRecorded, UsageObserved
from backscroll.messages import Message
from backscroll.ports import Operation
from backscroll.session.breakdown import MESSAGE_KINDS, divided, estimates_of
from backscroll.session.cache_forecast import CacheForecast
from backscroll.session.state import SessionState
from backscroll.session.store_sync import load_and_apply, refresh_lane
from backscroll.view.cache_marks import Marking
from backscroll.view.ephemerals import unstored
from backscroll.view.segment import Segment

_Parts = tuple[int, ...]
"""Tokens, in the order of `MESSAGE_KINDS`."""
_NONE = (0,) * len(MESSAGE_KINDS)


class Step(NamedTuple):
    """What a replay finds of one request: first as estimated, and again once its provider has counted it."""

    at: int
    messages: int
    parts: dict[str, int]
    """Tokens by `breakdown.KINDS`, which add up to the request."""
    kept: int
    """Tokens that a provider's cache can hold, including those outside the messages: what is unchanged since the lane's
    previous request, up to the first character that differs; where the request bears marks, what the provider reads by
    these.
    """


class LogReplay:
    """Replay a log once, from its beginning, and continue later from the reached position."""

    def __init__(self, state: SessionState) -> None:
        self._replica = state.replica(state.reader.reader())
        self._codec = self._replica.reader.codec()
        self._prompts: dict[str, str] = {}
        self._views: dict[str, _Seen] = {}
        self._newest: dict[str, _Estimated] = {}
        self._counted: dict[str, int] = {}
        """Tokens that the provider counted of each lane's newest request."""
        self.place: int = 0
        """Number of events replayed so far."""

    def advance(self, most: int) -> Operation[list[Step]]:
        """Return the requests among the next `most` events, and those measured there; none at the end."""
        replica, found = self._replica, list[Step]()
        page = yield from replica.reader.page_from(self.place, most, self._codec)
        for at, event in page:
            if isinstance(event, SystemPromptRecorded):
                self._prompts[event.digest] = event.text
            if isinstance(event, Checkpoint):
                self._evict()
                continue
            yield from load_and_apply(replica, event, at)
            if isinstance(event, PlanRecorded):
                self._evict()
            if isinstance(event, RequestRecorded):
                found.append((yield from self._step(at, event)))
            elif isinstance(event, UsageObserved) and (newest := self._newest.get(event.lane)) is not None:
                self._counted[event.lane] = event.report.tokens
                found.append(newest.as_step(event.report.tokens, replica.lanes[event.lane]))
            replica.pending_notifications.clear()
        self.place += len(page)
        return found

    def _evict(self) -> None:
        replica = self._replica
        if replica.history.noted:
            shown = {seq for lane in replica.lanes.values() if lane.view for seq in lane.view.shown()}
            replica.history.evict(shown, replica.history.next_seq)

    def _step(self, at: int, event: RequestRecorded) -> Operation[Step]:
        replica, lane = self._replica, self._replica.lanes[event.lane]
        seen = self._views.setdefault(event.lane, _Seen())
        if event.ephemerals[: len(seen.ephemerals)] != seen.ephemerals:
            lane.view = None  # ephemeral messages that it showed are gone
        seen.ephemerals, replica.ephemerals = event.ephemerals, unstored(event.ephemerals)
        yield from refresh_lane(replica, lane, None if event.prompt is None else self._prompts.get(event.prompt))
        assert lane.view is not None
        follows = event.lane in self._newest
        total = lane.used(event.budget).expected if event.total is None else event.total[0]
        counted = self._counted.pop(event.lane, 0)
        parts, kept, extends = seen.take(lane)
        tools = "" if lane.tools is None else lane.tools.digest
        if tools != seen.tools:  # they precede everything
            kept, follows, extends, seen.tools = 0, False, False, tools
        if event.marked is None:
            seen.cache = None
        else:
            kept = seen.read(lane, Marking(*event.marked), total)
            follows, extends = kept >= 0, False
        known = counted if extends else 0
        newest = _Estimated(
            at=at, messages=len(lane.view.messages), parts=parts, kept=max(0, kept), follows=follows, known=known
        )
        self._newest[event.lane] = newest
        return newest.as_step(total, lane)


class _Estimated(NamedTuple):
    """A request with the estimates of its messages."""

    at: int
    messages: int
    parts: dict[str, int]
    kept: int
    follows: bool
    """Whether a cache can hold what precedes its messages."""
    known: int
    """What the provider counted of the request before, if this one begins with all of it; else 0."""

    def as_step(self, total: int, lane: LaneState) -> Step:
        """Scale the estimates to the tokens of the whole request."""
        parts, _ = divided(self.parts, lane.calibrator.overhead(lane.budget), total)
        if self.known:
            return Step(self.at, self.messages, parts, min(total, self.known))
        divided_by_growth, scale = divided(self.parts, lane.calibrator.overhead_by_growth(lane.budget), total)
        outside = divided_by_growth["overhead"] if self.follows else 0
        return Step(self.at, self.messages, parts, min(total, outside + round(self.kept * scale)))


@dataclass(slots=True)
class _Seen:
    """A lane's newest request, segment by segment."""

    segments: list[Segment] = field(default_factory=list)
    messages: list[list[Message]] = field(default_factory=list)
    parts: list[_Parts] = field(default_factory=list)
    """Tokens of each segment, without its role separator."""
    sums: list[_Parts] = field(default_factory=list)
    """Sums up to each segment, with its role separator."""
    ephemerals: tuple[tuple[int, str, str], ...] = ()
    tools: str = ""
    """Digest of the tools of that request."""
    unchanged: int = 0
    """Segments that are the same as in the request before."""
    cache: CacheForecast | None = None
    """What its marks wrote; only where requests bear marks."""

    def read(self, lane: LaneState, marking: Marking, total: int) -> int:
        """Return how many expected tokens of the taken request its provider reads by its marks; -1: nothing at all."""
        assert lane.view is not None
        if self.cache is None:
            self.cache, self.unchanged = CacheForecast(), 0
        self.cache.follow(lane.view, self.unchanged, self.tools)
        overhead = lane.calibrator.overhead(lane.budget)
        scale = max(0, total - overhead) / (lane.view.estimate.expected or 1)
        places = [place for place, _ in lane.view.mark_places(marking, lane.sent_before)]
        return round(self.cache.read(places, marking, overhead, scale))

    def take(self, lane: LaneState) -> tuple[dict[str, int], int, bool]:
        """Return tokens by part, how many of them are unchanged, and whether the request before is, all of it.

        The cost grows with the new segments only.
        """
        assert lane.view is not None
        segments, same = lane.view.segments, len(self.segments)
        if segments[:same] != self.segments:  # by identity, and much faster than one by one
            same = next(
                at for at, segment in enumerate(self.segments) if at == len(segments) or segment is not segments[at]
            )
        unchanged = same
        for at in range(same, min(len(segments), len(self.segments))):
            if _messages_of(segments[at]) != self.messages[at]:
                break
            unchanged = at + 1
        self.unchanged, extends = unchanged, unchanged == len(self.segments)
        then = self.messages[unchanged] if unchanged < len(self.messages) else None
        self._go_on_from(same, segments, lane)
        parts = dict(zip(MESSAGE_KINDS, self.sums[-1] if self.sums else _NONE, strict=True))
        kept = sum(self.sums[unchanged - 1]) if unchanged else 0
        if then is not None and unchanged < len(segments):  # a digest that grew begins as it did before
            first_changed = sum(self.sums[unchanged]) - kept
            kept += int(first_changed * _same_beginning(then, self.messages[unchanged]))
        return parts, kept, extends

    def _go_on_from(self, same: int, segments: list[Segment], lane: LaneState) -> None:
        """Replace the segments after the common ones; each segment is measured once."""
        old = zip(self.segments[same:], self.parts[same:], strict=True)
        known: dict[int, tuple[list[Message], _Parts | None]] = {}
        known.update((id(segment.messages), (segment.messages, parts)) for segment, parts in old)
        del self.segments[same:], self.sums[same:], self.messages[same:], self.parts[same:]
        total = self.sums[-1] if self.sums else _NONE
        for segment in segments[same:]:
            parts = known.get(id(segment.messages), (segment.messages, None))[1]
            if parts is None:
                parts = _reckoned(segment, lane)
            separator = segment.separator_estimate.expected
            total = tuple(map(add, total, parts))
            if separator:
                total = total[0], total[1] + separator, *total[2:]
            self.segments.append(segment)
            self.parts.append(parts)
            self.sums.append(total)
            self.messages.append(_messages_of(segment))


def _reckoned(segment: Segment, lane: LaneState) -> _Parts:
    found = dict.fromkeys(MESSAGE_KINDS, 0)
    for part, tokens in estimates_of(segment, lane):
        found[part] += tokens
    if segment.separator is not None:
        found["digest"] -= segment.separator_estimate.expected
    return tuple(found.values())


def _same_beginning(then: list[Message], now: list[Message]) -> float:
    """Return the share (0 to 1) of some messages, as JSON, that begins like others."""
    before, after = (json.dumps(messages, ensure_ascii=False) for messages in (then, now))
    most = min(len(before), len(after))
    same = bisect_left(range(most), True, key=lambda at: before[: at + 1] != after[: at + 1])
    return same / len(after)


def _messages_of(segment: Segment) -> list[Message]:
    return segment.messages if segment.separator is None else [segment.separator, *segment.messages]
