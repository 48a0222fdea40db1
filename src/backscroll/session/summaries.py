"""Request summaries in the background, and wait for them if the caller wants that."""

from backscroll import events
from backscroll.compaction import triggers
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.summarization import Made, Order, Summaries, ask
from backscroll.compaction.trim import TrimRequest
from backscroll.errors import ConfigurationError
from backscroll.messages import accept_text
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, refresh_lane
from backscroll.session.system_prompt import ask_prompt
from backscroll.session.usage_reports import take_in_reports

_FOREVER = 1e8  # seconds; a summarizer's own time limit comes first


def begin_summary(
    state: SessionState, lane_name: str, focus: str | None, wish: TrimRequest | None = None
) -> Operation[bool]:
    """Start a summary of what will be compacted next, if it is worth one. Returns False while another one is running.

    Args:
        state: The session.
        lane_name: The lane.
        focus: What matters most to the user.
        wish: What will be left out, if the caller selects it.

    Raises:
        ConfigurationError: There is no summarizer.
    """
    summaries = state.summaries
    if summaries is None:
        raise ConfigurationError("`focus` requires a summarizer: pass `summarizer`")
    focus = None if focus is None else accept_text(focus, "user", state.config.redact)
    prompt = yield from ask_prompt(state)
    yield from enter(state)
    if summaries.background.running:
        return False
    lane = state.lane(lane_name)
    now = yield from refresh_lane(state, lane, prompt)
    from backscroll.compaction.policy import next_summary  # noqa: PLC0415  few sessions have summaries

    order = next_summary(lane, now, lane.budget, summaries, focus=focus, wish=wish)
    yield from _begin(state, lane, order, summaries)
    return True


def summary_made(state: SessionState) -> Operation[None]:
    """Wait until no summary is running; without the lock, so that requests continue meanwhile."""
    if state.summaries is not None:
        yield Ask(state.summaries.background.wait, (_FOREVER,))


def wait_for_summary(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Wait for a running summary if one is needed now and `wait_seconds` allows it."""
    summaries = state.summaries
    if summaries is None or not summaries.summarizer.wait_seconds:
        return
    now = yield from refresh_lane(state, lane, prompt)
    if not triggers.is_due(lane, now, budget):
        return
    yield from begin_next_summary(state, lane, prompt, budget)
    yield Ask(summaries.background.wait, (summaries.summarizer.wait_seconds,))
    take_in_reports(state)


def begin_next_summary(state: SessionState, lane: LaneState, prompt: str | None, budget: int) -> Operation[None]:
    """Start a summary in the background once the lane nears its next compaction."""
    summaries = state.summaries
    if summaries is None or summaries.background.running:
        return
    from backscroll.compaction.policy import next_summary  # noqa: PLC0415  as above

    order = next_summary(lane, state.policy_input(prompt), budget, summaries)
    yield from _begin(state, lane, order, summaries)


def _begin(state: SessionState, lane: LaneState, order: Order | None, summaries: Summaries) -> Operation[None]:
    if order is not None:
        state.pending_notifications.append(
            (events.SUMMARY_STARTED, {"lane": lane.name, "first": order.first, "last": order.last})
        )
        yield Ask(summaries.background.start, (_made(state, order, summaries),))


def _made(state: SessionState, order: Order, summaries: Summaries) -> Operation[Made]:
    count, redact = state.config.count, state.config.redact
    return ask(order, summaries.summarizer.fn, lambda text: count(text).tokens, summaries.blocking, redact)
