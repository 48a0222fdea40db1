"""Explain what a view holds and why: the status of each message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from backscroll.compaction.lane_state import LaneState
from backscroll.history.history import Entry, History
from backscroll.history.loading import chunks, load
from backscroll.history.plan import Clear, Digest, DigestLine, Gap, Native, PartEdit, Plan, Restate, reference
from backscroll.history.ranges import covers
from backscroll.messages import without_reasoning
from backscroll.messages.heal_rules import SENT
from backscroll.ports import Operation
from backscroll.session.lane import not_loaded
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, fetch, lane_now
from backscroll.tokens.usage import estimate_message
from backscroll.view.segment import healed_in

State = Literal[
    "whole", "healed", "without reasoning", "restated", "excerpted", "cleared", "digested", "compacted", "left out"
]


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """The status of one message in a lane's newest view."""

    seq: int
    role: str
    state: State
    """`whole`, `healed` (sent otherwise than it was added, since its provider would refuse that), `without reasoning`
    (its provider binds reasoning to what was edited before it, or no longer needs it),
    `restated` (it only refers to an earlier result, whose text is shown in its place, or said not to be shown),
    `excerpted` (cut to the lines that matter), `cleared` (replaced by a stub), `digested` (the digest covers it),
    `compacted` (the provider's own block represents it) or `left out`.
    """
    reason: str
    """What protects it, or the strategy that chose it."""
    tokens: int
    """Expected tokens of the original."""
    ref: str
    """The reference under which `recall` returns the original."""


def explain(state: SessionState, lane_name: str) -> Operation[list[MessageStatus]]:
    """Return the status of each message in the lane's newest view."""
    yield from enter(state)
    explained, history = list[MessageStatus](), state.history
    lane, _ = yield from lane_now(state, lane_name)  # with what was appended since its newest view
    yield from load(history, state.reader, not_loaded(lane, state.policy_input(None)))
    for seqs in chunks(list(history.branch.between(0, len(history.branch)))):
        explained += explain_entries(history, lane, (yield from fetch(state, seqs)))
    return explained


def explain_entries(history: History, lane: LaneState, entries: Iterable[Entry]) -> list[MessageStatus]:
    """Return the status of these messages of the branch."""
    gaps = list(lane.plan.gaps())
    rewritten = lane.plan.rewritten()
    reasons = _Reasons(history, lane)
    return [
        MessageStatus(
            entry.seq,
            entry.reading.role,
            *_state(entry, gaps, rewritten.get(entry.seq, ()), reasons),
            estimate_message(entry.reading, entry.counts, lane.family).expected,
            reference(entry.seq),
        )
        for entry in entries
    ]


class _Reasons:
    """Why an untouched message is in the view."""

    def __init__(self, history: History, lane: LaneState) -> None:
        self.protected = history.protected
        self.leading = set(history.leading_seqs)
        self.first = history.first_user.seq if history.first_user else -1
        self.last = history.last_user.seq if history.last_user else -1
        self.healed = {} if lane.view is None else healed_in(lane.view.segments)
        self.newest = () if history.newest is None else history.newest.members
        self.prompt = lane.view is not None and lane.view.prompt is not None
        self.planned = bool(lane.plan.edits)
        self.prose = prose_of(lane.plan)
        self.no_reasoning = lane.plan.no_reasoning
        self.why_bare = (
            "its reasoning follows something that was edited"
            if lane.around.binds
            else "its reasoning belongs to an earlier turn"
        )
        self.native = "" if lane.plan.native is None else lane.plan.native.model
        reason = lane.plan.reason
        self.asked = "" if reason is None else f" (the model asked for this plan: {reason})"
        """Follows the strategy that chose an edit."""

    def of(self, entry: Entry) -> str:
        if entry.reading.flags.critical:
            return "critical"
        if entry.seq in self.protected:
            return "pinned"
        if entry.seq in self.leading:
            return "leading system message"
        if entry.seq == self.first:
            return "the user's first message"
        if entry.seq == self.last:
            return "the user's last message"
        if entry.seq in self.newest:  # not by identity: a rewind makes its groups again
            return "newest group"
        if entry.reading.keeps_place:
            return "the request's tools depend on it" if entry.reading.tool_changes else "system message"
        return "spared by the plan" if self.planned else "everything fits"


def _state(entry: Entry, gaps: Sequence[Gap], edits: Sequence[PartEdit], reasons: _Reasons) -> tuple[State, str]:
    if covers(gaps, entry.seq):
        gap = next(gap for gap in gaps if gap.first <= entry.seq <= gap.last)
        prose = reasons.prose
        if isinstance(gap, Native):
            return "compacted", f"{gap.by}, by {reasons.native or 'its provider'}{reasons.asked}"
        if isinstance(gap, Digest) and prose is not None and prose.first <= entry.seq <= prose.last:
            return "digested", f"{gap.by}, summarized by {prose.by or 'a model'}{reasons.asked}"
        return "digested" if isinstance(gap, Digest) else "left out", gap.by + reasons.asked
    if reasons.prompt and entry.reading.yields_to_prompt:
        return "left out", "replaced by the system prompt factory"
    if edits:
        kinds = {type(edit) for edit in edits}
        state: State = "cleared" if Clear in kinds else "restated" if kinds == {Restate} else "excerpted"
        return state, edits[0].by + reasons.asked
    if entry.reading.is_sealed and covers(reasons.no_reasoning, entry.seq):
        left = without_reasoning(entry.message)
        return "left out" if left is None else "without reasoning", reasons.why_bare
    if entry.seq in reasons.healed:
        return "healed", "; ".join([SENT[rule] for rule in reasons.healed[entry.seq]])
    return "whole", reasons.of(entry)


def prose_of(plan: Plan) -> DigestLine | None:
    """Return the model's summary in a plan's digest."""
    return next((note for note in plan.digest.notes if note.kind == "prose"), None)
