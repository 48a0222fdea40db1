"""Replan a lane whose budget grew: what it left out comes back, newest first, up to the target of the larger budget.

The rest of the plan stays, and with it the digest of what is older.
"""

from collections.abc import Iterator
from dataclasses import replace

from backscroll import events
from backscroll.compaction.decision import NOTHING_DUE, Decision, PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.reasoning import bound_view, lost_between, reasoning_tokens
from backscroll.history.branch import Branch
from backscroll.history.history import Entry, History
from backscroll.history.log import PlanRecorded
from backscroll.history.plan import Plan, with_restated
from backscroll.history.ranges import covers, united
from backscroll.history.rewound_plan import until
from backscroll.ports import Notification
from backscroll.tokens.usage import estimate_message
from backscroll.view.view import View


def left_out(plan: Plan, branch: Branch) -> Iterator[int]:
    """Yield the entries that a plan leaves out or cuts, newest first."""
    gaps, cut = list(plan.gaps()), plan.rewritten()
    for at in range(len(branch) - 1, -1, -1):
        if covers(gaps, branch[at]) or branch[at] in cut:
            yield branch[at]


def whole_tokens(lane: LaneState, entry: Entry) -> int:
    """Return the tokens that a message takes at most once it is whole again."""
    return estimate_message(entry.reading, entry.counts, lane.family).upper


def regrow(lane: LaneState, now: PolicyInput, room: int) -> Decision:
    """Decide on the plan that brings back what fits into `room` tokens. What it brings back must be loaded."""
    assert lane.view is not None
    history, old = now.history, lane.view
    first, tokens, count = _comes_back(lane, history, room)
    if first is None:
        return NOTHING_DUE
    last, bare = history.branch[-1], united(lane.plan.no_reasoning, lane.outdated)
    plan = with_restated(until(lane.plan, first - 1), lane.plan)
    digest = replace(plan.digest, covered_tokens=max(0, plan.digest.covered_tokens - tokens))
    plan = replace(plan, number=lane.plan.number + 1, last=last, digest=digest, no_reasoning=bare)
    shown = [found for found in now.ephemerals if found.number >= lane.expired]
    view = bound_view(
        old if lane.around.binds else None,
        plan,
        lambda plan: View.build(history, plan, lane.around, prompt=now.prompt, ephemerals=shown, reuse=old),
    )
    used = lane.calibrator.total(view.estimate, lane.budget).upper
    event = PlanRecorded(
        lane=lane.name, plan=view.plan_with_weights(), removed=(0, 0), tokens=used, messages=len(view.messages)
    )
    return Decision(event, _reports(lane, view, count), view, lane.expired)


def _comes_back(lane: LaneState, history: History, room: int) -> tuple[int | None, int, int]:
    """Return from which entry on everything comes back, with its tokens and its number of messages."""
    prose = max((note.last for note in lane.plan.digest.notes if note.kind == "prose"), default=-1)
    prose = prose if lane.plan.native is None else max(prose, lane.plan.native.last)  # it stays, and what it represents
    first, tokens, count, back, number = None, 0, 0, 0, 0
    for seq in left_out(lane.plan, history.branch):
        entry = history.get(seq)
        tokens += 0 if entry is None else whole_tokens(lane, entry)
        if entry is None or tokens > room or seq <= prose:
            return first, back, number
        count += 1
        if entry.group.first >= seq:  # otherwise a result would come back without its call
            first, back, number = seq, tokens, count
    return 0 if count else None, tokens, count


def _reports(lane: LaneState, view: View, count: int) -> list[Notification]:
    assert lane.view is not None
    reports: list[Notification] = [(events.PLAN_CHANGED, {"lane": lane.name, "brought_back": count})]
    if lost := lost_between(lane.view, view):
        payload = {"lane": lane.name, "plan": view.plan.number, "trigger": "budget_grew", "messages": len(lost)}
        reports.append((events.REASONING_REMOVED, payload | {"tokens": reasoning_tokens(lost, lane.family)}))
    return reports
