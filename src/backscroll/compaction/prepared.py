"""Plans that are prepared before they are needed, so that no request waits for a compaction that could be foreseen.

A request that comes near a trigger foresees it. From then on a plan is prepared in the background, over what that
request showed. The first request at which the trigger is met adopts it, and waits for it if it is not ready: never
earlier, so that the views do not depend on how fast anything ran. What was appended since stays whole. Anything but an
append ends the foresight (`LaneState.foreseen`), and the request decides by itself.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from backscroll.compaction import policy
from backscroll.compaction.decision import NOTHING_DUE, Decision, PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.options import LEAST_MESSAGES
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.compaction.triggers import (
    LEAD,
    answered_since,
    holds_reasoning,
    is_cold,
    level_of,
    measured_tokens,
    over_trigger,
    reckoned,
    trigger_of,
)
from backscroll.history.log import Foreseen, digest_of
from backscroll.history.plan import hidden
from backscroll.tokens.budget import TokenTargets
from backscroll.view.view import View

MORE = 0.05  # of the room: what the last message before a trigger is taken to go beyond it


class PreparedPlan(NamedTuple):
    """A plan over what a lane showed when it was foreseen."""

    foreseen: Foreseen
    builder: PlanBuilder | None
    """The finished plan. `None`: no batch of old results pays."""


def snapshot(lane: LaneState, now: PolicyInput, foreseen: Foreseen) -> Callable[[], PreparedPlan]:
    """Return the work to prepare a plan. It may run in any thread, while messages are appended and views requested."""
    past = lane.as_of(foreseen)
    then = now._replace(history=now.history.as_of(foreseen.last), ephemerals=(), seconds=None, ahead=True)
    return partial(_prepare, past, then, foreseen, lane.view)


def _prepare(lane: LaneState, now: PolicyInput, foreseen: Foreseen, shown: View | None) -> PreparedPlan:
    """Prepare a plan. `lane` and `now`: as of the foresight; `shown`: the lane's view, which may have grown since."""
    lane.view = View.build(now.history, lane.plan, lane.around, prompt=now.prompt, reuse=shown)
    targets, estimate = reckoned(lane, now, foreseen.budget)
    if foreseen.what == "batch":
        builder = policy.with_batch(lane, now, targets)
    else:
        level = int(level_of(lane, targets) + MORE * targets.room)
        more = max(0, level - estimate.upper)  # will come until it is adopted, and stays whole
        now, targets = _deeper(now, targets, more)
        builder, _ = policy.compacted(lane, now, targets)
    if builder is not None:
        builder.rebuild_and_count()
        builder.view.plan_with_weights()
        builder.view.aligned_copies()  # later copies repeat what the first one found
    return PreparedPlan(foreseen, builder)


def _deeper(now: PolicyInput, targets: TokenTargets, more: int) -> tuple[PolicyInput, TokenTargets]:
    """Leave room for messages of `more` tokens, which count among the newest."""
    protect, share = now.options.protect, more / max(1, targets.room)
    protect = replace(protect, recent=max(0.0, protect.recent - share))
    most = now.options.max_messages
    most = None if most is None else max(LEAST_MESSAGES, int(most * (1 - LEAD)))
    options = replace(now.options, protect=protect, max_messages=most)
    lower = targets._replace(threshold=targets.threshold - more, target=max(0, targets.target - more))
    return now._replace(options=options), lower


def serves(lane: LaneState, now: PolicyInput, budget: int) -> bool:
    """Return whether a request needs the plan that is prepared: the first one that meets the trigger, and for a batch
    the one after.
    """
    if lane.foreseen is None or now.limits.hard or hidden(lane.plan, now.limits.retain):
        return False
    if lane.outdated or not answered_since(lane, now):
        return False
    if lane.prompt != (None if now.prompt is None else digest_of(now.prompt)):
        return False
    targets, estimate = reckoned(lane, now, budget)
    if lane.foreseen.what == "batch":
        costs = holds_reasoning(lane, now) or is_cold(lane, now)
        return not (costs or over_trigger(lane, now, targets, estimate.upper))
    over = measured_tokens(now, lane.view, budget) > budget
    return over or over_trigger(lane, now, targets, estimate.upper)


def batch_is_due(lane: LaneState, now: PolicyInput, budget: int) -> bool:
    """Return whether a request has to look for a batch of old results, as the one before it foresaw."""
    return lane.foreseen is not None and lane.foreseen.what == "batch" and serves(lane, now, budget)


def work(
    lane: LaneState, now: PolicyInput, budget: int, prepared: PreparedPlan | None
) -> Callable[[], Decision] | None:
    """Return the work to decide, as `policy.due` does: adopt what is prepared, where it fits."""
    decide = policy.due(lane, now, budget)
    if prepared is None or prepared.foreseen is not lane.foreseen or not serves(lane, now, budget):
        return decide
    return partial(_adopted, lane, now, budget, prepared, decide or (lambda: NOTHING_DUE))


def _adopted(
    lane: LaneState, now: PolicyInput, budget: int, prepared: PreparedPlan, otherwise: Callable[[], Decision]
) -> Decision:
    """Adopt a plan, or decide otherwise if that is not enough."""
    assert lane.view is not None
    targets, estimate = reckoned(lane, now, budget)
    used, builder = estimate.upper, prepared.builder
    if builder is None:
        return policy.no_batch(lane, now, used)
    fresh = [found for found in now.ephemerals if found.number >= max(lane.expired, lane.shown)]
    builder.follow(now.history, lane.view, calibrator=lane.calibrator, targets=targets, fresh=fresh)
    after = builder.rebuild_and_count()
    if prepared.foreseen.what == "batch":
        return policy.recorded(lane, now, builder, used, after=after, trigger="cache_savings")
    measured = measured_tokens(now, builder.view, budget)
    if after > targets.threshold or measured > budget or hidden(builder.view.plan, now.limits.retain):
        return otherwise()
    trigger = trigger_of(lane, now, targets, used, force=False)
    return policy.decide_on(lane, now, builder, used, trigger, force=False)
