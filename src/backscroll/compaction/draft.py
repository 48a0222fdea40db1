"""A plan in the making: the edits chosen so far, what they win, and the view that they make. Chooses nothing itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.budget import Options
from backscroll.compaction.window import look
from backscroll.history import History
from backscroll.plan import Drop, Edit, Plan, merge, without
from backscroll.usage import NOTHING, Estimate, Meter
from backscroll.view import EPHEMERAL, Ephemeral, Surroundings, View

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

    def __init__(
        self,
        history: History,
        view: View,
        meter: Meter,
        goals: Goals,
        around: Surroundings,
        *,
        fresh: Sequence[Ephemeral] = (),
    ) -> None:
        self.history = history
        self.fresh = fresh
        """Ephemeral messages that were not shown yet; all others expire with this plan."""
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
        if not cut and not any(piece.key[1] == EPHEMERAL for piece in view.pieces):
            return view
        return self._build(without(view.plan, sorted(cut), view.plan.number + 1), view)

    def _build(self, plan: Plan, view: View) -> View:
        return View.build(self.history, plan, self._around, prompt=view.prompt, ephemerals=self.fresh, reuse=view)

    def forget_fresh(self) -> None:
        """Ephemeral messages go before anything that is stored has to."""
        if self.fresh:
            self.fresh = ()
            self._view = self._build(self.view.plan, self.view)

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
            plan = Plan(self._joined(merge(plan.edits, self._edits)), self.before.plan.number + 1, after)
            self._view = self._build(plan, self._view)
            self._edits, self._won = [], NOTHING
        return self._view

    def _joined(self, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """Drops that only numbers of a branch left behind stand between, as one; else rewinds would make plans grow."""
        branch = self.history.branch
        if branch[-1].seq - branch[0].seq + 1 == len(branch):
            return edits
        joined: list[Edit] = []
        for edit in edits:
            last = joined[-1] if joined else None
            if isinstance(edit, Drop) and isinstance(last, Drop) and self._touch(last, edit):
                joined[-1] = Drop(last.first, edit.last, last.by)
            else:
                joined.append(edit)
        return tuple(joined)

    def _touch(self, one: Drop, next_one: Drop) -> bool:
        return self.history.position(one.last + 1) == self.history.position(next_one.first)

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
