"""Keep a lane's view up to date with the history, apply decisions of the policy, and hand out the view."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backscroll import events
from backscroll.compaction.decision import Decision, PolicyInput
from backscroll.compaction.lane_state import BETTER, LaneState
from backscroll.compaction.reasoning import bound_view, shows_sealed
from backscroll.compaction.triggers import Due
from backscroll.history.history import History
from backscroll.history.log import PlanRecorded, RequestRecorded, digest_of
from backscroll.history.plan import Plan, with_restated
from backscroll.history.ranges import SeqRange, united
from backscroll.messages.heal_rules import SENT
from backscroll.ports import Notification
from backscroll.view.ephemerals import Ephemeral
from backscroll.view.lane_groups import not_loaded as pieces_not_loaded
from backscroll.view.view import View

# -- keeping up to date --


def not_loaded(lane: LaneState, now: PolicyInput) -> list[int]:
    """Return the messages that `refresh` needs and that are not in memory."""
    history, view = now.history, lane.view
    if history.evicted_to < 0:
        return []
    if view is not None and _goes_on(lane, view, now):
        return view.newer_not_loaded(history)
    return pieces_not_loaded(history, lane.plan, needed(history, lane.plan))


def needed(history: History, plan: Plan) -> list[int]:
    """Return the messages that a view of a plan is made of."""
    return sorted({*(seq for seq, _ in history.outside(plan.gaps())), *plan.restated()})


def refresh(lane: LaneState, now: PolicyInput) -> list[Notification]:
    """Bring the view up to date with the history. Returns notifications."""
    view = lane.view
    reports: list[Notification] = []
    ephemerals = _unexpired(lane, now.ephemerals) if now.ephemerals else now.ephemerals
    if view is not None and _goes_on(lane, view, now):
        view.advance(now.history, ephemerals)
    else:
        view, reports = _rebuilt(lane, now, ephemerals)
        lane.view = view
    if view.changes:
        for change, seq in view.changes:
            name = events.LATE_RESULT if change == "late result" else events.UNANSWERED_CALL
            reports.append((name, {"lane": lane.name, "seq": seq}))
        view.changes.clear()
    lane.moved = lane.moved or bool(reports)
    reports += _healed(lane, view)
    if (lane.stale or lane.unlike_sent) and not shows_sealed(view, lane.outdated):
        lane.stale = lane.unlike_sent = ()
    return reports


def _healed(lane: LaneState, view: View) -> list[Notification]:
    """Return a notification for each message that the view heals for the first time."""
    if not view.healed or lane.healed is None:
        return []
    new = [each for each in dict.fromkeys(view.healed) if each not in lane.healed]
    view.healed.clear()
    lane.healed.update(new)
    return [(events.HEALED, {"lane": lane.name, "seq": seq, "rule": rule, "sent": SENT[rule]}) for seq, rule in new]


def _goes_on(lane: LaneState, view: View, now: PolicyInput) -> bool:
    return view.plan is lane.plan and view.prompt == now.prompt and view.epoch == now.history.epoch


def _unexpired(lane: LaneState, ephemerals: Sequence[Ephemeral]) -> list[Ephemeral]:
    return [found for found in ephemerals if found.number >= lane.expired]


def _rebuilt(lane: LaneState, now: PolicyInput, ephemerals: Sequence[Ephemeral]) -> tuple[View, list[Notification]]:
    old, reports = lane.view, list[Notification]()
    if old is not None and old.prompt != now.prompt and lane.sent_messages:
        reports.append((events.PROMPT_CHANGED, {"lane": lane.name}))
    before = old.messages[: lane.sent_messages] if old is not None else []
    if now.history.last_sealed >= 0:
        lane.unlike_sent = united(_changed(lane, now, ephemerals), ()) if lane.around.binds else ()
    view = View.build(now.history, lane.plan, lane.around, prompt=now.prompt, ephemerals=ephemerals, reuse=old)
    if view.messages[: len(before)] != before:
        reports.append((events.PLAN_CHANGED, {"lane": lane.name, "rebuilt": len(view.messages)}))
    return view, reports


def _changed(lane: LaneState, now: PolicyInput, ephemerals: Sequence[Ephemeral]) -> Iterator[SeqRange]:
    """Yield which reasoning is invalid, because the system prompt or the form of texts changed since the lane's newest
    request, or a message in it that is never stored is gone.
    """
    sealed = now.history.last_sealed
    if lane.requested and lane.prompt != (None if now.prompt is None else digest_of(now.prompt)):
        yield SeqRange(0, sealed)
    marks = lane.marked is not None, lane.around.marking is not None
    if lane.requested and marks[0] != marks[1] and not lane.around.adopts:  # texts are blocks now, or no longer
        yield SeqRange(0, sealed)
    shown = ((found.after, found.digest, found.reading.role) for found in ephemerals)
    gone = next((sent for sent in lane.passing if sent != next(shown, None)), None)
    if gone is not None and gone[0] < sealed:
        yield SeqRange(gone[0] + 1, sealed)


# -- decisions --


def apply_decision(lane: LaneState, decision: Decision) -> None:
    """Apply a decision: the view made for its plan becomes the lane's."""
    if decision.little is not None:
        lane.little = lane.little + 1 if decision.little else 0
    lane.media_left = decision.media_left
    if decision.view is not None:
        lane.view, lane.expired, lane.last_compaction = decision.view, decision.expired, decision.compaction


def undo(lane: LaneState, now: PolicyInput, earlier: Plan) -> PlanRecorded:
    """Return the event that restores the plan before the newest compaction. Removed reasoning stays removed, and with
    it goes what was made over the compacted view.
    """
    last = now.history.last.seq if now.history.last else None
    bare = united(lane.plan.no_reasoning, lane.outdated)
    now_shown = lane.plan.waited, lane.plan.heals
    earlier = with_restated(earlier, lane.plan)
    plan = replace(
        earlier, number=lane.plan.number + 1, last=last, no_reasoning=bare, waited=now_shown[0], heals=now_shown[1]
    )
    old = lane.view
    view = bound_view(
        old if lane.around.binds else None,
        plan,
        lambda plan: View.build(now.history, plan, lane.around, prompt=now.prompt, reuse=old),
    )
    kept = {id(segment.messages) for segment in view.segments}
    gone = [segment.estimate for segment in old.segments if id(segment.messages) not in kept] if old else []
    removed = (sum(estimate.expected for estimate in gone), sum(estimate.upper for estimate in gone))
    after = lane.calibrator.total(view.estimate, lane.budget).upper
    return PlanRecorded(
        lane=lane.name,
        plan=view.plan_with_weights(),
        removed=removed,
        tokens=after,
        messages=len(view.messages),
        undone=True,
    )


def hand_out(lane: LaneState, now: PolicyInput, due: Due, budget: int, prompt: str | None) -> RequestRecorded:
    """Return the event that a view is handed out.

    Args:
        lane: The lane, whose view is up to date.
        now: The input of the decision.
        due: The size of the whole request, and what it foresees.
        budget: Its input tokens.
        prompt: The digest of its system prompt.
    """
    view, used, ephemerals, last = lane.view, due.used, now.ephemerals, now.history.last
    assert view is not None
    passing: tuple[tuple[int, str, str], ...] = ()
    if ephemerals:
        shown = _unexpired(lane, ephemerals)
        lane.shown = ephemerals[-1].number + 1
        passing = tuple([(found.after, found.digest, found.reading.role) for found in shown])
    if lane.little and used.upper < BETTER * budget:
        lane.little = 0
    lane.sent_messages, lane.asked = len(view.messages), now.seconds
    counting = None if lane.counting == lane.own_counting else lane.own_counting
    marking = lane.around.marking
    first, messages = lane.handed_out_plan is None, lane.moved or lane.handed_out_plan != lane.plan.number
    parts = ("system", lane.prompt != prompt), ("tools", lane.tools != lane.recorded_tools), ("messages", messages)
    lane.changed = frozenset([part for part, differs in parts if differs or first])  # of the first, nothing is known
    lane.moved, lane.handed_out_plan = False, lane.plan.number
    return RequestRecorded(
        lane=lane.name,
        budget=budget,
        plan=lane.plan.number,
        last=last.seq if last else -1,
        estimate=view.estimate,
        prompt=prompt,
        ephemerals=passing,
        total=used,
        counting=counting,
        marked=None if marking is None else (marking.minimum, marking.most),
        tools=None if lane.tools == lane.recorded_tools else lane.tools,
        foresees=due.foresees,
    )
