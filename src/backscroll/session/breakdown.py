"""The tokens of a request by kind: the one breakdown behind usage, window reports and the inspector.

The messages of a view are estimated one by one. If the whole request is known better, from its provider's count or the
lane's calibration, the estimates are scaled so that all kinds add up to it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from backscroll.compaction.lane_state import LaneState
from backscroll.history.history import Entry
from backscroll.history.plan import PartEdit
from backscroll.messages import speaker
from backscroll.tokens.usage import estimate_message
from backscroll.view.rendering import edited_counts
from backscroll.view.segment import SUMMARY, Segment

MESSAGE_KINDS = ("system", "digest", "user", "assistant", "results")
"""System messages, the summary of everything left out, texts of users, texts and calls of the model, and results of
tools.
"""
KINDS = ("overhead", *MESSAGE_KINDS)
"""The same after the overhead: tool definitions, a prompt that the host adds."""


class Breakdown(NamedTuple):
    """The tokens of a request by kind."""

    tokens: dict[str, int]
    """Tokens of each of `KINDS`, which add up to the request."""
    scale: float
    """Factor applied to the estimates of messages."""


def break_down(lane: LaneState) -> Breakdown:
    """Break down a lane's newest view, which must exist, with its overhead."""
    assert lane.view is not None
    estimates = dict.fromkeys(MESSAGE_KINDS, 0)
    for segment in lane.view.segments:
        for kind, tokens in estimates_of(segment, lane):
            estimates[kind] += tokens
    return divided(estimates, lane.calibrator.overhead(lane.budget), lane.used(lane.budget).expected)


def divided(estimates: Mapping[str, int], overhead: int, total: int) -> Breakdown:
    """Divide a request of `total` tokens by kind; `overhead` is the known part outside its messages."""
    estimated = sum(estimates.values())
    overhead = min(overhead, total) if estimated else total
    shares = {kind: divmod(tokens * (total - overhead), estimated or 1) for kind, tokens in estimates.items()}
    tokens = {"overhead": overhead} | {kind: share for kind, (share, _) in shares.items()}
    rest = total - sum(tokens.values())
    for kind in sorted(shares, key=lambda kind: -shares[kind][1])[:rest]:
        tokens[kind] += 1
    return Breakdown(tokens, (total - overhead) / estimated if estimated else 1.0)


def estimates_of(segment: Segment, lane: LaneState) -> Iterator[tuple[str, int]]:
    """Yield what a segment of a view adds to which of `MESSAGE_KINDS`, in expected tokens."""
    if segment.separator is not None:
        yield "digest", segment.separator_estimate.expected
    if segment.group is None:
        yield _kind_of_made(segment), segment.estimate.expected
        return
    if len(segment.entries) == 1 and not segment.group.open_calls:  # the common case: it is the whole segment
        yield _kind_of(segment.entries[0]), segment.estimate.expected
        return
    filled = segment.estimate.expected
    for entry, tokens in shown_entries(segment, lane):
        filled -= tokens
        yield _kind_of(entry), tokens
    if filled:  # lines that replace missing results
        yield "results", filled


def shown_entries(segment: Segment, lane: LaneState) -> Iterator[tuple[Entry, int]]:
    """Yield the entries of a segment with their present, expected tokens."""
    edits: defaultdict[int, list[PartEdit]] = defaultdict(list)
    for edit in segment.edits:
        edits[edit.seq].append(edit)
    for entry in segment.entries:
        orphans = segment.group.orphans.get(entry.seq, ()) if segment.group else ()
        counts = edited_counts(entry, edits[entry.seq], orphans, bare=entry.seq in segment.bare)
        yield entry, estimate_message(entry.reading, counts, lane.family).expected


def _kind_of_made(segment: Segment) -> str:
    """Return the kind of a segment without entries."""
    if segment.key[1] == SUMMARY:
        return "digest"
    role = speaker(segment.messages[0]) if segment.messages else "system"
    return role if role in ("user", "assistant") else "system"


def _kind_of(entry: Entry) -> str:
    reading = entry.reading
    if reading.results:
        return "results"
    return "system" if reading.is_system else "assistant" if reading.role == "assistant" else "user"
