"""A plan in the making: the edits chosen so far, what they win, and the view that they make. Chooses nothing itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.budget import Options
from backscroll.compaction.window import look
from backscroll.history import History
from backscroll.plan import Drop, Edit, Plan, merge, without
from backscroll.usage import NOTHING, Estimate, Meter
from backscroll.view import Surroundings, View

LAST_CUT = "floor"
"""The reason that edits of what must stay carry."""


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
        self._meter = meter
        self._around = around
        self._gone_for, self._gone = view, NOTHING
        self._view = self._whole_again(view)
        self.window = look(history, self._view.pieces, self.room, around)
        self._edits: list[Edit] = []
        self._won = NOTHING

    def _whole_again(self, view: View) -> View:
        """The view with what was cut as a last resort whole again: what did not fit then may fit now."""
        cut = {edit.seq for edit in view.plan.edits if not isinstance(edit, Drop) and edit.by == LAST_CUT}
        if not cut:
            return view
        plan = without(view.plan, sorted(cut), view.plan.number + 1)
        return View.build(self.history, plan, self._around, prompt=view.prompt, reuse=view)

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

    def look_again(self) -> None:
        """The window as the view has it, with nothing spared: after this only the floor is sacred."""
        self.window = look(self.history, self.view.pieces, self.room, self._around)

    def settle(self) -> int:
        """`used` by the view itself, its notices included."""
        _ = self.view
        return self.used

    def removed(self) -> Estimate:
        """What left the view that there was before."""
        _ = self.view
        return self._removed()

    def _removed(self) -> Estimate:
        if self._gone_for is not self._view:
            self._gone_for, self._gone = self._view, self._reckon_gone()
        return self._gone

    def _reckon_gone(self) -> Estimate:
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
