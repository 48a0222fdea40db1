"""Ask providers for their own compactions, in the background."""

from backscroll import events
from backscroll.compaction import policy
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.native import ask, next_order, worth_asking
from backscroll.compaction.options import CachePricing
from backscroll.compaction.upcoming import may_try
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState


def begin_next_native(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Ask for a compaction of the view that was just sent, once the lane nears its next compaction."""
    natives, config = state.natives, state.config
    if natives is None or config.native == "no" or lane.native is not None or natives.background.running:
        return
    now = state.policy_input(prompt)
    targets = policy.is_early(lane, now, budget)
    if targets is None or lane.stale or lane.view is None:
        return
    if not may_try(lane.native_tried, lane.compactions, lane.plan.digest.covered_tokens, targets.room):
        return
    recent, model = (
        int(targets.room * config.compaction.protect.recent),
        natives.option.model or config.model(lane.name),
    )
    order = next_order(lane, state.history, recent=recent, room=targets.room, model=model)
    if order is None:
        return
    if config.native == "auto" and not worth_asking(lane, order, config.prices or CachePricing()):
        return
    state.asked_native = lane.name
    payload = {"lane": lane.name, "last": order.last, "messages": order.number, "tokens": order.request.tokens}
    state.pending_notifications.append((events.NATIVE_STARTED, payload))
    yield Ask(natives.background.start, (ask(order, natives, config.measure),))
