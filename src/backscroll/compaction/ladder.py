"""Which strategies run, in which order, and when to stop. No strategy and no rendering may live here.

A compaction goes down to its target with the strategies in order of harm, sparing the newest messages; where that is not
enough to get below the threshold, it no longer spares them; where the view still does not fit, everything that may leave
leaves; and only if what must stay does not fit by itself, that is clipped (`floor.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.budget import Options
from backscroll.compaction.drop import drop_unit, of_user
from backscroll.compaction.floor import clip_floor
from backscroll.compaction.window import Strategy, Unit, Window, look
from backscroll.history import History
from backscroll.plan import Drop, Edit, Plan, merge
from backscroll.usage import Estimate, Meter
from backscroll.view import Surroundings, View

LAST_RESORT = "last resort"


@dataclass(frozen=True, slots=True)
class Goals:
    """Tokens of the whole request, overhead included."""

    budget: int
    threshold: int
    target: int

    @classmethod
    def of(cls, budget: int, overhead: int, options: Options) -> "Goals":
        """Threshold and target are shares of what the overhead leaves."""
        room = max(0, budget - overhead)
        return cls(
            budget, overhead + int(room * options.compact_threshold), overhead + int(room * options.target_usage)
        )


class Draft:
    """A plan in the making, with its view."""

    def __init__(self, history: History, view: View, meter: Meter, goals: Goals, around: Surroundings) -> None:
        self.history = history
        self.before = view
        self.view = view
        self.goals = goals
        self.refused: list[Edit] = []
        """Edits that a strategy made of what it may not touch."""
        self._meter = meter
        self._around = around
        self._overhead = meter.overhead(goals.budget)

    @property
    def used(self) -> int:
        """Tokens of the whole request by the upper estimate, as they will be reckoned once this plan is recorded."""
        removed, _ = self.change()
        return self._meter.after(self.view.estimate, removed, self.goals.budget).upper

    def change(self) -> tuple[Estimate, Estimate]:
        """What leaves the view and what takes its place."""
        old = {id(piece.messages): piece.estimate for piece in self.before.pieces}
        new = {id(piece.messages): piece.estimate for piece in self.view.pieces}
        removed = [estimate for key, estimate in old.items() if key not in new]
        added = [estimate for key, estimate in new.items() if key not in old]
        return _sum(removed), _sum(added)

    def window(self, recent: float) -> Window:
        """What a strategy is shown; `recent`: the share of the budget whose newest messages it must spare."""
        room = max(0, self.goals.budget - self._overhead)
        around = self._around
        return look(self.history, self.view.pieces, room, int(room * recent), around.family, around.count)

    def apply(self, edits: Sequence[Edit], number: int) -> None:
        """Adds edits to the plan and renders what they change."""
        plan = self.view.plan
        after = _summary_place(self.history) if plan.number == 0 or not any(plan.drops()) else plan.summary_after
        plan = Plan(merge(plan.edits, edits), number, after)
        self.view = View.build(
            self.history, plan, self._around, prompt=self.view.prompt, reuse=self.view
        )


def _sum(estimates: list[Estimate]) -> Estimate:
    return Estimate(sum(e.middle for e in estimates), sum(e.upper for e in estimates))


def _summary_place(history: History) -> int | None:
    """Directly behind the first user message, else behind the leading system messages."""
    if history.first_user is not None:
        return history.first_user.seq
    return history.branch[history.leading - 1].seq if history.leading else None


def compact(draft: Draft, strategies: Sequence[Strategy], options: Options, number: int) -> None:
    """Takes the draft down to its target if that can be done, and in any case into its budget.

    Leaves `draft.used` above the budget only where the floor itself, clipped as far as may be, does not fit.
    """
    goals = draft.goals
    for recent in (options.protected_recent, 0.0):
        for strategy in strategies:
            if draft.used <= goals.target:
                return
            window = draft.window(recent)
            edits = _allowed(strategy(window, draft.used - goals.target), window, draft)
            if edits:
                draft.apply(edits, number)
        if draft.used <= goals.threshold:
            return
    if draft.used > goals.budget:
        _drop_all_but_floor(draft, number)
    if draft.used > goals.budget:
        clip_floor(draft, number)


def _allowed(edits: Sequence[Edit], window: Window, draft: Draft) -> list[Edit]:
    """The edits that keep to free units and whole groups; what a strategy made beyond that is reported."""
    units = {seq: unit for unit in window.units for seq in unit.seqs}
    drops = [edit for edit in edits if isinstance(edit, Drop)]
    dropped = {seq for drop in drops for seq in _within(drop, units)}
    allowed: list[Edit] = []
    for edit in edits:
        seqs = _within(edit, units) if isinstance(edit, Drop) else [edit.seq]
        fits = all(seq in units and units[seq].free for seq in seqs)
        if isinstance(edit, Drop):
            fits = fits and all(dropped.issuperset(units[seq].seqs) for seq in seqs)
        (allowed if fits else draft.refused).append(edit)
    return allowed


def _within(drop: Drop, units: Mapping[int, Unit]) -> list[int]:
    if drop.first == drop.last:
        return [drop.first] if drop.first in units else []
    return [seq for seq in units if drop.first <= seq <= drop.last]


def _drop_all_but_floor(draft: Draft, number: int) -> None:
    """The last resort before the floor is touched: the oldest of what may leave, as much as it takes."""
    window = draft.window(0.0)
    free: list[Unit] = [unit for unit in window.units if unit.free]
    for choose in (lambda unit: not of_user(unit), of_user):
        excess = draft.used - draft.goals.budget
        edits: list[Edit] = []
        for unit in filter(choose, free):
            if excess <= 0:
                break
            edits += drop_unit(unit, LAST_RESORT)
            excess -= unit.tokens
        if edits:
            draft.apply(edits, number)
