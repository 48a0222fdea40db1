"""Prepare plans beside the caller, and wait for them."""

from backscroll.compaction.decision import PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.prepared import PreparedPlan, serves, snapshot
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState


def begin(state: SessionState, lane: LaneState, now: PolicyInput) -> Operation[None]:
    """Begin to prepare what is foreseen, unless that was begun."""
    foreseen = lane.foreseen
    if foreseen is None or state.beside is None or not state.measured:  # the first count may load a vocabulary
        return
    if lane.preparing is None:
        started = yield Ask(state.beside, (snapshot(lane, now, foreseen),), tolerant=True)
        if not isinstance(started, Exception):  # no thread can start: the request that needs the plan prepares it
            lane.preparing = started


def finish(lane: LaneState, now: PolicyInput, budget: int) -> Operation[PreparedPlan | None]:
    """Return the plan that a request needs, once it is prepared; None if nothing was foreseen that serves it."""
    foreseen, begun = lane.foreseen, lane.preparing
    if foreseen is None or not serves(lane, now, budget):
        return None
    if begun is None:  # a reopened session goes on as the one before it would have
        prepared: PreparedPlan = yield Ask(snapshot(lane, now, foreseen), heavy=True)
    else:
        prepared = yield Ask(begun)
    lane.preparing = None
    return prepared
