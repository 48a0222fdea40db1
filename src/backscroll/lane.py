"""One line of requests that shares a plan: its view, its meter, and the decision whether to compact. Pure.

Between triggers a lane keeps its plan, so that each view extends the one before. At a trigger it runs the ladder once
and records the new plan as an event; applying that event is the only way in which a lane's plan changes.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from backscroll import events
from backscroll.budget import Options
from backscroll.compaction.batch import Prices, batch
from backscroll.compaction.draft import Draft, Goals
from backscroll.compaction.ladder import compact, crowded
from backscroll.compaction.window import Strategy, floor_seqs
from backscroll.errors import BudgetError
from backscroll.history import History, Overflowed, PlanRecorded, Settled, UsageObserved
from backscroll.plan import GAPS, Clip, Mask, Plan, covers, until, without
from backscroll.ports import Event
from backscroll.turns import Group
from backscroll.usage import Estimate, Meter, Report
from backscroll.view import EPHEMERAL, Ephemeral, Surroundings, View

LOOK_AGAIN = 0.9  # of a batch: after a look that found too little, a tenth more has to come before the next
WORTH = 0.05  # a compaction that wins less than this share of the room costs more in rewritten cache than it saves
REFUSED = 0.8  # of a request that a provider refused as too long: the next may be no longer than that
_UNDO_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction did. Figures in tokens are upper estimates of the whole request."""

    lane: str
    before_tokens: int
    after_tokens: int
    before_messages: int
    after_messages: int
    removed: int
    """Messages left out that stood in the view before."""
    shortened: int
    """Parts clipped or masked."""
    target_tokens: int
    budget: int


class Situation(NamedTuple):
    """What a lane decides on, besides its own state."""

    history: History
    options: Options
    strategies: Sequence[Strategy]
    ephemerals: Sequence[Ephemeral]
    prompt: str | None
    prices: Prices | None = None
    """Prices by which batches of old results are masked; None = they are not."""


Fitted = tuple[PlanRecorded | Settled | None, list[Event]]
"""The event to record, if one is due, and what to report."""


class Lane:
    """A lane's state. Everything that must survive a restart comes from events."""

    def __init__(self, name: str, around: Surroundings, options: Options, plan: Plan) -> None:
        self.name = name
        self.family = around.family
        self.plan = plan
        self.meter = Meter(options.overhead_tokens)
        self.budget = options.max_tokens
        self.compactions = 0
        self.expired = 0
        """Ephemeral messages with a lower number are no longer shown."""
        self.sent: Estimate | None = None
        """The estimate of the newest view that was handed out: what a usage report is about."""
        self._around = around
        self._before: deque[Plan] = deque(maxlen=_UNDO_DEPTH)
        self._settled = self._batched = self._settled_messages = 0
        self._refused: Overflowed | None = None
        """What the provider refused last as too long."""
        self._guessed = False
        """Whether nothing was known then of what stands outside the messages."""
        self._sent_messages = 0
        self._shown = 0
        """Ephemeral messages with a lower number were shown at least once."""
        self.view: View | None = None
        self.last_compaction: Compaction | None = None

    # -- events of this lane --

    def recorded(self, event: PlanRecorded) -> None:
        """A new plan holds from now on."""
        if event.undone:
            self._before.pop()
        else:
            self._before.append(self.plan)
            self.compactions += 1
        self.plan = event.plan
        self._settled = self._batched = event.tokens
        self._settled_messages = event.messages
        self.meter.compacted(Estimate(*event.removed))

    def settled(self, event: Settled) -> None:
        """A compaction would have won too little."""
        if event.batch:
            self._batched = event.tokens
        else:
            self._settled, self._settled_messages = event.tokens, event.messages

    def observed(self, event: UsageObserved) -> None:
        """The provider counted a view; what was refused before it ever did is of no more use."""
        self.meter.observe(event.report)
        if self._guessed:
            self._refused, self._guessed = None, False

    def overflowed(self, event: Overflowed) -> None:
        """The provider refused a view as too long: from now on requests are shorter."""
        self._refused, self._guessed = event, event.limit is None and not self.meter.informed

    def rewound(self, to: int) -> None:
        """The branch ends at `to` now: edits of later entries have nothing to edit."""
        self.plan = until(self.plan, to)
        self._before = deque((until(plan, to) for plan in self._before), maxlen=_UNDO_DEPTH)
        self._settled = self._batched = self._settled_messages = 0
        self.sent = None
        self.meter.forget()

    # -- keeping up --

    def refresh(self, now: Situation) -> list[Event]:
        """Brings the view up to date with the history; answers what has to be reported."""
        history, view = now.history, self.view
        ephemerals = [found for found in now.ephemerals if found.number >= self.expired]
        reports: list[Event] = []
        if view is not None and view.plan is self.plan and view.prompt == now.prompt and view.current(history):
            view.advance(history, ephemerals)
        else:
            if view is not None and view.prompt != now.prompt and self._sent_messages:
                reports.append((events.PROMPT_CHANGED, {"lane": self.name}))
            before = view.flat[: self._sent_messages] if view is not None else []
            view = View.build(
                history, self.plan, self._around, prompt=now.prompt, ephemerals=ephemerals, reuse=self.view
            )
            if view.flat[: len(before)] != before:
                reports.append((events.PLAN_CHANGED, {"lane": self.name, "rebuilt": len(view.flat)}))
            self.view = view
        for change, seq in view.changes:
            name = events.LATE_RESULT if change == "late result" else events.UNANSWERED_CALL
            reports.append((name, {"lane": self.name, "seq": seq}))
        view.changes.clear()
        return reports

    def restore(self, history: History) -> list[Event]:
        """Messages that were pinned, or became the user's last or the newest in a rewind, come back whole."""
        protected, gaps, rewritten = history.protected, list(self.plan.gaps()), self.plan.rewritten()
        floor = floor_seqs(history).union(history.newest.members if history.newest else ())
        groups = [entry.group for seq in sorted(floor) if (entry := history.get(seq))]
        lost = {seq for group in groups if covers(gaps, group.first) for seq in group.members}
        lost |= {seq for seq in protected if seq in rewritten}
        return self._bring_back(sorted(lost))

    def readmit(self, group: Group) -> list[Event]:
        """A result came late for a call that was left out: the model has not seen it, so both come back."""
        if not self.plan.edits or not covers(list(self.plan.gaps()), group.first):
            return []
        return self._bring_back(group.members)

    def _bring_back(self, seqs: Sequence[int]) -> list[Event]:
        if not seqs:
            return []
        self.plan = without(self.plan, seqs, self.plan.number)
        self.meter.forget()
        return [(events.PLAN_CHANGED, {"lane": self.name, "restored": list(seqs)})]

    # -- deciding --

    def used(self, budget: int) -> Estimate:
        """The whole request under the present view."""
        assert self.view is not None
        return self.meter.total(self.view.estimate, budget)

    def fit(self, now: Situation, budget: int, force: bool = False) -> Fitted:
        """The plan to record, if one is due, and what to report. Raises `BudgetError` if the floor does not fit.

        `force`: compact down to the target although no trigger asks for it.
        """
        goals, used = self._goals(now, budget)
        if not force and not self._is_due(now, goals, used):
            return self._fit_batch(now, goals, used)
        draft = self._draft(now, goals)
        compact(draft, now.strategies, now.options)
        return self._decide(now, draft, used, force)

    def is_due(self, now: Situation, budget: int) -> bool:
        """Whether a request now would start a compaction down to the target."""
        return self._is_due(now, *self._goals(now, budget))

    def _goals(self, now: Situation, budget: int) -> tuple[Goals, int]:
        """What to come down to, and what the request takes as it is."""
        if self._refused:
            budget = min(budget, self._refused.limit or int(self._refused.tokens * REFUSED))
        return Goals.of(budget, self.meter.overhead(budget), now.options), self.used(budget).upper

    def _is_due(self, now: Situation, goals: Goals, used: int) -> bool:
        """Over the threshold, and more so by something than when that was last looked at."""
        assert self.view is not None
        room = goals.budget - self.meter.overhead(goals.budget)
        if used > goals.budget or (used > goals.threshold and used > self._settled + WORTH * room):
            return True
        return crowded(self.view, now.options) and len(self.view.flat) > self._settled_messages * (1 + WORTH)

    def _fit_batch(self, now: Situation, goals: Goals, used: int) -> Fitted:
        """The second trigger: looked at when the view has grown by a batch, or by a tenth of one since it was."""
        least = now.options.min_batch_tokens
        if now.prices is None or least is None or used - self._batched < least:
            return None, []
        draft = self._draft(now, goals, regrow=False)
        edits = batch(draft.window, least, now.prices, now.options.protected_results)
        if not edits:
            return Settled(self.name, used - int(least * LOOK_AGAIN), len(draft.before.flat), batch=True), []
        draft.apply(edits)
        after = draft.settle()
        return self._recorded(now, draft, used, after)

    def _draft(self, now: Situation, goals: Goals, *, regrow: bool = True) -> Draft:
        assert self.view is not None
        fresh = [found for found in now.ephemerals if found.number >= max(self.expired, self._shown)]
        return Draft(now.history, self.view, self.meter, goals, self._around, fresh=fresh, regrow=regrow)

    def _decide(self, now: Situation, draft: Draft, used: int, force: bool) -> Fitted:
        budget, room = draft.goals.budget, draft.room
        after = draft.settle()
        reports = self._refusals(draft)
        if after > budget:
            raise self._too_large(now, draft, after)
        unchanged = draft.view.plan.edits == draft.before.plan.edits
        poor = used - after < WORTH * room and not crowded(draft.before, now.options)
        if used <= budget and (unchanged or (not force and poor)):
            return (Settled(self.name, used, len(draft.before.flat)) if not force else None), reports
        event, more = self._recorded(now, draft, used, after)
        return event, reports + more

    def _recorded(self, now: Situation, draft: Draft, used: int, after: int) -> Fitted:
        reports = self._reports(draft, used, after, draft.goals) + self._rules_left_out(draft)
        self.view = draft.view
        self.expired = max((found.number + 1 for found in now.ephemerals), default=self.expired)
        self.expired = min((found.number for found in draft.fresh), default=self.expired)
        plan = draft.view.plan
        return PlanRecorded(self.name, plan, draft.removed(), after, len(draft.view.flat)), reports

    def undo(self, now: Situation, budget: int) -> PlanRecorded | None:
        """The event that brings back the plan before the newest compaction; None where there is none."""
        if not self._before:
            return None
        plan = replace(self._before[-1], number=self.plan.number + 1)
        old = self.view
        view = View.build(now.history, plan, self._around, prompt=now.prompt, reuse=old)
        kept = {id(piece.messages) for piece in view.pieces}
        gone = [piece.estimate for piece in old.pieces if id(piece.messages) not in kept] if old else []
        removed = (sum(estimate.middle for estimate in gone), sum(estimate.upper for estimate in gone))
        after = self.meter.total(view.estimate, budget).upper
        return PlanRecorded(self.name, plan, removed, after, len(view.flat), undone=True)

    def handed_out(self, budget: int, ephemerals: Sequence[Ephemeral]) -> None:
        """Remembers what was sent, for the usage report that will come for it."""
        assert self.view is not None
        self.budget = budget
        self._shown = ephemerals[-1].number + 1 if ephemerals else self._shown
        self.sent = self.view.estimate
        self._sent_messages = len(self.view.flat)

    def report(self, tokens: int, answer: int) -> Report | None:
        """A provider's figure put beside our own for the newest view; None if nothing was handed out yet."""
        return None if self.sent is None else Report(tokens, self.sent.middle, self.sent.upper, answer)

    def overflow(self, limit: int | None) -> Overflowed | None:
        """The event to record when a provider refused the newest view; None if nothing was handed out yet."""
        if self.sent is None:
            return None
        return Overflowed(self.name, self.meter.total(self.sent, self.budget).upper, limit)

    # -- telling --

    def _refusals(self, draft: Draft) -> list[Event]:
        return [
            (events.EDIT_REFUSED, {"lane": self.name, "strategy": edit.by, "edit": repr(edit)})
            for edit in draft.refused
        ]

    def _rules_left_out(self, draft: Draft) -> list[Event]:
        lost = _rules_aside(draft.view.plan) - _rules_aside(draft.before.plan)
        return [(events.RULES_LEFT_OUT, {"lane": self.name, "rules": len(lost)})] if lost else []

    def _reports(self, draft: Draft, used: int, after: int, goals: Goals) -> list[Event]:
        done = self._compaction(draft, used, after, goals)
        reports = [events.compacting(events.PRE_COMPACT, self.name, done.before_messages, used)]
        expired = sum(1 for piece in draft.before.pieces if piece.key[1] == EPHEMERAL) - len(draft.fresh)
        if expired:
            reports.append((events.EPHEMERAL_EXPIRED, {"lane": self.name, "messages": expired}))
        reports.append(
            (
                events.COMPACTION,
                {
                    "lane": self.name,
                    "plan": draft.view.plan.number,
                    "before_tokens": used,
                    "after_tokens": after,
                    "before_messages": done.before_messages,
                    "after_messages": done.after_messages,
                    "messages_removed": done.removed,
                    "messages_truncated": done.shortened,
                    "user_messages_stubbed": 0,
                    "system_messages_preserved": draft.history.leading,
                    "strategy_level": _level(draft.view.plan),
                    "strategies": dict(Counter(edit.by for edit in draft.view.plan.edits)),
                    "budget": goals.budget,
                    "target_tokens": goals.target,
                },
            )
        )
        reports.append(events.compacting(events.POST_COMPACT, self.name, done.after_messages, after))
        self.last_compaction = done
        return reports

    def _compaction(self, draft: Draft, used: int, after: int, goals: Goals) -> Compaction:
        before, view = draft.before, draft.view
        shown = {piece.key for piece in view.pieces}
        removed = sum(len(piece.messages) for piece in before.pieces if piece.group and piece.key not in shown)
        shortened = sum(1 for edit in view.plan.edits if not isinstance(edit, GAPS))
        return Compaction(
            self.name, used, after, len(before.flat), len(view.flat), removed, shortened, goals.target, goals.budget
        )

    def _too_large(self, now: Situation, draft: Draft, needed: int) -> BudgetError:
        history = now.history
        leading = {entry.seq for entry in history.branch[: history.leading]}
        sums: Counter[str] = Counter()
        for piece in draft.view.pieces:
            if piece.group is None:
                kind = "system prompt and notices"
            elif not history.protected.isdisjoint(piece.group.members):
                kind = "pinned or critical messages"
            elif piece.group.first in leading:
                kind = "leading system messages"
            else:
                kind = "first and last user message and the newest group, cut as far as may be"
            sums[kind] += piece.estimate.upper
        parts = "; ".join(f"{name} {tokens:,}" for name, tokens in sums.most_common())
        why = f", since the provider refused a request of {self._refused.tokens:,} tokens" if self._refused else ""
        return BudgetError(
            f"what must stay needs {needed:,} tokens, the budget is {draft.goals.budget:,}{why} "
            f"({parts}; outside the messages {self.meter.overhead(draft.goals.budget):,}): "
            "raise token_budget or max_tokens, unpin messages, or shorten the system prompt"
        )


def _rules_aside(plan: Plan) -> set[str]:
    """Users' rules that the digest keeps aside and tells nowhere, not as a line either, of messages that are out."""
    gaps = list(plan.gaps())
    aside = {note.text for note in plan.digest.spare if note.kind == "rule" and covers(gaps, note.first)}
    told = "\n".join(note.text for note in plan.digest.notes if note.kind != "turn") if aside else ""
    return {rule for rule in aside if rule not in told}


def _level(plan: Plan) -> int:
    """How harsh the plan is, from 1 (parts cut) over 2 (parts masked) to 3 (messages left out)."""
    return max((1 if isinstance(edit, Clip) else 2 if isinstance(edit, Mask) else 3 for edit in plan.edits), default=0)
