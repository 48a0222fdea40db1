"""When a lane is compacted, and how far: from state, view and targets to a decision.

Between two triggers a lane keeps its plan, so that each view extends the previous one. At a trigger the pipeline runs
once. Its result is a `Decision`, which takes effect when its event is recorded. Every request calls `due`, which checks
whether there is anything to decide and must stay cheap. The work itself may run in a thread.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from backscroll.compaction.back_references import left_results
from backscroll.compaction.cache_pricing import batch
from backscroll.compaction.candidates import build_window, protect_recent
from backscroll.compaction.decision import NOTHING_DUE, Decision, PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.long_turns import long_user_messages
from backscroll.compaction.media_limits import clear_media, media_reports, over_media_limits
from backscroll.compaction.model_request import too_early, worthwhile
from backscroll.compaction.native import LARGEST, with_block
from backscroll.compaction.pipeline import compact
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.compaction.report import (
    attachments_left_out,
    in_place_left_out,
    refusals,
    reports_of,
    result_of,
    rules_left_out,
    too_large,
    too_large_as_measured,
)
from backscroll.compaction.required import wins_little
from backscroll.compaction.restating import put_in_place, settle, spare_referred
from backscroll.compaction.result import CompactionResult, Trigger
from backscroll.compaction.strategies.preview import arrivals
from backscroll.compaction.summarization import Order, Summaries
from backscroll.compaction.triggers import (
    WORTH,
    arrived,
    batch_due_now,
    check,
    early,
    enough,
    holds_reasoning,
    is_cold,
    measured_tokens,
    over_message_limit,
    over_trigger,
    reckoned,
    refers_back,
    rule_for_arrivals,
    targets_of,
    trigger_of,
)
from backscroll.compaction.trim import TrimRequest, chosen_by, fold
from backscroll.compaction.upcoming import may_try, next_order, worth_summarizing
from backscroll.compaction.working_set import spare_working_set
from backscroll.history.log import CompactionSkipped, PlanRecorded
from backscroll.history.plan import DigestLine, Edit, hidden, same_view
from backscroll.tokens.budget import TokenTargets
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.request_media import RequestMedia, exceeds

LOOK_AGAIN = 0.9  # of a batch: after a check that found too little, a tenth more has to come before the next
MEASURED_TRIES = 6  # attempts to find a budget for which a view meets the budget in the caller's measure
MEASURED_SLACK = 0.97  # cut a little deeper than requested, so that one further try usually suffices
DEEPER = 0.75  # of the target where a compaction costs the model's reasoning: it should be the last one for long


def due(lane: LaneState, now: PolicyInput, budget: int, force: bool = False) -> Callable[[], Decision] | None:
    """Return the work to compact a lane, or to shorten a part of it, before its view is sent; None if nothing is due.

    It reads what the view shows and changes nothing, so it may run in any thread while the lane is locked. It raises
    `BudgetError` if required messages do not fit.

    Args:
        lane: The lane's state.
        now: What else the decision depends on.
        budget: Input tokens of the request.
        force: Compact to the target even without a trigger.
    """
    found = check(lane, now, budget, force)
    used, targets = found.used.upper, found.targets
    match found.why:
        case "limits":
            return partial(_fit_limited, lane, now, budget, targets, used)
        case "reasoning":
            return partial(_fit_changed, lane, now, targets, used)
        case "size":
            return partial(_fit, lane, now, targets, used, force)
        case "media":
            return partial(_fit_media, lane, now, targets, used)
        case "results":
            return partial(_fit_results, lane, now, targets, used)
    return None


def _fit_changed(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Decision:
    """Remove the reasoning that no longer follows what it was made over, and compact if that is due as well."""
    if over_trigger(lane, now, targets, used):
        builder, _ = compacted(lane, now, targets)
    else:
        builder = _builder(lane, now, targets, regrow=False)
    settle(builder)
    after = builder.rebuild_and_count()
    if after > targets.total:
        raise too_large(builder, after, lane.calibrator.overhead(targets.total), lane.refused)
    return recorded(lane, now, builder, used, after=after, trigger="prefix_changed")


def _fit(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int, force: bool) -> Decision:
    builder, previewed = compacted(lane, now, targets)
    return decide_on(lane, now, builder, used, trigger_of(lane, now, targets, used, force), force=force or previewed)


def _fit_limited(lane: LaneState, now: PolicyInput, budget: int, targets: TokenTargets, used: int) -> Decision:
    """Compact a request for which the caller sets more limits than a budget."""
    limits = now.limits
    over = measured_tokens(now, lane.view, budget) > budget
    back = bool(hidden(lane.plan, limits.retain))
    builder, measured = _compacted_in_both(lane, now, targets, budget, used)
    if limits.hard and measured > budget:
        raise too_large_as_measured(measured, budget)
    trigger: Trigger = "threshold" if over else trigger_of(lane, now, targets, used, force=False)
    if back and not over and used <= targets.threshold:
        trigger = "retained"
    return decide_on(lane, now, builder, used, trigger, force=True, budget=targets.total)


def _compacted_in_both(
    lane: LaneState, now: PolicyInput, targets: TokenTargets, budget: int, used: int
) -> tuple[PlanBuilder, int]:
    """Find a plan that meets the budget in the caller's measure too, else the smallest that meets it in ours.

    A budget in the caller's measure is a smaller one in ours, which is found by trying. Returns the plan, and its
    view's size in the caller's measure.
    """
    asked, measured = targets, measured_tokens(now, lane.view, budget)
    if measured > budget:
        targets = _scaled(lane, now, targets, used / measured)
    best: tuple[PlanBuilder, int] | None = None
    for _ in range(MEASURED_TRIES):
        builder, _ = compacted(lane, now, targets)
        measured = measured_tokens(now, builder.view, budget)
        after = builder.rebuild_and_count()
        if after <= asked.total and (best is None or measured < best[1]):
            best = builder, measured
        if measured <= budget or after > targets.total:
            break
        targets = _scaled(lane, now, targets, MEASURED_SLACK * min(1.0, budget * after / measured / targets.total))
    return best or (builder, measured)


def _scaled(lane: LaneState, now: PolicyInput, targets: TokenTargets, share: float) -> TokenTargets:
    total = max(1, int(targets.total * min(1.0, share)))
    scaled = targets_of(total, lane.calibrator.overhead(total), now.options)
    return scaled.exactly() if now.limits.hard else scaled


def compacted(lane: LaneState, now: PolicyInput, targets: TokenTargets) -> tuple[PlanBuilder, bool]:
    """Compact a plan to these targets; also return whether it previews new results, clears media, or shows what a new
    result refers to.
    """
    if holds_reasoning(lane, now):
        targets = targets.deeper(DEEPER)
    builder = with_block(lane, now, partial(_builder, lane, now, targets))
    native = builder is not None
    if builder is None:
        builder = _builder(lane, now, targets)
        builder.remove_reasoning()
    edits = arrivals(builder.window, rule_for_arrivals(lane, now, targets), now.history.protected | builder.retain)
    builder.apply(edits)
    if over_media_limits(lane):
        media = _media_edits(builder, lane, now)[0]
        builder.apply(media)
        edits = [*edits, *media]
    changed = put_in_place(builder) or bool(edits)
    if native and builder.used <= early(targets) and not over_message_limit(builder.view, now.options):
        return builder, changed
    if native:
        builder.remove_reasoning()
    if builder.used > targets.threshold or not hidden(lane.plan, now.limits.retain):
        compact(builder, now.strategies(), now.options)
        if builder.rebuild_and_count() > targets.total and builder.view.plan.native is not None:
            builder = _builder(lane, now, targets)
            builder.drop_native()
            builder.remove_reasoning()
            compact(builder, now.strategies(), now.options)
    return builder, changed


def for_model(lane: LaneState, now: PolicyInput) -> tuple[Callable[[], Decision] | None, str]:
    """Return the work to compact because the model asks, or None and why it has to wait."""
    targets, estimate = reckoned(lane, now, lane.budget)
    refusal = too_early(targets, estimate.upper, lane.settled)
    if refusal:
        return None, refusal
    return partial(worthwhile, partial(_fit, lane, now, targets, estimate.upper, force=True)), ""


def trim(lane: LaneState, now: PolicyInput, wish: TrimRequest) -> Decision:
    """Decide on a caller's request to leave out messages, within the budget of the previous request."""
    targets, estimate = reckoned(lane, now, lane.budget)
    used = estimate.upper
    builder = _builder(lane, now, targets)
    builder.apply(fold(builder.window, wish))
    return decide_on(lane, now, builder, used, "manual", force=True)


def next_compaction(lane: LaneState, now: PolicyInput) -> tuple[int, CompactionResult]:
    """Return the tokens from which a request is compacted, and what that would do now. Changes nothing."""
    targets, estimate = reckoned(lane, now, lane.budget)
    used = estimate.upper
    builder, _ = compacted(lane, now, targets)
    settle(builder)
    return targets.threshold, result_of(lane.name, builder, used, builder.rebuild_and_count(), "manual")


def _fit_media(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Decision:
    """Clear the oldest media of a view that holds more than its provider accepts."""
    builder = _builder(lane, now, targets, regrow=False)
    edits, left = _media_edits(builder, lane, now)
    reports = media_reports(lane, len(edits), left, builder.before.estimate.upper)
    stuck = left if exceeds(left, lane.around.media or MediaLimits(), builder.before.estimate.upper) else None
    if not edits:
        return Decision(None, reports, media_left=stuck)
    builder.apply(edits)
    settle(builder)
    after = builder.rebuild_and_count()
    made = recorded(lane, now, builder, used, after=after, trigger="media_limit")
    return made._replace(reports=made.reports + reports, media_left=stuck)


def _media_edits(builder: PlanBuilder, lane: LaneState, now: PolicyInput) -> tuple[list[Edit], RequestMedia]:
    protect_recent(builder.window, 0, now.options.protect.results)
    return clear_media(builder.window, lane, now.options.target_usage, now.history.protected | builder.retain)


def _fit_results(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Decision:
    """Preview new results that are too large, or show what they refer to, else clear old ones worth a batch."""
    new = arrived(lane, now, targets) or refers_back(lane, now)
    found = _fit_arrivals(lane, now, targets, used) if new else None
    if found is None and batch_due_now(lane, now, targets, used):
        found = _fit_batch(lane, now, targets, used)
    return found or NOTHING_DUE


def _fit_arrivals(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Decision | None:
    """Preview results too large to be shown whole even once, and show earlier results that new ones refer to; None if
    there are none. Where those do not fit, the view is compacted.
    """
    builder = _builder(lane, now, targets, regrow=False)
    edits = arrivals(builder.window, rule_for_arrivals(lane, now, targets), now.history.protected | builder.retain)
    builder.apply(edits)
    protect_recent(builder.window, int(builder.room * now.options.protect.recent), now.options.protect.results)
    refers = put_in_place(builder)
    if refers and over_trigger(lane, now, targets, builder.used):
        builder, _ = compacted(lane, now, targets)
        return decide_on(lane, now, builder, used, "threshold", force=True)
    if not (edits or refers):
        return None
    settle(builder)
    trigger: Trigger = "large_result" if edits else "back_reference"
    return recorded(lane, now, builder, used, after=builder.rebuild_and_count(), trigger=trigger)


def _fit_batch(lane: LaneState, now: PolicyInput, targets: TokenTargets, used: int) -> Decision:
    """Clear a batch of old results, if that pays at cache prices or the cache has expired."""
    builder = with_batch(lane, now, targets)
    if builder is None:
        return no_batch(lane, now, used)
    return recorded(lane, now, builder, used, after=builder.rebuild_and_count(), trigger="cache_savings")


def with_batch(lane: LaneState, now: PolicyInput, targets: TokenTargets) -> PlanBuilder | None:
    """Return a plan that clears a batch of old results; None if that does not pay."""
    least = now.options.clear_at_least_tokens
    assert now.prices is not None
    assert least is not None
    builder = _builder(lane, now, targets, regrow=False)
    current = spare_working_set(builder.window, int(builder.room * now.options.protect.working_set), files=False)
    spare_referred(builder, all_of_them=True)
    edits = batch(builder.window, least, now.prices, now.options.protect.results, cold=is_cold(lane, now))
    if not edits:
        return None
    builder.apply([*current, *edits])
    settle(builder)
    return builder


def no_batch(lane: LaneState, now: PolicyInput, used: int) -> Decision:
    """Return the decision that no batch pays yet: the next check waits for more."""
    assert lane.view is not None
    assert now.options.clear_at_least_tokens is not None
    look_again = used - int(now.options.clear_at_least_tokens * LOOK_AGAIN)
    return Decision(CompactionSkipped(lane.name, look_again, len(lane.view.messages), batch=True), [])


def _builder(lane: LaneState, now: PolicyInput, targets: TokenTargets, *, regrow: bool = True) -> PlanBuilder:
    assert lane.view is not None
    fresh = [found for found in now.ephemerals if found.number >= max(lane.expired, lane.shown)]
    builder = PlanBuilder(
        history=now.history, view=lane.view, calibrator=lane.calibrator, targets=targets, around=lane.around,
        digests=now.options.digest, fresh=fresh, regrow=regrow, prose=_prose(lane), retain=now.limits.retain,
        stale=lane.outdated, reason=now.reason, ahead=now.ahead,
    )  # fmt: skip  # one thought
    if sum(segment.estimate.upper for segment in lane.view.of_native()) > LARGEST * targets.room:
        builder.drop_native()
    return builder


def next_summary(
    lane: LaneState,
    now: PolicyInput,
    budget: int,
    summaries: Summaries,
    *,
    focus: str | None = None,
    wish: TrimRequest | None = None,
) -> Order | None:
    """Return the summary to request of what the next compaction will digest.

    `focus` always requests one. None if it is too early, one is ready, or several failed and there is little new.
    """
    targets, estimate = reckoned(lane, now, budget)
    used = estimate.upper
    if lane.view is None or (lane.summary is not None and focus is None):
        return None
    may = may_try(lane.tried, lane.compactions, lane.plan.digest.covered_tokens, targets.room)
    if focus is None and wish is None and (used < early(targets) or not may):
        return None
    window = build_window(now.history, lane.view, targets.room, lane.around, digests=now.options.digest)
    protect_recent(window, int(window.budget * now.options.protect.recent), now.options.protect.results)
    spare_working_set(window, int(window.budget * now.options.protect.working_set))
    tokens = max(targets.threshold, used) - targets.target
    leaving = worth_summarizing(window, tokens) if wish is None else chosen_by(window, wish)
    newest, room = now.history.newest, window.summary_room()
    pending = newest is not None and newest.open_calls > 0
    return next_order(lane.name, lane.view, leaving, room=room, summaries=summaries, focus=focus, pending=pending)


def _prose(lane: LaneState) -> DigestLine | None:
    found = lane.summary
    return (
        None
        if found is None
        else DigestLine(first=found.first, last=found.last, kind="prose", text=found.text, by=found.by)
    )


def decide_on(
    lane: LaneState,
    now: PolicyInput,
    builder: PlanBuilder,
    used: int,
    trigger: Trigger,
    *,
    force: bool,
    budget: int | None = None,
) -> Decision:
    """Decide on a finished plan. `budget`: its limit; by default the one that it was made for."""
    budget, room = builder.targets.total if budget is None else budget, builder.room
    settle(builder)
    after = builder.rebuild_and_count()
    reports = refusals(lane.name, builder)
    if after > budget:
        raise too_large(builder, after, lane.calibrator.overhead(budget), lane.refused)
    little: bool | None = None
    if trigger == "threshold":
        little, more = wins_little(lane, builder, used - after, after, enough(builder.targets))
        reports += more
    unchanged = same_view(builder.view.plan, builder.before.plan)
    poor = used - after < WORTH * room and not over_message_limit(builder.before, now.options)
    if used <= budget and (unchanged or (not force and poor)):
        event = None if force else CompactionSkipped(lane.name, used, len(builder.before.messages))
        return Decision(event, reports, little=little)
    made = recorded(lane, now, builder, used, after=after, trigger=trigger)
    return made._replace(reports=reports + made.reports, little=little)


def recorded(
    lane: LaneState, now: PolicyInput, builder: PlanBuilder, used: int, *, after: int, trigger: Trigger
) -> Decision:
    """Decide to record a finished plan, whose request takes `after` tokens."""
    done = result_of(lane.name, builder, used, after, trigger)
    reports = [*reports_of(done, builder), *rules_left_out(lane.name, builder)]
    reports += [*in_place_left_out(lane.name, builder), *attachments_left_out(lane.name, builder)]
    reports += long_user_messages(lane.name, builder)
    expired = max((found.number + 1 for found in now.ephemerals), default=lane.expired)
    expired = min((found.number for found in builder.fresh), default=expired)
    view = builder.view
    view.plan = replace(view.plan, left=left_results(builder.before, view.plan))
    event = PlanRecorded(
        lane=lane.name,
        plan=view.plan_with_weights(),
        removed=builder.removed(),
        tokens=after,
        messages=len(view.messages),
    )
    return Decision(event=event, reports=reports, view=view, expired=expired, compaction=done)
