"""Make the view of a request: catch up, decide, commit, hand out. Also compactions on request."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from backscroll import events
from backscroll.compaction import triggers
from backscroll.compaction.back_references import lost_references
from backscroll.compaction.decision import NOTHING_DUE, Decision, PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.regrowth import left_out, regrow, whole_tokens
from backscroll.compaction.result import CompactionResult
from backscroll.compaction.trim import TrimRequest
from backscroll.errors import ConfigurationError, StoreUnavailableError
from backscroll.history.loading import load
from backscroll.history.log import CompactionSkipped, PlanAt, PlanRecorded
from backscroll.messages import Message
from backscroll.ports import Ask, Operation
from backscroll.session.lane import apply_decision, hand_out, needed, undo
from backscroll.session.natives import begin_next_native, wait_for_native
from backscroll.session.state import SessionState
from backscroll.session.store_sync import (
    LOCK,
    catch_up,
    commit,
    enter,
    refresh_lane,
    too_many_conflicts,
    tries,
    warm,
    write_checkpoint,
)
from backscroll.session.summaries import begin_next_summary, wait_for_summary
from backscroll.session.system_prompt import ask_prompt, record_prompt
from backscroll.session.tools import offer_tools
from backscroll.tokens.budget import ASSUMED, NO_LIMITS, Limits, provider_window, resolve_budget
from backscroll.tokens.model_profiles import refuses_prefill
from backscroll.view.lane_groups import not_loaded as pieces_not_loaded
from backscroll.view.separation import ends_with_answer
from backscroll.view.view_message import ViewMessage, with_indexes

if TYPE_CHECKING:
    from backscroll.compaction.prepared import PreparedPlan

_AT_ONCE = 64  # messages loaded at once that may come back

Find = Callable[[PolicyInput], Callable[[], Decision] | None]
"""Returns the work to decide, or None."""


def request(
    state: SessionState,
    token_budget: int | None,
    provider: object,
    lane_name: str,
    *,
    outside: int = 0,
    tools: Any = None,
    limits: Limits = NO_LIMITS,
) -> Operation[list[Message]]:
    """Return the view to send now. The parameters are those of `prepare`.

    Raises:
        BudgetError: The required messages do not fit.
        ConfigurationError: The tools are in no known shape, or the lane has no name.
    """
    lane = yield from prepare(state, token_budget, provider, lane_name, outside=outside, tools=tools, limits=limits)
    assert lane.view is not None
    return lane.view.copies() if lane.around.marking is None else lane.view.marked_copies(lane.sent_before)


def request_with_indexes(
    state: SessionState, token_budget: int | None, lane_name: str, *, outside: int = 0, tools: Any = None
) -> Operation[list[ViewMessage]]:
    """Return the view to send now, each message with those of the branch that it represents.

    Raises:
        BudgetError: The required messages do not fit.
        ConfigurationError: The tools are in no known shape.
    """
    lane = yield from prepare(state, token_budget, None, lane_name, outside=outside, tools=tools)
    assert lane.view is not None
    return with_indexes(lane.view, state.history.branch.position)


def prepare(
    state: SessionState,
    token_budget: int | None,
    provider: object,
    lane_name: str,
    *,
    outside: int,
    tools: Any,
    limits: Limits = NO_LIMITS,
) -> Operation[LaneState]:
    """Make the view to send now, compact it if that is due, and record the request. Returns its lane.

    Args:
        state: The session.
        token_budget: Input tokens of the request. `None`: by the provider, else by the options and the model.
        provider: Asked for its window if there is no explicit budget. `None`: not asked.
        lane_name: The lane.
        outside: Expected tokens outside the messages and the tools, until they are known better.
        tools: The tool definitions of the request. `None`: it has none.
        limits: Further limits of this request.

    Raises:
        BudgetError: The required messages do not fit.
        ConfigurationError: The tools are in no known shape.
    """
    if type(lane_name) is not str or not lane_name:
        raise ConfigurationError(f'`lane` must be a name such as "planner", not {lane_name!r:.80}')
    budget = yield from _budget(state, token_budget, provider, lane_name)
    prompt = None if state.prompt is None else (yield from ask_prompt(state))
    if state.clock is not None and state.config.prices is not None:
        state.seconds = yield Ask(state.clock)
    yield LOCK
    yield from catch_up(state)
    lane = state.lanes.get(lane_name) or state.open_lane(lane_name)
    lane.calibrator.outside = outside
    if tools is not None or lane.tools is not None:
        yield from offer_tools(state, lane, tools)
    if state.summaries is not None or state.natives is not None:
        yield from _wait(state, lane, prompt, budget)
    now = yield from refresh_lane(state, lane, prompt, limits)
    if lane.plan.edits and lane.planned_for is not None and budget > lane.planned_for and lane.has_grown(budget):
        now = yield from _replan(state, lane, now, budget)
    due = triggers.check(lane, now, budget)
    if due.why is not None or (lane.foreseen is not None and lane.foreseen.what == "batch"):
        now, due = yield from _decided(state, lane, now, budget, due)
    if due.targets.total != budget:
        due = due._replace(used=lane.used(budget))
    digest = None if prompt is None else (yield from record_prompt(state, prompt))
    state.apply_deferred(hand_out(lane, now, due, budget, digest))
    state.asked = lane
    _warn_of_prefill(state, lane)
    if lane.foreseen is not None or state.summaries is not None or state.natives is not None:
        yield from _ask_ahead(state, lane, now, budget)
    return lane


def _warn_of_prefill(state: SessionState, lane: LaneState) -> None:
    """Report, once for a lane, that its model refuses a request that ends with the model's own text."""
    seq = -1 if lane.ends_with_answer or lane.view is None else ends_with_answer(lane.view.segments)
    if seq >= 0 and refuses_prefill(model := state.config.model(lane.name)):
        lane.ends_with_answer = True
        payload = {"lane": lane.name, "seq": seq, "model": model}
        state.pending_notifications.append((events.ENDS_WITH_ANSWER, payload))


def _loaded(state: SessionState) -> Operation[None]:
    """Load what decides, in a thread: an event loop would wait for it."""
    if not state.decides:
        yield Ask(_load, heavy=True)
        state.decides = True


def _load() -> None:
    from backscroll.compaction import prepared  # noqa: F401, PLC0415  many sessions are never compacted


def _decided(
    state: SessionState, lane: LaneState, now: PolicyInput, budget: int, due: triggers.Due
) -> Operation[tuple[PolicyInput, triggers.Due]]:
    """Decide, if a trigger is met or a batch is due that was foreseen. Returns what holds then."""
    yield from _loaded(state)
    from backscroll.compaction.prepared import batch_is_due  # noqa: PLC0415  see `_loaded`

    if due.why is None and not batch_is_due(lane, now, budget):
        return now, due
    now = yield from _decide(state, lane, now, budget)
    return now, triggers.check(lane, now, budget)


def _wait(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Wait for what a compaction that is due could use, as long as the options allow."""
    yield from wait_for_summary(state, lane, prompt, budget)
    yield from wait_for_native(state, lane, prompt, budget)


def _ask_ahead(state: SessionState, lane: LaneState, now: PolicyInput, budget: int) -> Operation[None]:
    """Ask for the next compaction, and for what it may use, in the background."""
    yield from _begin(state, lane, now)
    if state.summaries is not None or state.natives is not None:
        yield from _loaded(state)
        yield from begin_next_summary(state, lane, now.prompt, budget)
        yield from begin_next_native(state, lane, now.prompt, budget)


def _budget(state: SessionState, token_budget: int | None, provider: object, lane: str) -> Operation[int]:
    """Resolve the budget of a request. Reports a provider that fails, and once that a window is assumed."""
    window = None
    if token_budget is None and provider is not None:
        window, failures = yield from provider_window(provider)
        unavailable = events.PROVIDER_WINDOW_UNAVAILABLE
        state.pending_notifications += [(unavailable, {"reason": failure}) for failure in failures]
    known = state.config.windows
    budget, source = resolve_budget(token_budget, window, state.config.budget, known, lane)
    if source == ASSUMED and not state.assumed and (found := known[lane]) is not None:
        state.assumed = True
        payload = {"lane": lane, "model": found.assumed, "window": found.tokens}
        state.pending_notifications.append((events.WINDOW_ASSUMED, payload))
    return budget


def _replan(state: SessionState, lane: LaneState, now: PolicyInput, budget: int) -> Operation[PolicyInput]:
    """Bring back what a larger budget has room for."""
    room = triggers.room_to_target(lane, now, budget)
    left = room
    hidden = left_out(lane.plan, state.history.branch)
    while left > 0 and (seqs := list(islice(hidden, _AT_ONCE))):
        yield from load(state.history, state.reader, sorted(seqs))
        left -= sum(whole_tokens(lane, state.history.entry(seq)) for seq in seqs)
    changed = yield from _fit(state, lane, now, lambda now: partial(regrow, lane, now, room))
    return state.policy_input(now.prompt)._replace(limits=now.limits) if changed else now


def _decide(state: SessionState, lane: LaneState, now: PolicyInput, budget: int) -> Operation[PolicyInput]:
    """Decide on what is due, by the plan that was prepared for it if there is one."""
    from backscroll.compaction import policy, prepared  # noqa: PLC0415  see `_loaded`

    if not state.measured:
        now = yield from _measured(state, lane, now)
    plan = yield from _finish(state, lane, now, budget)
    yield from _fit(state, lane, now, lambda now: prepared.work(lane, now, budget, plan))
    now = state.policy_input(now.prompt)._replace(limits=now.limits)
    # By what was appended since, and if a part was shortened, since the rest counts more without its measure.
    for _ in range(2):
        again = plan is not None or lane.used(budget).upper > lane.allowed(budget)
        if not again or policy.due(lane, now, budget) is None:
            break
        plan = None
        yield from _fit(state, lane, now, lambda now: policy.due(lane, now, budget))
        now = state.policy_input(now.prompt)._replace(limits=now.limits)
    return now


def _begin(state: SessionState, lane: LaneState, now: PolicyInput) -> Operation[None]:
    """Begin to prepare what is foreseen, unless that was begun."""
    foreseen = lane.foreseen
    if foreseen is None or state.start is None or not state.measured:  # the first count may load a vocabulary
        return
    if lane.preparing is None:
        yield from _loaded(state)
        from backscroll.compaction.prepared import snapshot  # noqa: PLC0415  see `_loaded`

        started = yield Ask(state.start, (snapshot(lane, now, foreseen),), tolerant=True)
        if not isinstance(started, Exception):  # no thread can start: the request that needs the plan prepares it
            lane.preparing = started


def _finish(state: SessionState, lane: LaneState, now: PolicyInput, budget: int) -> "Operation[PreparedPlan | None]":
    """Return the plan that a request needs, once it is prepared; None if nothing was foreseen that serves it, or if
    preparing it failed.
    """
    from backscroll.compaction.prepared import serves, snapshot  # noqa: PLC0415  see `_loaded`

    foreseen, begun = lane.foreseen, lane.preparing
    if foreseen is None or not serves(lane, now, budget):
        return None
    if begun is None:  # a reopened session goes on as the one before it would have
        prepared: PreparedPlan | Exception | None = yield Ask(snapshot(lane, now, foreseen), heavy=True, tolerant=True)
    else:
        prepared = yield Ask(begun, tolerant=True)
    if not isinstance(prepared, Exception):
        lane.preparing = None
        return prepared
    lane.preparing = _nothing  # not tried again until something else is foreseen
    if not state.unprepared:
        state.unprepared = True
        error = f"{type(prepared).__name__}: {prepared}"[:200]
        state.pending_notifications.append((events.PREPARATION_FAILED, {"lane": lane.name, "error": error}))
    return None


def _nothing() -> None:
    return None


def _fit(state: SessionState, lane: LaneState, now: PolicyInput, find: Find) -> Operation[bool]:
    """Decide on the lane's next plan, store it and apply it. Returns whether there was one."""
    if not state.measured:
        now = yield from _measured(state, lane, now)
    assert lane.view is not None
    if missing := state.history.not_loaded({seq for seq, _ in lost_references(lane.view, state.history)}):
        yield from load(state.history, state.reader, sorted(missing))
    with tries(state) as attempts:
        for _ in attempts:
            decide = find(now)
            decision = NOTHING_DUE if decide is None else (yield Ask(decide, heavy=True, tolerant=True))
            if isinstance(decision, Exception):
                raise decision
            event = decision.event
            if isinstance(event, PlanRecorded) and not (yield from _record(state, event)):
                now = yield from refresh_lane(state, lane, now.prompt, now.limits)  # another writer came first
                continue
            apply_decision(lane, decision)
            if isinstance(event, CompactionSkipped):
                state.apply_deferred(event)
            elif event is not None:
                state.apply(event)
                _forget_expired(state)
            state.pending_notifications += decision.reports
            if isinstance(event, PlanRecorded):
                yield from write_checkpoint(state)
            return isinstance(event, PlanRecorded)
    raise too_many_conflicts()


def _measured(state: SessionState, lane: LaneState, now: PolicyInput) -> Operation[PolicyInput]:
    """Make the first count, which decides how lanes count, before a decision counts."""
    yield from warm(state)
    return (yield from refresh_lane(state, lane, now.prompt, now.limits))


def _record(state: SessionState, event: PlanRecorded) -> Operation[bool]:
    """Store a plan. A failing store must not stop a request: the plan is buffered, with a report."""
    try:
        return (yield from commit(state, [event]))
    except StoreUnavailableError as error:
        assert state.journal is not None
        state.journal.buffer(event)
        state.pending_notifications.append((events.STORE_UNAVAILABLE, {"lane": event.lane, "error": str(error)[:200]}))
        return True


def _forget_expired(state: SessionState) -> None:
    oldest = min(lane.expired for lane in state.lanes.values())
    if state.ephemerals and state.ephemerals[0].number < oldest:
        state.ephemerals = [found for found in state.ephemerals if found.number >= oldest]


def compact(state: SessionState, lane_name: str) -> Operation[CompactionResult | None]:
    """Compact now, down to the target. Returns None if that would free nothing."""
    yield from _loaded(state)
    from backscroll.compaction import policy  # noqa: PLC0415  see `_loaded`

    prompt = yield from ask_prompt(state)
    yield from enter(state)
    lane = state.lane(lane_name)
    now = yield from refresh_lane(state, lane, prompt)
    budget = lane.budget
    changed = yield from _fit(state, lane, now, lambda now: policy.due(lane, now, budget, force=True))
    return lane.last_compaction if changed else None


def compact_for_model(state: SessionState, lane_name: str, reason: str) -> Operation[CompactionResult | str]:
    """Compact now because the model asks. Returns what was done, or why it has to wait; empty if that would free too
    little.
    """
    yield from _loaded(state)
    from backscroll.compaction import policy  # noqa: PLC0415  see `_loaded`

    prompt = yield from ask_prompt(state)
    yield from enter(state)
    lane = state.lane(lane_name)
    now = yield from refresh_lane(state, lane, prompt)
    refusal = policy.for_model(lane, now)[1]
    if refusal:
        return refusal
    changed = yield from _fit(state, lane, now, lambda now: policy.for_model(lane, now._replace(reason=reason))[0])
    done = lane.last_compaction if changed else None
    return "" if done is None else done


def trim(state: SessionState, lane_name: str, wish: TrimRequest) -> Operation[CompactionResult | None]:
    """Leave out of the lane's view what the caller selects. Returns None if nothing is selected."""
    yield from _loaded(state)
    from backscroll.compaction import policy  # noqa: PLC0415  see `_loaded`

    prompt = yield from ask_prompt(state)
    yield from enter(state)
    lane = state.lane(lane_name)
    now = yield from refresh_lane(state, lane, prompt)
    changed = yield from _fit(state, lane, now, lambda now: partial(policy.trim, lane, now, wish))
    return lane.last_compaction if changed else None


def is_due(state: SessionState, lane_name: str) -> Operation[bool]:
    """Return whether a request now would start a compaction, within the budget of the previous one."""
    prompt = yield from ask_prompt(state)
    if state.clock is not None and state.config.prices is not None:
        state.seconds = yield Ask(state.clock)
    yield from enter(state)
    lane = state.lane(lane_name)
    return triggers.is_due(lane, (yield from refresh_lane(state, lane, prompt)), lane.budget)


def undo_compaction(state: SessionState, lane_name: str) -> Operation[bool]:
    """Restore the plan before the newest compaction of the lane; False if there is none."""
    prompt = yield from ask_prompt(state)
    yield from enter(state)
    lane = state.lane(lane_name)
    with tries(state) as attempts:
        for _ in attempts:
            earlier = lane.earlier
            if earlier is None:
                return False
            if isinstance(earlier, PlanAt):
                assert state.journal is not None
                earlier = yield from state.journal.plan(lane_name, earlier)
            now = state.policy_input(prompt)
            if state.history.last_sealed >= 0:  # then what the view shows decides which reasoning stays valid
                now = yield from refresh_lane(state, lane, prompt)
            shown = {*needed(state.history, earlier), *lane.plan.restated()}
            missing = pieces_not_loaded(state.history, lane.plan, sorted(shown))
            yield from load(state.history, state.reader, missing)
            event = undo(lane, now, earlier)
            if (yield from commit(state, [event])):
                break
        else:
            raise too_many_conflicts()
    state.apply(event)
    state.pending_notifications.append((events.PLAN_CHANGED, {"lane": lane_name, "undone": event.plan.number - 1}))
    return True
