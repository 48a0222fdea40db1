"""Ask providers for their own compactions, in the background."""

from backscroll import events
from backscroll.compaction import triggers
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.native_request import ask
from backscroll.compaction.options import CachePricing
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import refresh_lane
from backscroll.session.usage_reports import take_in_reports


def begin_next_native(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Ask for a compaction of the view that was just sent, once the lane nears its next compaction."""
    natives, config = state.natives, state.config
    if natives is None or config.native == "no" or lane.native is not None or natives.background.running:
        return
    from backscroll.compaction.native import GAIN, WORTH, next_order, worth_asking  # noqa: PLC0415  few sessions
    from backscroll.compaction.upcoming import may_try  # noqa: PLC0415

    now = state.policy_input(prompt)
    targets, used = triggers.reckoned(lane, now, budget)
    if used.upper < triggers.early(targets) or lane.outdated:
        return
    if not may_try(lane.native_tried, lane.compactions, lane.plan.digest.covered_tokens, targets.room):
        return
    if not config.compacts(lane.name):
        _report_not_compacting(state, lane)
        return
    recent = int(targets.room * config.compaction.protect.recent)
    model = natives.option.model or config.model(lane.name)
    least = max(WORTH * targets.room, GAIN * (targets.threshold - targets.target))
    order = next_order(lane, state.history, recent=recent, least=least, model=model)
    if order is None:
        return
    if config.native == "auto" and not worth_asking(lane, order, config.prices or CachePricing(), targets.threshold):
        return
    state.asked_native = lane.name
    payload = {"lane": lane.name, "last": order.last, "messages": order.number, "tokens": order.request.tokens}
    state.pending_notifications.append((events.NATIVE_STARTED, payload))
    yield Ask(natives.background.start, (ask(order, natives, config.measure),))


def _report_not_compacting(state: SessionState, lane: LaneState) -> None:
    """Report once per model that its provider is not asked, where it would have been."""
    model = state.config.model(lane.name)
    if model in state.not_compacting or (state.config.native == "auto" and not lane.around.binds):
        return
    state.not_compacting |= {model}
    state.pending_notifications.append((events.NATIVE_UNAVAILABLE, {"lane": lane.name, "model": model}))


def wait_for_native(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Wait for a running compaction of a lane if its request has to be compacted now and `wait_seconds` allows it."""
    natives = state.natives
    if natives is None or not natives.option.wait_seconds or state.asked_native != lane.name:
        return
    now = yield from refresh_lane(state, lane, prompt)
    if triggers.is_due(lane, now._replace(asked_native=None), budget):
        yield Ask(natives.background.wait, (natives.option.wait_seconds,))
        take_in_reports(state)
