"""What a provider reported of the newest view, and what came of a summary: kept until the next operation takes it in.

Reports come outside of the lock, from whoever called the model. No operation: nothing here waits.
"""

from typing import Any

from backscroll import events
from backscroll.compaction.summarization import PROMPT, Made
from backscroll.history.log import Overflowed, SummaryFailed, SummaryMade, UsageObserved
from backscroll.session.state import SessionState
from backscroll.tokens.reported_usage import NOT_ABOUT_IT, ignored
from backscroll.tokens.responses import Counted

NOTHING_SENT = "no view was handed out on this lane yet"


def observe_usage(state: SessionState, lane_name: str, counted: Counted, *, read: bool = False) -> None:
    """Keep a provider's report on the lane's newest view.

    `read`: it was read from a response, and not given by a caller who may have mixed it up.
    """
    lane = state.lanes.get(lane_name)
    sound = all(type(tokens) is int and tokens >= 0 for tokens in counted)
    report = lane.report(counted.prompt, counted.answer) if lane is not None and sound else None
    if lane is None or report is None:
        reject_usage(state, lane_name, tuple(counted), NOTHING_SENT if sound else NOT_ABOUT_IT)
        return
    judged = lane.reported.judge(counted, report, lane.meter, lane.budget, read=read)
    if judged.report is not None:
        cache = counted.read, counted.written
        sound = 0 < sum(cache) <= judged.report.tokens
        state.pending_usage.append(UsageObserved(lane_name, judged.report, *(cache if sound else ())))
    state.pending_usage += judged.reports


def reject_usage(state: SessionState, lane_name: str, reported: object, why: str) -> None:
    """Keep that a report says nothing of use."""
    state.pending_usage.append(ignored(lane_name, reported, why))


def observe_overflow(state: SessionState, lane_name: str, requested: int | None, limit: int | None) -> None:
    """Keep that a provider refused the lane's newest view as too long."""
    lane = state.lanes.get(lane_name)
    told = type(requested) is int and type(limit) is int and limit > 0
    report = lane.report(requested or 0, 0) if lane is not None and told else None
    if lane is not None and report is not None and lane.meter.plausible(report, lane.budget):
        state.pending_usage.append(UsageObserved(lane_name, report))
    else:
        limit = None  # sizes that cannot be about that view say nothing of what would fit
    found = lane.overflow(limit) if lane is not None else None
    state.pending_usage.append(found or ignored(lane_name, "overflow", NOTHING_SENT))


def take_in_reports(state: SessionState) -> None:
    """Take in what was reported since the last operation, and a summary that is ready."""
    made = state.summaries.background.fetch() if state.summaries else None
    if made is not None:
        _take_in_summary(state, made)
    pending, state.pending_usage = state.pending_usage, []
    for report in pending:
        if isinstance(report, tuple):
            state.outbox.append(report)
            continue
        state.apply_deferred(report)
        if isinstance(report, Overflowed):
            state.outbox.append((events.OVERFLOW, {"lane": report.lane, "tokens": report.tokens}))


def _take_in_summary(state: SessionState, made: Made) -> None:
    """One of what was taken back meanwhile is of no use."""
    order, spent = made.order, (made.input_tokens, made.output_tokens)
    place: dict[str, Any] = {"lane": order.lane, "first": order.first, "last": order.last}
    told = place | {"model": made.model, "prompt": PROMPT, "input_tokens": spent[0], "output_tokens": spent[1]}
    reason = made.reason
    if made.struck:
        state.outbox.append((events.SUMMARY_CLAIMS_STRUCK, place | {"struck": made.struck, "kept": made.kept}))
    if not reason and (order.lane not in state.lanes or order.last not in state.history.branch):
        reason = "what it tells of was taken back meanwhile"
    if order.lane not in state.lanes:
        return
    if reason:
        state.apply_deferred(SummaryFailed(order.lane, order.last, reason, *spent))
        state.outbox.append((events.SUMMARY_FAILED, told | {"reason": reason}))
        return
    state.apply_deferred(SummaryMade(order.lane, order.first, order.last, made.text, made.model, PROMPT, *spent))
    state.outbox.append((events.SUMMARY_READY, told))
