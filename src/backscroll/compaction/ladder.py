"""Which strategies run, in which order, and when to stop. No strategy and no rendering may live here.

A compaction goes down to its target with the strategies in order of harm, sparing the newest messages; where that is not
enough to get below the threshold, it no longer spares them; where the view still does not fit, everything that may leave
leaves; and only if what must stay does not fit by itself, that is clipped (`floor.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.budget import Options
from backscroll.compaction.drop import drop_unit, of_user
from backscroll.compaction.floor import clip_floor
from backscroll.compaction.window import Strategy, look, spare, within
from backscroll.history import History
from backscroll.plan import Drop, Edit, Plan, merge
from backscroll.usage import NOTHING, Estimate, Meter
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
    """A plan in the making. Strategies are reckoned with at once; the view is built when somebody asks for it."""

    def __init__(self, history: History, view: View, meter: Meter, goals: Goals, around: Surroundings) -> None:
        self.history = history
        self.before = view
        self.goals = goals
        self.refused: list[Edit] = []
        """Edits that a strategy made of what it may not touch."""
        self.room = max(0, goals.budget - meter.overhead(goals.budget))
        self.window = look(history, view.pieces, self.room, around)
        self._meter = meter
        self._around = around
        self._view = view
        self._edits: list[Edit] = []
        self._won = NOTHING

    @property
    def used(self) -> int:
        """Tokens of the whole request by the upper estimate, as they will be reckoned once this plan is recorded."""
        if self._edits:
            view, won = self._view.estimate, self._won.plus(self._removed())
            left = Estimate(view.middle - self._won.middle, view.upper - self._won.upper)
            return self._meter.after(left, won, self.goals.budget).upper
        return self._meter.after(self._view.estimate, self._removed(), self.goals.budget).upper

    @property
    def view(self) -> View:
        """The view under the plan so far."""
        if self._edits:
            plan = self._view.plan
            after = plan.summary_after if any(plan.drops()) else _summary_place(self.history)
            plan = Plan(merge(plan.edits, self._edits), self.before.plan.number + 1, after)
            self._view = View.build(self.history, plan, self._around, prompt=self._view.prompt, reuse=self._view)
            self._edits, self._won = [], NOTHING
        return self._view

    def settle(self) -> int:
        """`used` by the view itself, its notices included."""
        if not self._edits:
            return self.used
        recent = [unit.recent for unit in self.window.units]
        self.window = look(self.history, self.view.pieces, self.room, self._around)
        for unit, spared in zip(self.window.units, recent, strict=True):
            unit.recent = spared
        return self.used

    def removed(self) -> Estimate:
        """What left the view that there was before."""
        return self._removed() if self.view is not self.before else NOTHING

    def _removed(self) -> Estimate:
        if self._view is self.before:
            return NOTHING
        kept = {id(piece.messages) for piece in self._view.pieces}
        gone = [piece.estimate for piece in self.before.pieces if id(piece.messages) not in kept]
        return Estimate(sum(e.middle for e in gone), sum(e.upper for e in gone))

    def apply(self, edits: Sequence[Edit]) -> None:
        """Adds edits to the plan."""
        self._won = self._won.plus(self.window.take(edits))
        self._edits += edits


def _summary_place(history: History) -> int | None:
    """Directly behind the first user message, else behind the leading system messages."""
    if history.first_user is not None:
        return history.first_user.seq
    return history.branch[history.leading - 1].seq if history.leading else None


def compact(draft: Draft, strategies: Sequence[Strategy], options: Options) -> None:
    """Takes the draft down to its target if that can be done, and in any case into its budget.

    Leaves `draft.used` above the budget only where the floor itself, clipped as far as may be, does not fit.
    """
    goals = draft.goals
    for recent in (options.protected_recent, 0.0):
        spare(draft.window, int(draft.room * recent))
        for strategy in strategies:
            if draft.used <= goals.target:
                break
            edits = _allowed(strategy(draft.window, draft.used - goals.target), draft)
            if edits:
                draft.apply(edits)
        if draft.used <= goals.threshold:
            break
    if draft.settle() > goals.budget:
        spare(draft.window, 0)
        _drop_all_but_floor(draft)
    if draft.settle() > goals.budget:
        clip_floor(draft)


def _allowed(edits: Sequence[Edit], draft: Draft) -> list[Edit]:
    """The edits that keep to free units and whole groups; what a strategy made beyond that is reported."""
    units = {seq: unit for unit in draft.window.units for seq in unit.seqs}
    drops = [edit for edit in edits if isinstance(edit, Drop)]
    dropped = {seq for drop in drops for seq in within(drop, units)}
    allowed: list[Edit] = []
    for edit in edits:
        seqs = within(edit, units) if isinstance(edit, Drop) else [edit.seq]
        fits = all(seq in units and units[seq].free for seq in seqs)
        if isinstance(edit, Drop):
            fits = fits and all(dropped.issuperset(units[seq].seqs) for seq in seqs)
        (allowed if fits else draft.refused).append(edit)
    return allowed


def _drop_all_but_floor(draft: Draft) -> None:
    """The last resort before the floor is touched: the oldest of what may leave, as much as it takes."""
    free = [unit for unit in draft.window.units if unit.free]
    for choose in (lambda unit: not of_user(unit), of_user):
        excess = draft.settle() - draft.goals.budget
        edits: list[Edit] = []
        for unit in filter(choose, free):
            if excess <= 0:
                break
            edits += drop_unit(unit, LAST_RESORT)
            excess -= unit.tokens
        if edits:
            draft.apply(edits)
