"""The state of one lane: its plan, its view, and the effects of compactions, usage reports and summaries.

A lane is a sequence of requests that share one plan and one prompt cache, usually one per model. All state that must
survive a restart follows from events; the rest is marked below. `policy.py` decides on this state.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from backscroll import events
from backscroll.compaction.floor import floor_seqs
from backscroll.compaction.result import CompactionResult
from backscroll.history.groups import MOST_OPEN, MessageGroup
from backscroll.history.history import History
from backscroll.history.log import (
    CompactionSkipped,
    Foreseen,
    HealingBegun,
    LaneEvent,
    LaneSnapshot,
    NativeMade,
    Overflowed,
    PlanAt,
    PlanRecorded,
    RequestRecorded,
    SummaryFailed,
    SummaryMade,
    ToolsOffered,
    Tried,
    UsageObserved,
)
from backscroll.history.plan import GAPS, Native, Plan, only_restates, same_until, without
from backscroll.history.ranges import SeqRange, covers, united, up_to
from backscroll.history.recall_wording import RecallWording
from backscroll.history.rewound_plan import until
from backscroll.messages import holds_compaction
from backscroll.messages.heal_rules import HealRule
from backscroll.ports import Notification
from backscroll.tokens.model_profiles import Counting, ModelProfile, counting_of, family_that_counts
from backscroll.tokens.reported_usage import ReportedUsage
from backscroll.tokens.request_media import RequestMedia
from backscroll.tokens.usage import Estimate, Report, SummarizerUsage, UsageCalibrator
from backscroll.view.context import RenderContext
from backscroll.view.view import View

REFUSED = 0.8  # of a request that a provider rejected as too long: the limit of the next one
BETTER = 0.80  # of the budget: a request below this no longer suffers from compactions that win too little
GROWN = 1.5  # times the budget that a plan was made for: then it leaves out far more than it has to
_UNDO_DEPTH = 32
NOTHING_SPENT, NOT_TRIED = SummarizerUsage(0, 0, 0, 0), Tried()


@dataclass(slots=True, eq=False)
class LaneState:
    """The state of a lane."""

    name: str
    around: RenderContext
    plan: Plan
    calibrator: UsageCalibrator
    budget: int
    """Tokens that its newest request was allowed; before the first one, those of the options."""
    family: ModelProfile = field(init=False)
    own_counting: Counting = field(init=False)
    """How the lane counts here."""
    counting: Counting | None = None
    """How its stored requests say that it counts."""
    reported: ReportedUsage = field(init=False)
    compactions: int = 0
    expired: int = 0
    """Ephemeral messages with a lower number are no longer shown."""
    sent: Estimate | None = None
    """The estimate of the newest view that was sent, to which usage reports refer."""
    prompt: str | None = None
    """SHA-256 of the system prompt of the newest request."""
    settled: int = 0
    batched: int = 0
    settled_messages: int = 0
    """Tokens and messages of the view when a compaction, or a batch of old results, was last considered."""
    refused: Overflowed | None = None
    """The request that the provider last rejected as too long."""
    summary: SummaryMade | None = None
    """A model's summary that no compaction has used yet."""
    native: NativeMade | None = None
    """A provider's compaction that no plan has used yet."""
    spent: SummarizerUsage = NOTHING_SPENT
    tried: Tried = NOT_TRIED
    stale: tuple[SeqRange, ...] = ()
    """Entries whose reasoning was made over something that the view no longer shows, or shows otherwise. The next plan
    removes it.
    """
    foreseen: Foreseen | None = None
    """What will soon be due, and is prepared. Anything but an append ends it."""
    passing: tuple[tuple[int, str, str], ...] = ()
    """Messages in its newest request that are never stored, as in `RequestRecorded.ephemerals`."""
    planned_for: int | None = None
    """Tokens of the first request under its plan. `None`: there was none yet."""
    apart: int = 0
    """As in `LaneSnapshot.apart`."""
    marked: tuple[int, int] | None = None
    """Whether its newest request bears marks for a prompt cache, as in `RequestRecorded.marked`."""
    sent_to: int = 0
    """Entries with a lower `seq` were in its newest request."""
    sent_before: int = 0
    """The same for the request before that one."""
    tools: ToolsOffered | None = None
    """The tools of its newest request, or of the one in progress. `None`: there never were any."""
    recorded_tools: ToolsOffered | None = None
    """Those of the newest request that is recorded."""
    requested: bool = False
    """True once a view was sent, here or in the lane from whose plan it started."""
    _before: deque[Plan | PlanAt] = field(default_factory=lambda: deque(maxlen=_UNDO_DEPTH))
    _newly_planned: bool = False
    _guessed: bool = False
    """Whether nothing was known of the overhead when the provider rejected a request."""

    # State of this process only: a reopened lane starts with these values.
    preparing: Callable[[], Any] | None = None
    """Waits for the plan that is prepared. `None`: none is."""
    native_tried: Tried = NOT_TRIED
    """Failed native compactions."""
    view: View | None = None
    unlike_sent: tuple[SeqRange, ...] = ()
    """Entries whose reasoning would be `stale` if a request were sent now, because of the present system prompt or of
    what this process has not got.
    """
    ends_with_answer: bool = False
    """True once it was reported that a request ends with the model's own text, which the model refuses."""
    healed: set[tuple[int, HealRule]] | None = field(default_factory=set)
    """What was reported as healed: messages by `seq`, and the rule of each. `None`: nothing is, for a lane that only
    shows what would be sent.
    """
    last_compaction: CompactionResult | None = None
    little: int = 0
    """Consecutive compactions that freed too little, because nearly all of the budget is required."""
    media_left: RequestMedia | None = None
    """Media that exceed the provider's limits although nothing more could be cleared. `None`: none do."""
    sent_messages: int = 0
    """Messages of the newest view that was sent."""
    shown: int = 0
    """Ephemeral messages with a lower number were shown at least once."""
    handed_out_plan: int | None = None
    """Number of the plan of the newest view that was sent."""
    moved: bool = False
    """Whether the view changed otherwise than by its plan since the newest view was sent."""
    changed: frozenset[str] = frozenset()
    """What of the newest request differs on purpose from the one before: `system`, `tools`, `messages`."""
    asked: float | None = None
    """When the newest view was sent, in seconds of the session's clock."""

    def __post_init__(self) -> None:
        """Set up the counting by the surroundings."""
        self.family, self.reported = self.around.family, ReportedUsage(self.name)
        self.own_counting = counting_of(self.family)

    def __repr__(self) -> str:
        """Return its plan and how full its newest request was, in a line."""
        tokens = 0 if self.sent is None else self.sent.expected
        return f"<lane {self.name}: plan {self.plan.number}, {tokens:,.0f}/{self.budget:,} tokens>"

    # -- events of this lane --

    def apply(self, event: LaneEvent) -> None:
        """Apply one event of this lane."""
        match event:
            case PlanRecorded():
                self._recorded(event)
            case CompactionSkipped():
                self._settled(event)
            case UsageObserved():
                self._observed(event)
            case Overflowed():
                self._overflowed(event)
            case HealingBegun():
                self._begin_healing()
            case RequestRecorded():
                self._requested(event)
            case SummaryMade():
                self._summarised(event)
            case SummaryFailed():
                self._not_summarised(event)
            case NativeMade():
                self._compacted_natively(event)

    def _recorded(self, event: PlanRecorded) -> None:
        """Adopt a new plan. One that only shows again what results refer to is no compaction: the view grew by it, and
        the next compaction is as near as before.
        """
        grows = not event.undone and only_restates(self.plan, event.plan)
        if event.undone:
            if self._before:  # else the plan that it undoes was lost
                self._before.pop()
        elif not grows:
            self._before.append(self.plan)
            self.compactions += 1
        if self.native is not None and not same_until(self.plan, event.plan, self.native.last):
            self.native = None  # it is used, or represents what was not sent like this
        self.plan = event.plan
        if event.plan.digest.covered_tokens < self.tried.folded:  # undone: digesting it again is not new
            self.tried = self.tried._replace(folded=event.plan.digest.covered_tokens)
        if self.summary and any(
            note.kind == "prose" and note.last >= self.summary.last for note in event.plan.digest.notes
        ):
            self.summary = None
        self.stale = self.unlike_sent = self.passing = ()  # the plan says what it leaves out
        self._end_foresight()
        if not grows:
            self.planned_for, self._newly_planned = self.budget, True
            self.settled = self.batched = event.tokens
            self.settled_messages = event.messages
        self.calibrator.compacted(Estimate(*event.removed))

    def _settled(self, event: CompactionSkipped) -> None:
        """Note that a compaction would free too little."""
        self._end_foresight()
        if event.batch:
            self.batched = event.tokens
        else:
            self.settled, self.settled_messages = event.tokens, event.messages

    def _observed(self, event: UsageObserved) -> None:
        """Learn from a provider's count. It replaces a limit that was only guessed from a rejection."""
        self.calibrator.observe(event.report)
        if self.refused is not None:  # its view may have been short because the overhead was thought too large
            self.refused, self._guessed = None if self._guessed else replace(self.refused, sent=None), False

    def _overflowed(self, event: Overflowed) -> None:
        """Note that the provider rejected a view as too long: later requests are shorter."""
        self._end_foresight()
        self._begin_healing()
        self.refused, self._guessed = event, event.limit is None and not self.calibrator.informed

    def _begin_healing(self) -> None:
        """Heal from now on what views showed as it is."""
        if not self.plan.heals:
            self._end_foresight()
            self.plan = replace(self.plan, heals=True)

    def word_recall(self, wording: RecallWording) -> None:
        """Note how views speak of recall, unless the lane's view leaves something out: then that was said already."""
        if not self.plan.edits and self.plan.recall != wording:
            self._end_foresight()
            self.plan = replace(self.plan, recall=wording)

    def rewound(self, to: int) -> None:
        """Apply a rewind to `to`: edits of later entries have nothing to edit."""
        self.plan = until(self.plan, to)
        self._before = deque((_cut(plan, to) for plan in self._before), maxlen=_UNDO_DEPTH)
        self.settled = self.batched = self.settled_messages = 0
        self.forget_request(to)
        self.stale, self.unlike_sent = up_to(self.stale, to), up_to(self.unlike_sent, to)
        self.apart = self.apart if self.apart <= to else 0
        if self.summary is not None and self.summary.last > to:
            self.summary = None
        self._forget_native(to + 1)
        self.calibrator.forget()

    def forget_request(self, to: int) -> None:
        """Forget the newest request: what it showed behind `to` was rewound."""
        self.sent = None
        self.passing = tuple([found for found in self.passing if found[0] <= to])
        self._end_foresight()

    def _summarised(self, event: SummaryMade) -> None:
        """Keep a summary for the next compaction."""
        self._end_foresight()
        self.summary, self.tried = event, Tried()
        self.spent = self.spent.plus(1, 0, event.input_tokens, event.output_tokens)

    def _not_summarised(self, event: SummaryFailed) -> None:
        """Note a failed summary; the digest serves instead."""
        self.tried = Tried(self.tried.failures + 1, event.last, self.compactions, self.plan.digest.covered_tokens)
        self.spent = self.spent.plus(0, 1, event.input_tokens, event.output_tokens)

    def _compacted_natively(self, event: NativeMade) -> None:
        """Keep a provider's compaction for the next plan."""
        self._end_foresight()
        self.native, self.native_tried = event, Tried()
        self.spent = self.spent.plus(1, 0, event.input_tokens, event.output_tokens)

    def _forget_native(self, changed: int) -> None:
        """Forget a compaction that no plan has used, if it represents an entry from `changed` on."""
        if self.native is not None and changed <= self.native.last:
            self.native = None

    def _requested(self, event: RequestRecorded) -> None:
        """Note that a view was sent, to which usage reports will refer."""
        if self.foreseen is not None and (event.budget != self.foreseen.budget or event.prompt != self.prompt):
            self._end_foresight()
        self.budget, self.sent, self.prompt = event.budget, Estimate(*event.estimate), event.prompt
        self.requested, self.marked = True, event.marked
        if self._newly_planned or self.planned_for is None or self.has_grown(event.budget):
            self.planned_for, self._newly_planned = event.budget, False
        self.sent_before, self.sent_to = self.sent_to, event.last + 1
        if event.tools is not None:
            self.recorded_tools = event.tools
            self.offer(event.tools)
        if event.total is not None and not self.calibrator.informed:  # a reopened lane counts with it as well
            self.calibrator.outside = max(0, event.total[0] - event.estimate[0] - self.calibrator.tools)
        if event.counting is not None:
            self._count_as(event.counting)
        if event.foresees is not None:
            self.preparing = None
            self.foreseen = Foreseen(event.foresees, event.last, event.budget, self.calibrator.snapshot())

    def wait_for(self, calls: Iterable[tuple[int, int]]) -> None:
        """Note calls that the newest request showed without their results, by `seq` and number."""
        plan = self.plan
        new = sorted({*plan.waited, *calls})[-MOST_OPEN:]
        if not plan.heals or len(new) == len(plan.waited):
            return
        self.plan = replace(plan, waited=tuple(new))
        if self.view is not None and self.view.plan is plan:
            self.view.plan = self.plan

    def offer(self, tools: ToolsOffered) -> None:
        """Note the tools of the request in progress: what was learned of the overhead holds for those before it."""
        if self.tools != tools:
            self.calibrator.tools_changed(tools.tokens, tools.prompt)
            self.tools = tools
            self._end_foresight()

    def _count_as(self, counting: Counting) -> None:
        self.counting = counting
        if self.around.adopts:
            self.count_by(family_that_counts(counting))

    def count_by(self, family: ModelProfile) -> None:
        """Count by this family from now on."""
        self.family, self.view = family, None
        self._end_foresight()
        self.own_counting = counting_of(family)
        self.around = replace(self.around, family=family)

    # -- what follows from it --

    @property
    def earlier(self) -> Plan | PlanAt | None:
        """The plan before the newest compaction. `None`: there is none."""
        return self._before[-1] if self._before else None

    def has_grown(self, budget: int) -> bool:
        """Return whether a budget has room for much of what the plan left out at the budget that it was made for.

        The first request of a lane has nothing in its provider's cache, so there any growth is enough.
        """
        planned = self.planned_for
        if planned is None or budget <= planned:
            return False
        return self.counting is None or budget >= GROWN * planned

    @property
    def outdated(self) -> tuple[SeqRange, ...]:
        """Entries whose reasoning no request may show any more."""
        return united(self.stale, self.unlike_sent) if self.unlike_sent else self.stale

    def used(self, budget: int) -> Estimate:
        """Estimate the whole request under the present view, which must exist."""
        assert self.view is not None
        return self.calibrator.total(self.view.estimate, budget)

    def allowed(self, budget: int) -> int:
        """Return the tokens that a request of this budget may take: less if the provider rejected a shorter one."""
        if (refused := self.refused) is None:
            return budget
        allowed = min(budget, refused.limit or int(refused.tokens * REFUSED))
        return allowed if refused.limit else self.calibrator.filled_by(refused.sent, REFUSED, allowed)

    def report(self, tokens: int, answer: int) -> Report | None:
        """Pair a provider's figure with our own for the newest view; None if nothing was sent yet."""
        return None if self.sent is None else Report(tokens, self.sent.expected, self.sent.upper, answer)

    def overflow(self, limit: int | None) -> Overflowed | None:
        """Return the event for a rejection of the newest view; None if nothing was sent yet."""
        if self.sent is None:
            return None
        return Overflowed(self.name, self.calibrator.total(self.sent, self.budget).upper, limit, self.sent)

    def as_of(self, foreseen: Foreseen) -> "LaneState":
        """Return the lane as it was when something was foreseen, without its view, for decisions alone."""
        past = copy(self)
        past.calibrator, past.view = copy(self.calibrator), None
        past.calibrator.restore(foreseen.meter)
        return past

    # -- what comes back into the view --

    def restore_required(self, history: History) -> list[Notification]:
        """Restore what was pinned, or became the user's last message or the newest one by a rewind."""
        self._end_foresight()
        protected, gaps, rewritten = history.protected, list(self.plan.gaps()), self.plan.rewritten()
        # The plan decides whether a message is quoted, not the mode: a session may come back in another one.
        quoted = self.plan.digest.ledger is not None and not self.around.shows_users
        required = (floor_seqs(history, quoted=quoted) | history.newest_seqs) - self._represented(history)
        groups = [group for seq in sorted(required) if (group := history.group_of(seq))]
        hidden = (group for group in groups if any(covers(gaps, seq) for seq in group.members))
        lost = {seq for group in hidden for seq in group.members}
        lost |= {seq for seq in protected if seq in rewritten}
        return self._bring_back(sorted(lost), history.last_sealed)

    def _represented(self, history: History) -> set[int]:
        """Return the required entries that the native block and its notes represent."""
        native = self.plan.native
        if native is None:
            return set()
        gaps = [edit for edit in self.plan.edits if isinstance(edit, Native)]
        found = {note.first for note in native.quotes}
        compactions = (history.get(seq) for seq in history.protected if covers(gaps, seq))
        return found | {entry.seq for entry in compactions if entry is not None and holds_compaction(entry.message)}

    def readmit(self, group: MessageGroup, sealed: int) -> list[Notification]:
        """Restore a call that was left out and whose result came late: the model has seen neither.

        Args:
            group: The call with its results.
            sealed: The newest entry with sealed reasoning.
        """
        self.invalidate(group.first + 1, sealed)
        self._forget_native(group.first)
        self._end_foresight(group.first)
        edits = self.plan.edits
        if not edits or group.first > (edits[-1].last if isinstance(edits[-1], GAPS) else edits[-1].seq):
            return []  # nothing this new is left out, which is nearly always so
        gaps = list(self.plan.gaps())
        return self._bring_back(group.members, sealed) if any(covers(gaps, seq) for seq in group.members) else []

    def invalidate(self, first: int, last: int) -> None:
        """Note that what comes before entry `first` changed: reasoning from there to `last` no longer follows it."""
        if self.around.binds and first <= last:
            self._end_foresight()
            self.stale = united(self.stale, [SeqRange(first, last)])

    def _end_foresight(self, changed: int = -1) -> None:
        """Forget what is foreseen, if it was made of a message from `changed` on; by default in any case."""
        if self.foreseen is not None and changed <= self.foreseen.last:
            self.foreseen = self.preparing = None

    def _bring_back(self, seqs: Sequence[int], sealed: int) -> list[Notification]:
        if not seqs:
            return []
        self.invalidate(seqs[0], sealed)
        self._forget_native(seqs[0])
        self.plan = without(self.plan, seqs, self.plan.number)
        self.calibrator.forget()
        return [(events.PLAN_CHANGED, {"lane": self.name, "restored": list(seqs)})]

    # -- checkpoints --

    def snapshot(self) -> LaneSnapshot:
        """Return the state, for `restore`."""
        refused = (last.tokens, last.limit, *(last.sent or ())) if (last := self.refused) is not None else None
        return LaneSnapshot(
            name=self.name, plan=self.plan, before=tuple(self._before),
            settled=self.settled, batched=self.batched,
            settled_messages=self.settled_messages, compactions=self.compactions,
            budget=self.budget, sent=self.sent, refused=refused, guessed=self._guessed, prompt=self.prompt,
            summary=self.summary, spent=self.spent, tried=self.tried,
            meter=self.calibrator.snapshot(), counting=self.counting,
            stale=self.stale, passing=self.passing, marked=self.marked,
            sent_to=self.sent_to if self.marked else 0, tools=self.tools,
            planned=None if self._newly_planned else self.planned_for, native=self.native,
            requested=self.requested and self.counting is None, foreseen=self.foreseen,
            outside=0 if self.calibrator.informed else self.calibrator.outside, apart=self.apart,
        )  # fmt: skip  # what belongs together is in one line

    def restore(self, saved: LaneSnapshot) -> None:
        """Restore a snapshot, except the plan, which the constructor gets."""
        self._before.extend(saved.before)
        self.settled, self.batched, self.settled_messages = saved.settled, saved.batched, saved.settled_messages
        self.compactions, self.budget, self._guessed = saved.compactions, saved.budget, saved.guessed
        self.prompt, self.summary, self.spent = saved.prompt, saved.summary, saved.spent
        self.tried = Tried(*saved.tried)
        self.sent = None if saved.sent is None else Estimate(*saved.sent)
        self.stale, self.passing, self.marked, self.sent_to = saved.stale, saved.passing, saved.marked, saved.sent_to
        self.native, self.foreseen, self.apart = saved.native, saved.foreseen, saved.apart
        self._newly_planned = saved.planned is None and self.plan.number > 0
        self.planned_for = saved.budget if self._newly_planned else saved.planned
        known = saved.counting, saved.sent, saved.prompt
        self.requested = saved.requested or any(value is not None for value in known)
        if saved.refused is not None:
            tokens, limit, *sent = (each or 0 for each in saved.refused)
            self.refused = Overflowed(self.name, tokens, limit or None, Estimate(*sent) if sent else None)
        self.calibrator.restore(saved.meter)
        self.calibrator.outside = saved.outside
        if saved.tools is not None:
            self.tools = self.recorded_tools = saved.tools
            self.calibrator.tools, self.calibrator.added = saved.tools.tokens, saved.tools.prompt
        if saved.counting is not None:
            self._count_as(saved.counting)


def _cut(plan: Plan | PlanAt, to: int) -> Plan | PlanAt:
    """Return a plan without edits of entries after `to`."""
    if isinstance(plan, Plan):
        return until(plan, to)
    return replace(plan, until=to if plan.until is None else min(plan.until, to))
