"""Reports on the newest view and finished summaries, kept until the next operation applies them.

Reports come outside the lock, from the code that called the model. So nothing here waits.
"""

from hashlib import sha256
from typing import Any

from backscroll import events
from backscroll.compaction.native_request import NativeResult
from backscroll.compaction.summarization import PROMPT, Made
from backscroll.history.log import (
    HealingBegun,
    NativeMade,
    Overflowed,
    SummaryFailed,
    SummaryMade,
    Tried,
    UsageObserved,
)
from backscroll.history.plan import same_until
from backscroll.messages.counted import Counted
from backscroll.session.state import SessionState
from backscroll.tokens.reported_usage import NOT_ABOUT_IT, ignored
from backscroll.tokens.response_notes import notes_of

_DIGITS = 8  # of the SHA-256 of instructions
NOTHING_SENT = "no view was handed out on this lane yet"


def observe_usage(state: SessionState, lane_name: str, counted: Counted, *, read: bool = False) -> None:
    """Keep a provider's report on the lane's newest view.

    `read`: it was read from a response, and not passed by a caller who may have mixed up figures.
    """
    lane = state.lanes.get(lane_name)
    sound = all(type(tokens) is int and tokens >= 0 for tokens in counted)
    report = lane.report(counted.prompt, counted.answer) if lane is not None and sound else None
    if lane is None or report is None:
        reject_usage(state, lane_name, tuple(counted), NOTHING_SENT if sound else NOT_ABOUT_IT)
        return
    judged = lane.reported.judge(counted, report, lane.calibrator, lane.budget, read=read)
    if judged.report is not None:
        cache = counted.read, counted.written
        sound = 0 < sum(cache) <= judged.report.tokens
        state.pending_usage.append(UsageObserved(lane_name, judged.report, *(cache if sound else ())))
    state.pending_usage += judged.reports


def observe_notes(state: SessionState, lane_name: str, response: object) -> None:
    """Keep what a provider says of the lane's newest request: reasoning left out, and why its cache missed."""
    lane = state.lanes.get(lane_name)
    state.pending_usage += notes_of(response, lane_name, frozenset() if lane is None else lane.changed)


def reject_usage(state: SessionState, lane_name: str, reported: object, why: str) -> None:
    """Report that a report of usage is ignored."""
    state.pending_usage.append(ignored(lane_name, reported, why))


def observe_overflow(state: SessionState, lane_name: str, requested: int | None, limit: int | None) -> None:
    """Keep the report that a provider rejected the lane's newest view as too long."""
    lane = state.lanes.get(lane_name)
    sized = type(requested) is int and type(limit) is int and limit > 0
    report = lane.report(requested or 0, 0) if lane is not None and sized else None
    if lane is not None and report is not None and lane.calibrator.plausible(report, lane.budget):
        state.pending_usage.append(UsageObserved(lane_name, report))
    else:
        limit = None  # sizes that cannot belong to that view do not show what would fit
    found = lane.overflow(limit) if lane is not None else None
    state.pending_usage.append(found or ignored(lane_name, "overflow", NOTHING_SENT))


def observe_refusal(state: SessionState, lane_name: str) -> None:
    """Record that the provider refused the lane's newest view, for another reason than its size."""
    lane = state.lanes.get(lane_name)
    if lane is not None and not lane.plan.heals:
        state.pending_usage.append(HealingBegun(lane_name))


def take_in_reports(state: SessionState) -> None:
    """Apply what was reported since the last operation, and a finished summary."""
    made = state.summaries.background.fetch() if state.summaries else None
    if made is not None:
        _take_in_summary(state, made)
    native = state.natives.background.fetch() if state.natives else None
    if native is not None:
        _take_in_native(state, native)
    elif state.natives is not None and not state.natives.background.running:
        state.asked_native = None  # it was cancelled
    pending, state.pending_usage = state.pending_usage, []
    for report in pending:
        if isinstance(report, tuple):
            state.pending_notifications.append(report)
            continue
        state.apply_deferred(report)
        if isinstance(report, Overflowed):
            state.pending_notifications.append((events.OVERFLOW, {"lane": report.lane, "tokens": report.tokens}))


def _take_in_summary(state: SessionState, made: Made) -> None:
    """Apply a finished summary, unless the messages that it covers were rewound."""
    order, spent = made.order, (made.input_tokens, made.output_tokens)
    place: dict[str, Any] = {"lane": order.lane, "first": order.first, "last": order.last}
    payload = place | {"model": made.model, "prompt": PROMPT, "input_tokens": spent[0], "output_tokens": spent[1]}
    reason = made.reason
    if made.struck:
        state.pending_notifications.append(
            (events.SUMMARY_CLAIMS_STRUCK, place | {"struck": made.struck, "kept": made.kept})
        )
    if not reason and (order.lane not in state.lanes or order.last not in state.history.branch):
        reason = "the messages that it covers were rewound meanwhile"
    if order.lane not in state.lanes:
        return
    if reason:
        state.apply_deferred(SummaryFailed(order.lane, order.last, reason, *spent))
        state.pending_notifications.append((events.SUMMARY_FAILED, payload | {"reason": reason}))
        return
    covered = order.lane, order.first, order.last
    added = _digest(order.instructions) if order.instructions else ""
    state.apply_deferred(SummaryMade(*covered, made.text, made.model, PROMPT, *spent, added))
    state.pending_notifications.append((events.SUMMARY_READY, payload))


def _take_in_native(state: SessionState, made: NativeResult) -> None:
    """Apply a finished native compaction, unless the view no longer begins with what it represents."""
    order, answer = made.order, made.answer
    lane, state.asked_native = state.lanes.get(order.lane), None
    if lane is None:
        return
    model = answer.model or order.request.model
    spent = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    payload: dict[str, Any] = {"lane": order.lane, "last": order.last, "model": model, **spent}
    reason = answer.reason
    if answer.message is not None and (
        order.last not in state.history.branch or not same_until(order.plan, lane.plan, order.last)
    ):
        reason = "the messages that it represents were rewound or edited meanwhile"
    if answer.message is None or reason:
        tried, folded = lane.native_tried.failures + 1, lane.plan.digest.covered_tokens
        lane.native_tried = Tried(tried, order.last, lane.compactions, folded)
        state.pending_notifications.append((events.NATIVE_FAILED, payload | {"reason": reason}))
        return
    event = NativeMade(
        lane=order.lane,
        last=order.last,
        message=answer.message,
        counts=made.counts,
        number=order.number,
        prefix=order.prefix,
        role=order.role,
        prompt=order.prompt,
        keeps=answer.keeps and state.config.binds(order.request.model or order.lane),
        model=model,
        **spent,
    )
    state.apply_deferred(event)
    state.pending_notifications.append((events.NATIVE_READY, payload | {"keeps_reasoning": event.keeps}))


def _digest(instructions: str) -> str:
    return sha256(instructions.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
