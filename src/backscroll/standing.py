"""Where a lane stands: everything that follows from its events. Nothing here looks at messages or decides anything."""

from collections import deque
from dataclasses import replace

from backscroll.budget import Options
from backscroll.families import Counting, family_that_counts
from backscroll.log import (
    LaneMark,
    Overflowed,
    PlanAt,
    PlanRecorded,
    Requested,
    Settled,
    SummaryFailed,
    SummaryMade,
    Tried,
    UsageObserved,
)
from backscroll.plan import Plan, until
from backscroll.reported_usage import ReportedUsage
from backscroll.reporting import Compaction
from backscroll.usage import Estimate, Meter, Spent
from backscroll.view import Surroundings, View

_UNDO_DEPTH = 32


class Standing:
    """A lane's state. Everything that must survive a restart comes from events."""

    def __init__(self, name: str, around: Surroundings, options: Options, plan: Plan) -> None:
        self.name = name
        self.family = around.family
        self.counting: Counting | None = None
        """How the lane counts, as its requests say."""
        self.plan = plan
        self.meter = Meter(options.overhead_tokens)
        self.reported = ReportedUsage(name)
        self.budget = options.max_tokens
        self.compactions = 0
        self.expired = 0
        """Ephemeral messages with a lower number are no longer shown."""
        self.sent: Estimate | None = None
        """The estimate of the newest view that was handed out: what a usage report is about."""
        self.prompt: str | None = None
        """Digest of the system prompt of the newest request."""
        self._around = around
        self._before: deque[Plan | PlanAt] = deque(maxlen=_UNDO_DEPTH)
        self._settled = self._batched = self._settled_messages = 0
        self._refused: Overflowed | None = None
        """What the provider refused last as too long."""
        self._guessed = False
        """Whether nothing was known then of what stands outside the messages."""
        self.summary: SummaryMade | None = None
        """A model's summary that no compaction has told of yet."""
        self.spent = Spent(0, 0, 0, 0)
        self.tried = Tried()
        self._little = 0
        """How many compactions won too little since it was better, as nearly all of the budget must stay."""
        self._sent_messages = 0
        self._shown = 0
        """Ephemeral messages with a lower number were shown at least once."""
        self._asked: float | None = None
        """When the newest view was handed out."""
        self.view: View | None = None
        self.last_compaction: Compaction | None = None

    # -- events of this lane --

    def recorded(self, event: PlanRecorded) -> None:
        """A new plan holds from now on."""
        if event.undone:
            if self._before:  # else what it undoes was lost
                self._before.pop()
        else:
            self._before.append(self.plan)
            self.compactions += 1
        self.plan = event.plan
        if event.plan.digest.told < self.tried.folded:  # undone, or planned anew: what is folded again is not new
            self.tried = self.tried._replace(folded=event.plan.digest.told)
        if self.summary and any(
            note.kind == "prose" and note.last >= self.summary.last for note in event.plan.digest.notes
        ):
            self.summary = None
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
        self._before = deque((_cut(plan, to) for plan in self._before), maxlen=_UNDO_DEPTH)
        self._settled = self._batched = self._settled_messages = 0
        self.sent = None
        if self.summary is not None and self.summary.last > to:
            self.summary = None
        self.meter.forget()

    def summarised(self, event: SummaryMade) -> None:
        """A summary is ready for the next compaction."""
        self.summary, self.tried = event, Tried()
        self.spent = self.spent.plus(1, 0, event.input_tokens, event.output_tokens)

    def not_summarised(self, event: SummaryFailed) -> None:
        """There is none; the digest serves."""
        self.tried = Tried(self.tried.failures + 1, event.last, self.compactions, self.plan.digest.told)
        self.spent = self.spent.plus(0, 1, event.input_tokens, event.output_tokens)

    def requested(self, event: Requested) -> None:
        """A view was handed out: usage reports are about it."""
        self.budget, self.sent, self.prompt = event.budget, Estimate(*event.estimate), event.prompt
        if event.counting is not None:
            self._count_as(event.counting)

    def _count_as(self, counting: Counting) -> None:
        self.counting = counting
        if self._around.adopts:
            self.family, self.view = family_that_counts(counting), None
            self._around = replace(self._around, family=self.family)

    def mark(self) -> LaneMark:
        """Where it stands, for `resume`."""
        refused = (self._refused.tokens, self._refused.limit) if self._refused else None
        return LaneMark(
            self.name, self.plan, tuple(self._before), self._settled, self._batched, self._settled_messages,
            self.compactions, self.budget, self.sent, refused, self._guessed, self.prompt,
            self.summary, self.spent, self.tried, self.meter.mark(), self.counting,
        )  # fmt: skip  # one thought

    def resume(self, mark: LaneMark) -> None:
        """Goes on where it stood; the plan is given at its making."""
        self._before.extend(mark.before)
        self._settled, self._batched, self._settled_messages = mark.settled, mark.batched, mark.settled_messages
        self.compactions, self.budget, self._guessed = mark.compactions, mark.budget, mark.guessed
        self.prompt, self.summary, self.spent, self.tried = mark.prompt, mark.summary, mark.spent, Tried(*mark.tried)
        self.sent = None if mark.sent is None else Estimate(*mark.sent)
        self._refused = None if mark.refused is None else Overflowed(self.name, *mark.refused)
        self.meter.restore(mark.meter)
        if mark.counting is not None:
            self._count_as(mark.counting)


def _cut(plan: Plan | PlanAt, to: int) -> Plan | PlanAt:
    """A plan without what it says of entries behind `to`."""
    if isinstance(plan, Plan):
        return until(plan, to)
    return replace(plan, until=to if plan.until is None else min(plan.until, to))
