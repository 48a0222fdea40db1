"""When there is something to decide about a lane: the checks that every request makes. They must stay cheap."""

from typing import Literal, NamedTuple

from backscroll.compaction.arrival_rule import AT_ONCE, ArrivalRule, arrival_rule, shown_whole
from backscroll.compaction.back_references import lost_references
from backscroll.compaction.decision import PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.media_limits import over_media_limits
from backscroll.compaction.options import CompactionOptions
from backscroll.compaction.result import Trigger
from backscroll.history.log import Foresight
from backscroll.history.plan import hidden
from backscroll.history.ranges import covers
from backscroll.tokens.budget import NO_LIMITS, TokenTargets
from backscroll.tokens.usage import Estimate
from backscroll.view.view import View

Why = Literal["limits", "reasoning", "size", "media", "results"]
"""What is due: limits of the request are exceeded; reasoning is outdated; the view is too large, has too many messages,
or the caller compacts; it holds too much media; or a new result is too large or refers to an earlier one that is left
out, or old ones are worth a batch.
"""
LEAD = 0.1  # of the room: that much before its trigger a compaction is foreseen
WORTH = 0.05  # a compaction that frees less than this share of the room costs more in rewritten cache than it saves
ENOUGH = 0.5  # of what a compaction should free: the view must grow by this before the next one, unless it does not fit
SMALL = 1 / 7  # of the room: where a batch is more, compactions come as often, and choose what stays
NEWEST = 16  # segments of a view among which new results are looked for
EARLY = 0.5  # of the way from target to threshold: a summary starts there, and a lane with a cold cache is compacted


class Due(NamedTuple):
    """The size of a lane's request, and whether something has to be decided before it is sent."""

    targets: TokenTargets
    used: Estimate
    """Tokens of the whole request under the present view."""
    why: Why | None
    """`None`: nothing is due."""
    foresees: Foresight | None
    """What the next requests will trigger, if that is not foreseen yet and nothing is due."""


def check(lane: LaneState, now: PolicyInput, budget: int, force: bool = False) -> Due:
    """Check whether a lane has to be compacted, or a part of it shortened, before its view is sent.

    Args:
        lane: The lane's state.
        now: What else the decision depends on.
        budget: Input tokens of the request.
        force: Compact to the target even without a trigger.
    """
    targets, estimate = reckoned(lane, now, budget)
    used = estimate.upper
    why: Why | None = None
    if now.limits is not NO_LIMITS:
        targets = targets.exactly() if now.limits.hard else targets
        why = "limits" if _over_limits(lane, now, budget, targets, used) else None
    elif (lane.stale or lane.unlike_sent) and not force:
        why = "reasoning"
    elif force or _too_large(lane, now, targets, used):
        why = "size"
    if why is None and lane.around.media is not None and over_media_limits(lane):
        why = "media"
    if why is None and not now.limits.hard:
        new = arrived(lane, now, targets) or refers_back(lane, now) or batch_due_now(lane, now, targets, used)
        why = "results" if new else None
    return Due(targets, estimate, why, foresee(lane, now, targets, used) if why is None else None)


def _over_limits(lane: LaneState, now: PolicyInput, budget: int, targets: TokenTargets, used: int) -> bool:
    """Check a request for which the caller sets more limits than a budget."""
    fits = not _too_large(lane, now, targets, used) and not hidden(lane.plan, now.limits.retain)
    return not fits or bool(lane.outdated) or measured_tokens(now, lane.view, budget) > budget


def reckoned(lane: LaneState, now: PolicyInput, budget: int) -> tuple[TokenTargets, Estimate]:
    """Return the targets of a request with this budget, and its present estimate."""
    assert lane.view is not None
    total = budget if lane.refused is None else lane.allowed(budget)
    overhead, used = lane.calibrator.request(lane.view.estimate, total)
    return targets_of(total, overhead, now.options), used


def targets_of(total: int, overhead: int, options: CompactionOptions) -> TokenTargets:
    """Compute threshold and target as shares of what the overhead leaves, or as the absolute options say."""
    room = max(0, total - overhead)
    if options.compact_at is not None:
        room = min(room, options.room_at(overhead))
    threshold, target = overhead + int(room * options.compact_threshold), overhead + int(room * options.target_usage)
    if options.compact_to is not None and overhead < options.compact_to < threshold:
        target = options.compact_to
    return TokenTargets(total=total, overhead=overhead, room=room, threshold=threshold, target=target)


def room_to_target(lane: LaneState, now: PolicyInput, budget: int) -> int:
    """Return the tokens that a request of this budget has left up to its target; negative above it."""
    targets, used = reckoned(lane, now, budget)
    return targets.target - used.upper


def is_due(lane: LaneState, now: PolicyInput, budget: int) -> bool:
    """Return whether a request now would start a compaction down to the target."""
    targets, used = reckoned(lane, now, budget)
    return over_trigger(lane, now, targets, used.upper)


def over_trigger(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> bool:
    """Return whether a request is over the threshold, and over the end of the last compaction by half of what one
    should free. If that ended high because much is required, the next one waits until it can free something, or the
    view does not fit.

    With a cold cache the whole request costs the full price anyway, so a compaction that would come soon costs only
    itself: half of the way to the threshold is enough then.
    """
    if used > targets.total:
        return True
    if now.asked_native == lane.name:
        return False  # the block that is being made will free more, and keep the reasoning
    if holds_reasoning(lane, now):
        newest = now.history.newest
        if newest is not None and newest.open_calls:
            return False  # an edit now would cost the reasoning of a round that is not finished
        cold = False
    else:
        cold = is_cold(lane, now)
    threshold, least = (early(targets), WORTH * targets.room) if cold else (targets.threshold, enough(targets))
    if used > threshold and used > lane.settled + least:
        return True
    if now.options.max_messages is None:
        return False
    assert lane.view is not None
    return over_message_limit(lane.view, now.options) and len(lane.view.messages) > lane.settled_messages * (1 + WORTH)


def holds_reasoning(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether an edit of the prefix would cost reasoning."""
    newest = now.history.last_sealed
    return lane.around.binds and newest >= 0 and not covers(lane.plan.no_reasoning, newest)


def is_cold(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether the provider's cache of the newest view has expired. Requests before a restart are unknown."""
    if now.prices is None or now.seconds is None or lane.asked is None:
        return False
    return now.seconds - lane.asked >= now.prices.ttl_seconds


def arrived(lane: LaneState, now: PolicyInput, targets: TokenTargets) -> bool:
    """Return whether a new result may be too large to be shown whole even once. Nearly no request has one, so that a
    look at the newest sizes has to do for all others.
    """
    assert lane.view is not None
    given, least = now.options.tool_result_preview, targets.room * AT_ONCE
    least = least if given is None else min(given.threshold_tokens, least)
    for segment in lane.view.segments[-NEWEST:]:
        if segment.estimate.upper > least:
            rule = rule_for_arrivals(lane, now, targets)
            return rule is not None and shown_whole(lane.view, now.history, rule)
    return False


def refers_back(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether a result only refers to an earlier one that the view does not show: a new one, or any of them
    since the plan changed.
    """
    assert lane.view is not None
    if not lane.plan.edits:
        return False
    since = lane.sent_to if lane.handed_out_plan == lane.plan.number else 0
    return bool(lost_references(lane.view, now.history, since))


def rule_for_arrivals(lane: LaneState, now: PolicyInput, targets: TokenTargets) -> ArrivalRule | None:
    """Return which new results are shortened before they are first shown; None if the caller's strategies shorten
    nothing.
    """
    binds = lane.around.binds and now.history.last_sealed >= 0
    shortens = binds or now.shortens
    if not shortens and now.options.tool_result_preview is None:
        return None
    return arrival_rule(targets.room, now.options.tool_result_preview, binds=binds)


def plans_ahead(now: PolicyInput) -> bool:
    """Return whether plans are prepared before they are needed."""
    return now.options.plan_ahead and not (now.native or now.limits.hard)


def batch_due(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> bool:
    """Check the second trigger: the view has grown by a batch, or by a tenth of one since the last check."""
    least = now.options.clear_at_least_tokens
    if lane.foreseen is not None and lane.foreseen.what == "compaction":
        return False  # which comes soon and chooses better
    if now.prices is None or least is None or used - lane.batched < least or least > SMALL * targets.room:
        return False
    return not holds_reasoning(lane, now)  # which costs more than reading old results again


def enough(targets: TokenTargets) -> float:
    """Return what a compaction has to free, so that the next one does not follow soon."""
    return max(WORTH * targets.room, ENOUGH * (targets.threshold - targets.target))


def early(targets: TokenTargets) -> float:
    """Return the tokens from which a lane nears its next compaction."""
    return targets.target + (targets.threshold - targets.target) * EARLY


def measured_tokens(now: PolicyInput, view: View | None, budget: int) -> int:
    """Measure a view by the caller's measure; without one, return the budget."""
    assert view is not None
    measure = now.limits.measure
    return budget if measure is None else measure(view.written())


def trigger_of(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int, force: bool) -> Trigger:
    """Return why a lane is compacted."""
    if force or used > targets.threshold:
        return ("manual" if now.reason is None else "model") if force else "threshold"
    return "cache_expired" if is_cold(lane, now) else "messages"


def batch_due_now(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> bool:
    """Return whether this request looks for a batch. It can wait for the next one, unless the whole prompt has to be
    written to the cache again.
    """
    return batch_due(lane, now, targets, used) and (is_cold(lane, now) or not plans_ahead(now))


def over_message_limit(view: View, options: CompactionOptions) -> bool:
    """Return whether a view has too many messages."""
    return options.max_messages is not None and len(view.messages) > options.max_messages


def _too_large(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> bool:
    """Return whether a request is compacted before it is sent. One that jumped a little past the threshold and fits is
    sent, and the next one is compacted by a plan that is made until then.
    """
    if not over_trigger(lane, now, targets, used):
        return False
    assert lane.view is not None
    waits = not answered_since(lane, now) and plans_ahead(now) and not over_message_limit(lane.view, now.options)
    fits = used <= min(targets.total, targets.threshold + LEAD * targets.room)
    return not (waits and fits and _is_steady(lane, now)) or is_cold(lane, now)


def answered_since(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether something is foreseen, and the model has answered the request that foresaw it."""
    newest = now.history.newest
    if lane.foreseen is None or newest is None:
        return False
    return min(newest.first, now.history.last_assistant) > lane.foreseen.last


def foresee(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Foresight | None:
    """Return what the next requests will trigger, if that is not foreseen yet. `used`: tokens of this request."""
    known = None if lane.foreseen is None else lane.foreseen.what
    if known == "compaction" or not plans_ahead(now):
        return None
    found: Foresight | None = None
    if used > level_of(lane, targets) - LEAD * targets.room or _nears_limit(lane, now):
        found = "compaction"
    elif known is None and batch_due(lane, now, targets, used):
        found = "batch"
    return found if found is not None and _is_steady(lane, now) else None


def level_of(lane: LaneState, targets: TokenTargets) -> float:
    """Return the tokens from which a compaction is due."""
    return max(targets.threshold, lane.settled + enough(targets))


def _nears_limit(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether a view nears the largest number of messages."""
    most = now.options.max_messages
    assert lane.view is not None
    return most is not None and len(lane.view.messages) > most * (1 - LEAD)


def _is_steady(lane: LaneState, now: PolicyInput) -> bool:
    """Return whether appends alone leave what a plan is made of as it is."""
    newest = now.history.newest
    pending = newest is None or newest.open_calls > 0  # results will join it
    return not (pending or lane.outdated)
