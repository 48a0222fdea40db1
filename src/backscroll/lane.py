"""One line of requests that shares a plan: its view, its meter, and the decision whether to compact. Pure.

Between triggers a lane keeps its plan, so that each view extends the one before. At a trigger it runs the ladder once
and records the new plan as an event; applying that event is the only way in which a lane's plan changes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from backscroll import events
from backscroll.budget import NO_LIMITS, Limits, Options
from backscroll.compaction.batch import Prices, batch
from backscroll.compaction.draft import Draft, Goals, newest_seq
from backscroll.compaction.ladder import compact, crowded
from backscroll.compaction.preview import arrivals, preview, shown_whole
from backscroll.compaction.window import Strategy, floor_seqs, look, spare
from backscroll.compaction.wish import Wish, chosen_by, fold
from backscroll.families import counting_of
from backscroll.history import History
from backscroll.log import (
    Overflowed,
    PlanAt,
    PlanRecorded,
    Requested,
    Settled,
)
from backscroll.plan import GAPS, Note, Plan, covers, hidden, without
from backscroll.ports import Event
from backscroll.reporting import (
    Compaction,
    Trigger,
    attachments_left_out,
    refusals,
    reports_of,
    rules_left_out,
    too_large,
    too_large_as_measured,
)
from backscroll.standing import Standing
from backscroll.staying import staying, won_little
from backscroll.summaries import Order, Summaries
from backscroll.turns import Group
from backscroll.upcoming import may_try, next_order, worth_telling
from backscroll.usage import Estimate, Report
from backscroll.view import Ephemeral, View

LOOK_AGAIN = 0.9  # of a batch: after a look that found too little, a tenth more has to come before the next
WORTH = 0.05  # a compaction that wins less than this share of the room costs more in rewritten cache than it saves
REFUSED = 0.8  # of a request that a provider refused as too long: the next may be no longer than that
MEASURED_TRIES = 6  # of a budget for which a view holds the budget in the caller's measure
MEASURED_SLACK = 0.97  # cut a little deeper than asked, so that one further try is mostly enough
ENOUGH = 0.5  # of what a compaction is meant to win: so much has to come before the next, as long as the view fits
STAYS, BETTER = 0.85, 0.80  # of the budget: from the one on what must stay is too much, below the other it is better
EARLY = 0.5  # of the way from target to threshold: a summary is begun there, and a lane with a cold cache compacted


class Situation(NamedTuple):
    """What a lane decides on, besides its own state."""

    history: History
    options: Options
    strategies: Sequence[Strategy]
    ephemerals: Sequence[Ephemeral]
    prompt: str | None
    prices: Prices | None = None
    """Prices by which batches of old results are masked; None = they are not."""
    seconds: float | None = None
    """When it is, by a clock that only goes forward; None where nobody knows."""
    limits: Limits = NO_LIMITS
    """What the caller asks of this request in addition to its budget."""


class Fitted(NamedTuple):
    """What came of deciding on a lane. Nothing of it holds before `Lane.take` gets it, with its event recorded."""

    event: PlanRecorded | Settled | None
    """To be recorded, if anything is."""
    reports: list[Event]
    view: View | None = None
    """Under the plan that the event records."""
    expired: int = 0
    """Ephemeral messages with a lower number are not in it."""
    compaction: Compaction | None = None
    little: bool | None = None
    """Whether so much must stay that this won too little; None where that is not known."""


NOTHING_DUE = Fitted(None, [])


class Lane(Standing):
    """Decides whether to compact, and takes in what was added."""

    # -- keeping up --

    def missing(self, now: Situation) -> list[int]:
        """What `refresh` will need and the history does not hold."""
        history, view = now.history, self.view
        if history.let_go_of < 0:
            return []
        if view is not None and self._goes_on(view, now):
            return history.missing(view.newer(history))
        return history.missing(seq for seq, _ in history.outside(self.plan.gaps()))

    def _goes_on(self, view: View, now: Situation) -> bool:
        return view.plan is self.plan and view.prompt == now.prompt and view.current(now.history)

    def _shown_of(self, ephemerals: Sequence[Ephemeral]) -> list[Ephemeral]:
        """Those that did not expire."""
        return [found for found in ephemerals if found.number >= self.expired] if ephemerals else []

    def refresh(self, now: Situation) -> list[Event]:
        """Brings the view up to date with the history; answers what has to be reported."""
        history, view = now.history, self.view
        ephemerals = self._shown_of(now.ephemerals)
        reports: list[Event] = []
        if view is not None and self._goes_on(view, now):
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
        if view.changes:
            for change, seq in view.changes:
                name = events.LATE_RESULT if change == "late result" else events.UNANSWERED_CALL
                reports.append((name, {"lane": self.name, "seq": seq}))
            view.changes.clear()
        return reports

    def restore(self, history: History) -> list[Event]:
        """Messages that were pinned, or became the user's last or the newest in a rewind, come back whole."""
        protected, gaps, rewritten = history.protected, list(self.plan.gaps()), self.plan.rewritten()
        floor = floor_seqs(history) | history.newest_seqs
        groups = [group for seq in sorted(floor) if (group := history.group_of(seq))]
        lost = {seq for group in groups if covers(gaps, group.first) for seq in group.members}
        lost |= {seq for seq in protected if seq in rewritten}
        return self._bring_back(sorted(lost))

    def readmit(self, group: Group) -> list[Event]:
        """A result came late for a call that was left out: the model has not seen it, so both come back."""
        edits = self.plan.edits
        if not edits or group.first > (edits[-1].last if isinstance(edits[-1], GAPS) else edits[-1].seq):
            return []  # nothing that new is left out: nearly always
        gaps = list(self.plan.gaps())
        return self._bring_back(group.members) if any(covers(gaps, seq) for seq in group.members) else []

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

    def due(self, now: Situation, budget: int, force: bool = False) -> Callable[[], Fitted] | None:
        """What has to be done before the view is sent, if anything has: it reads what the view shows and changes
        nothing, so that it may run anywhere while the lane is held. Raises `BudgetError` if the floor does not fit.

        `force`: compact down to the target although no trigger asks for it.
        """
        goals, used = self._goals(now, budget)
        limits = now.limits
        if self._little and used < BETTER * goals.budget:
            self._little = 0
        if limits is not NO_LIMITS:
            exact = goals.exactly() if limits.hard else goals
            if (
                self._is_due(now, exact, used)
                or hidden(self.plan, limits.retain)
                or self._measured(now, self.view, budget) > budget
            ):
                return partial(self._fit_limited, now, budget, exact, used)
            if limits.hard:
                return None
        elif force or self._is_due(now, goals, used):
            return partial(self._fit, now, goals, used, force)
        if self._arrived(now, goals) or self._batch_due(now, used):
            return partial(self._fit_results, now, goals, used)
        return None

    def take(self, fitted: Fitted) -> None:
        """The lane's view is the one that was made for a plan, which holds from now on."""
        if fitted.little is not None:
            self._little = self._little + 1 if fitted.little else 0
        if fitted.view is not None:
            self.view, self.expired, self.last_compaction = fitted.view, fitted.expired, fitted.compaction

    def _fit(self, now: Situation, goals: Goals, used: int, force: bool) -> Fitted:
        draft, previewed = self._compacted(now, goals)
        return self._decide(now, draft, used, self._trigger(now, goals, used, force), force=force or previewed)

    def _fit_limited(self, now: Situation, budget: int, goals: Goals, used: int) -> Fitted:
        """The same where the caller asks for more than a budget."""
        limits = now.limits
        over = self._measured(now, self.view, budget) > budget
        back = bool(hidden(self.plan, limits.retain))
        draft, measured = self._compacted_in_both(now, goals, budget, used)
        if limits.hard and measured > budget:
            raise too_large_as_measured(measured, budget)
        trigger: Trigger = "threshold" if over else self._trigger(now, goals, used, force=False)
        if back and not over and used <= goals.threshold:
            trigger = "retained"
        return self._decide(now, draft, used, trigger, force=True, budget=goals.budget)

    def _compacted_in_both(self, now: Situation, goals: Goals, budget: int, used: int) -> tuple[Draft, int]:
        """The draft that holds the budget in the caller's measure too, else the smallest that holds it in ours; and
        what it takes in the caller's. A budget in that measure is a smaller one in ours, which is found by trying.
        """
        asked, measured = goals, self._measured(now, self.view, budget)
        if measured > budget:
            goals = self._scaled(now, goals, used / measured)
        best: tuple[Draft, int] | None = None
        for _ in range(MEASURED_TRIES):
            draft, _ = self._compacted(now, goals)
            measured = self._measured(now, draft.view, budget)
            after = draft.settle()
            if after <= asked.budget and (best is None or measured < best[1]):
                best = draft, measured
            if measured <= budget or after > goals.budget:
                break
            goals = self._scaled(now, goals, MEASURED_SLACK * min(1.0, budget * after / measured / goals.budget))
        return best or (draft, measured)

    def _measured(self, now: Situation, view: View | None, budget: int) -> int:
        """What a view takes in the caller's measure; as much as it may where there is none."""
        assert view is not None
        measure = now.limits.measure
        return budget if measure is None else measure(view.written())

    def _scaled(self, now: Situation, goals: Goals, share: float) -> Goals:
        budget = max(1, int(goals.budget * min(1.0, share)))
        if now.limits.hard:
            return Goals(budget, budget, budget)
        return Goals.of(budget, self.meter.overhead(budget), now.options)

    def _compacted(self, now: Situation, goals: Goals) -> tuple[Draft, bool]:
        """A draft that was taken down to these goals, and whether results were previewed in it."""
        draft = self._draft(now, goals)
        edits = arrivals(draft.window, now.options.previews, now.history.protected | draft.retain)
        draft.apply(edits)
        if draft.used > goals.threshold or not hidden(self.plan, now.limits.retain):
            compact(draft, now.strategies, now.options)
        return draft, bool(edits)

    def _trigger(self, now: Situation, goals: Goals, used: int, force: bool) -> Trigger:
        if force or used > goals.threshold:
            return "asked" if force else "threshold"
        return "cold cache" if self._is_cold(now) else "messages"

    def leave_out(self, now: Situation, wish: Wish) -> Fitted:
        """The plan to record that leaves out what somebody asks for, within the budget of the request before."""
        goals, used = self._goals(now, self.budget)
        draft = self._draft(now, goals)
        draft.apply(fold(draft.window, wish))
        return self._decide(now, draft, used, "asked", force=True)

    def preview(self, now: Situation) -> tuple[int, Compaction]:
        """From how many tokens on a request is compacted, and what that would do now. Changes nothing."""
        goals, used = self._goals(now, self.budget)
        draft = self._draft(now, goals)
        compact(draft, now.strategies, now.options)
        return goals.threshold, Compaction.of(self.name, draft, used, draft.settle(), "asked")

    def is_due(self, now: Situation, budget: int) -> bool:
        """Whether a request now would start a compaction down to the target."""
        return self._is_due(now, *self._goals(now, budget))

    def allowed(self, budget: int) -> int:
        """What a request of this budget may take: less where the provider refused a shorter one."""
        refused = self._refused
        return budget if refused is None else min(budget, refused.limit or int(refused.tokens * REFUSED))

    def _goals(self, now: Situation, budget: int) -> tuple[Goals, int]:
        """What to come down to, and what the request takes as it is."""
        budget = self.allowed(budget)
        return Goals.of(budget, self.meter.overhead(budget), now.options), self.used(budget).upper

    def _is_due(self, now: Situation, goals: Goals, used: int) -> bool:
        """Over the threshold, and by half of what a compaction is meant to win over where the last one ended: where so
        much must stay that it ended high, the next one waits until it has something to win, or the view would not fit.

        Where the provider's cache is cold, the whole request is paid in full whatever it holds, and a compaction that
        would come soon costs nothing but itself: then half of the way to the threshold is enough.
        """
        assert self.view is not None
        room = goals.budget - self.meter.overhead(goals.budget)
        cold = self._is_cold(now)
        threshold, least = (_early(goals), WORTH * room) if cold else (goals.threshold, _enough(goals, room))
        if used > goals.budget or (used > threshold and used > self._settled + least):
            return True
        return crowded(self.view, now.options) and len(self.view.flat) > self._settled_messages * (1 + WORTH)

    def _is_cold(self, now: Situation) -> bool:
        """Whether the provider has forgotten the newest view by now. What was asked before a resume is not known."""
        if now.prices is None or now.seconds is None or self._asked is None:
            return False
        return now.seconds - self._asked >= now.prices.cache_lifetime

    def _arrived(self, now: Situation, goals: Goals) -> bool:
        """Whether a new result may be too large to be shown whole even once."""
        assert self.view is not None
        room = goals.budget - self.meter.overhead(goals.budget)
        return shown_whole(self.view, now.history, room, now.options.previews)

    def _batch_due(self, now: Situation, used: int) -> bool:
        """The second trigger: looked at when the view has grown by a batch, or by a tenth of one since it was."""
        least = now.options.min_batch_tokens
        return now.prices is not None and least is not None and used - self._batched >= least

    def _fit_results(self, now: Situation, goals: Goals, used: int) -> Fitted:
        """New results that are too large, or else old ones that are worth a batch."""
        found = self._fit_arrivals(now, goals, used) if self._arrived(now, goals) else None
        if found is None and self._batch_due(now, used):
            found = self._fit_batch(now, goals, used)
        return found or NOTHING_DUE

    def _fit_arrivals(self, now: Situation, goals: Goals, used: int) -> Fitted | None:
        """Results too large to be shown whole even once; None where there are none."""
        draft = self._draft(now, goals, regrow=False)
        edits = arrivals(draft.window, now.options.previews, now.history.protected | draft.retain)
        if not edits:
            return None
        draft.apply(edits)
        return self._recorded(now, draft, used, draft.settle(), "arrival")

    def _fit_batch(self, now: Situation, goals: Goals, used: int) -> Fitted:
        """Old results masked for their price."""
        least = now.options.min_batch_tokens
        assert now.prices is not None
        assert least is not None
        draft = self._draft(now, goals, regrow=False)
        previews = now.options.previews
        make = None if previews is None else partial(preview, draft.window, previews)
        spared, cold = now.options.protected_results, self._is_cold(now)
        edits = batch(draft.window, least, now.prices, spared, make, cold=cold)
        if not edits:
            return Fitted(Settled(self.name, used - int(least * LOOK_AGAIN), len(draft.before.flat), batch=True), [])
        draft.apply(edits)
        after = draft.settle()
        return self._recorded(now, draft, used, after, "batch")

    def _draft(self, now: Situation, goals: Goals, *, regrow: bool = True) -> Draft:
        assert self.view is not None
        fresh = [found for found in now.ephemerals if found.number >= max(self.expired, self._shown)]
        return Draft(
            now.history, self.view, self.meter, goals, self._around,
            fresh=fresh, regrow=regrow, prose=self._prose(), retain=now.limits.retain,
        )  # fmt: skip  # one thought

    def order(
        self, now: Situation, budget: int, summaries: Summaries, focus: str | None = None, wish: Wish | None = None
    ) -> Order | None:
        """The summary to have made of what the next compaction will fold; None where it is too early for that, where
        one is ready, or where several failed and there is little new. A `focus` is always asked for.
        """
        goals, used = self._goals(now, budget)
        if self.view is None or (self.summary is not None and focus is None):
            return None
        room = goals.budget - self.meter.overhead(goals.budget)
        may = may_try(self.tried, self.compactions, self.plan.digest.told, room)
        if focus is None and wish is None and (used < _early(goals) or not may):
            return None
        window = look(now.history, self.view, room, self._around)
        spare(window, int(window.budget * now.options.protected_recent), now.options.protected_results)
        tokens = max(goals.threshold, used) - goals.target
        leaving = worth_telling(window, tokens) if wish is None else chosen_by(window, wish)
        newest, room = now.history.newest, window.summary_room()
        pending = newest is not None and newest.open_calls > 0
        return next_order(self.name, self.view, leaving, room=room, summaries=summaries, focus=focus, pending=pending)

    def _prose(self) -> Note | None:
        found = self.summary
        return None if found is None else Note(found.first, found.last, "prose", found.text, found.by)

    def _decide(
        self, now: Situation, draft: Draft, used: int, trigger: Trigger, *, force: bool, budget: int | None = None
    ) -> Fitted:
        """`budget`: what must hold; by default what the draft was made for."""
        budget, room = draft.goals.budget if budget is None else budget, draft.room
        after = draft.settle()
        reports = refusals(self.name, draft)
        if after > budget:
            raise too_large(draft, after, self.meter.overhead(budget), self._refused)
        little: bool | None = None
        if trigger == "threshold":
            little, more = self._wins_little(draft, used - after, after)
            reports += more
        unchanged = draft.view.plan.edits == draft.before.plan.edits
        poor = used - after < WORTH * room and not crowded(draft.before, now.options)
        if used <= budget and (unchanged or (not force and poor)):
            event = None if force else Settled(self.name, used, len(draft.before.flat))
            return Fitted(event, reports, little=little)
        made = self._recorded(now, draft, used, after, trigger)
        return made._replace(reports=reports + made.reports, little=little)

    def _wins_little(self, draft: Draft, won: int, after: int) -> tuple[bool | None, list[Event]]:
        """Whether so much must stay that it won too little, None where that is hard to say; reported the second time,
        and then not again before it was better.
        """
        goals, stays = draft.goals, staying(draft, after)
        if stays.tokens < BETTER * goals.budget:
            return False, []
        enough = _enough(goals, draft.room) * goals.budget / max(1, draft.room)  # also where the overhead takes it all
        if stays.tokens < STAYS * goals.budget or won >= enough:
            return None, []
        return True, [won_little(self.name, stays, goals.budget)] if self._little == 1 else []

    def _recorded(self, now: Situation, draft: Draft, used: int, after: int, trigger: Trigger) -> Fitted:
        done = Compaction.of(self.name, draft, used, after, trigger)
        reports = [*reports_of(done, draft), *rules_left_out(self.name, draft)]
        reports += attachments_left_out(self.name, draft)
        expired = max((found.number + 1 for found in now.ephemerals), default=self.expired)
        expired = min((found.number for found in draft.fresh), default=expired)
        view = draft.view
        event = PlanRecorded(self.name, view.plan, draft.removed(), after, len(view.flat))
        return Fitted(event, reports, view, expired, done)

    @property
    def earlier(self) -> Plan | PlanAt | None:
        """The plan before the newest compaction; None where there is none."""
        return self._before[-1] if self._before else None

    def undo(self, now: Situation, budget: int, earlier: Plan) -> PlanRecorded:
        """The event that brings back the plan before the newest compaction."""
        plan = replace(earlier, number=self.plan.number + 1, last=newest_seq(now.history))
        old = self.view
        view = View.build(now.history, plan, self._around, prompt=now.prompt, reuse=old)
        kept = {id(piece.messages) for piece in view.pieces}
        gone = [piece.estimate for piece in old.pieces if id(piece.messages) not in kept] if old else []
        removed = (sum(estimate.middle for estimate in gone), sum(estimate.upper for estimate in gone))
        after = self.meter.total(view.estimate, budget).upper
        return PlanRecorded(self.name, plan, removed, after, len(view.flat), undone=True)

    def hand_out(self, budget: int, now: Situation, prompt: str | None) -> Requested:
        """The event that a view is handed out; `prompt` is the digest of its system prompt."""
        assert self.view is not None
        shown = self._shown_of(now.ephemerals)
        self._shown = now.ephemerals[-1].number + 1 if now.ephemerals else self._shown
        self._sent_messages, self._asked = len(self.view.flat), now.seconds
        last = now.history.last
        passing = tuple([(found.after, found.digest, found.reading.role) for found in shown])
        counting = counting_of(self.family)
        return Requested(
            self.name, budget, self.plan.number, last.seq if last else -1, self.view.estimate, prompt, passing,
            self.used(budget), None if counting == self.counting else counting,
        )  # fmt: skip  # one thought

    def report(self, tokens: int, answer: int) -> Report | None:
        """A provider's figure put beside our own for the newest view; None if nothing was handed out yet."""
        return None if self.sent is None else Report(tokens, self.sent.middle, self.sent.upper, answer)

    def overflow(self, limit: int | None) -> Overflowed | None:
        """The event to record when a provider refused the newest view; None if nothing was handed out yet."""
        if self.sent is None:
            return None
        return Overflowed(self.name, self.meter.total(self.sent, self.budget).upper, limit)


def _enough(goals: Goals, room: int) -> float:
    """What a compaction has to win, so that it is not one that is soon followed by the next."""
    return max(WORTH * room, ENOUGH * (goals.threshold - goals.target))


def _early(goals: Goals) -> float:
    return goals.target + (goals.threshold - goals.target) * EARLY
