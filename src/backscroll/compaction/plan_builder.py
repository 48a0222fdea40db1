"""A plan in the making: the edits chosen so far, what they free, and the resulting view."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from backscroll.compaction.candidates import FREE_SHARE, Window, build_window, within
from backscroll.compaction.digest.appending import grow
from backscroll.compaction.digest.shrinking import shrink
from backscroll.compaction.digest.writer import Frame
from backscroll.compaction.floor import floor_seqs
from backscroll.compaction.handover import appending as handover
from backscroll.compaction.handover import shrinking as shrinking_handover
from backscroll.compaction.options import DigestOptions
from backscroll.compaction.quotes import quotes, system_quotes
from backscroll.compaction.reasoning import bound_view, first_changed, lost_between, outlived, sealed
from backscroll.history.history import Entry, History
from backscroll.history.log import NativeMade
from backscroll.history.plan import (
    GAPS,
    RANKED,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Gap,
    Native,
    NativeBlock,
    Plan,
    hidden,
    joined,
    merge,
    with_native,
    without,
    without_native,
)
from backscroll.history.ranges import SeqRange, covers, united
from backscroll.messages import SYSTEM_ROLES
from backscroll.tokens.budget import TokenTargets
from backscroll.tokens.usage import NOTHING, Estimate, UsageCalibrator
from backscroll.view.context import RenderContext
from backscroll.view.ephemerals import Ephemeral
from backscroll.view.segment import EPHEMERAL
from backscroll.view.view import View

_QUOTES = 0.1  # of the room, for the user's first and last words in a hand-over: messages are cut before these go
_SLACK = 64  # tokens by which a digest shrinks more than requested, for the lines around it
LAST_CUT = "floor"
"""The reason in edits of required messages."""


class PlanBuilder:
    """A plan in the making. Edits count at once; the view is built when it is read."""

    def __init__(
        self,
        history: History,
        view: View,
        calibrator: UsageCalibrator,
        targets: TokenTargets,
        around: RenderContext,
        *,
        digests: DigestOptions,
        fresh: Sequence[Ephemeral] = (),
        regrow: bool = True,
        prose: DigestLine | None = None,
        retain: frozenset[int] = frozenset(),
        reason: str | None = None,
        stale: Sequence[SeqRange] = (),
        ahead: bool = False,
    ) -> None:
        self.history: History = history
        self.fresh: Sequence[Ephemeral] = fresh
        """Ephemeral messages that were not shown yet; all others expire with this plan."""
        self.before: View = view
        self.targets: TokenTargets = targets
        self.refused: list[Edit] = []
        """Edits that a strategy made of protected parts."""
        self.room: int = targets.room
        self._calibrator = calibrator
        self.around = around
        self.retain = retain
        """Entries that the view shows word for word."""
        self._reason, self._ahead = reason, ahead
        self._gone_for, self._gone, self._follows = view, NOTHING, view
        self._regrow = regrow
        self._removed_before = united(view.plan.no_reasoning, stale)
        """Entries without their reasoning before this plan edits anything."""
        self._no_reasoning = self._removed_before
        self._view = self._whole_again(view)
        self._digests = digests
        self.window: Window = self._window(prose)
        self._forget_edits()

    def _forget_edits(self) -> None:
        self._edits: list[Edit] = []
        self._folded, self._won = list[tuple[Entry, ...]](), NOTHING

    def _window(self, prose: DigestLine | None) -> Window:
        """Build the window from the view. `prose`: a model's summary that is ready for use."""
        window = build_window(
            self.history,
            self._view,
            self.room,
            self.around,
            digests=self._digests,
            retain=self.retain,
            ahead=self._ahead,
        )
        window.prose = prose
        return window

    def _whole_again(self, view: View) -> View:
        """Restore what was cut as a last resort, because it may fit now, what the view has to retain, and what was only
        quoted. If only some results are shortened, the last resort's cuts and the quotes stay, since the rest is not
        checked then.
        """
        last = (edit for edit in view.plan.edits if not isinstance(edit, GAPS) and edit.by == LAST_CUT)
        cut = {edit.seq for edit in last} if self._regrow else set()
        cut |= hidden(view.plan, self.retain) | self._quoted_before(view.plan)
        same = not cut and self._no_reasoning == view.plan.no_reasoning and view.plan.heals
        if same and not any(segment.key[1] == EPHEMERAL for segment in view.segments):
            return view
        plan = without(view.plan, sorted(cut), view.plan.number + 1)
        plan = replace(plan, last=newest_seq(self.history), no_reasoning=self._no_reasoning, heals=True)
        return self._build(plan, view)

    def _quoted_before(self, plan: Plan) -> set[int]:
        """Return the required entries that only a hand-over quotes, where the next digest is none and may not."""
        if not self._regrow or self.around.quotes or plan.digest.ledger is None:
            return set()
        gaps = [edit for edit in plan.edits if isinstance(edit, Digest)]
        return {seq for seq in floor_seqs(self.history, quoted=False) if covers(gaps, seq)}

    def _build(self, plan: Plan, view: View) -> View:
        return View.build(self.history, plan, self.around, prompt=view.prompt, ephemerals=self.fresh, reuse=view)

    def forget_fresh(self) -> None:
        """Leave out ephemeral messages before anything that is stored."""
        if self.fresh:
            self.fresh = ()
            self._view = self._build(self.view.plan, self.view)

    def follow(
        self,
        history: History,
        view: View,
        *,
        calibrator: UsageCalibrator,
        targets: TokenTargets,
        fresh: Sequence[Ephemeral],
    ) -> None:
        """Add what was appended since the state that the plan was made of. All of it stays whole.

        Args:
            history: The history now.
            view: The view now, which the plan replaces.
            calibrator: What is known of the provider's counts now.
            targets: The targets of the request.
            fresh: Ephemeral messages that were not shown yet.
        """
        self.history, self.before, self.fresh = history, view, fresh
        if self.around.binds and next(sealed(view), None) is not None:
            self._no_reasoning = self._all_reasoning()  # what was made since follows the view before
        last = newest_seq(history)  # the model answered the view before
        self._view.plan = replace(self._view.plan, last=last, no_reasoning=self._no_reasoning, waited=view.plan.waited)
        self._view.advance(history, fresh, reuse=view)
        self._calibrator, self.targets = calibrator, targets
        self._gone_for, self._gone, self._follows = view, NOTHING, view

    @property
    def used(self) -> int:
        """Tokens of the whole request by the upper estimate, as they will count once this plan is recorded."""
        if self._edits and not self._folded:
            view, won = self._view.estimate, self._won.plus(self._removed())
            left = Estimate(view.expected - self._won.expected, view.upper - self._won.upper)
            return self._calibrator.after(left, won, self.targets.total).upper
        return self._calibrator.after(self.view.estimate, self._removed(), self.targets.total).upper

    @property
    def view(self) -> View:
        """The view under the plan so far."""
        if self._edits or self._starved():
            plan = self._view.plan
            edits = self._joined(merge(plan.edits, self._edits))
            after = self._summary_after(plan, edits)
            digest = self._digest(plan.digest)
            self._show(self._plan(edits, after, digest))
        return self._view

    def _summary_after(self, plan: Plan, edits: Sequence[Edit]) -> int | None:
        """Return the entry that the summary follows. A hand-over follows what is kept of the range that it covers, so
        that nothing older comes behind something newer.
        """
        if self._digests.handover:
            return _before_last_gap(self.history, edits)
        return plan.summary_after if any(plan.gaps()) else _summary_place(self.history, edits)

    def _plan(self, edits: tuple[Edit, ...], after: int | None, digest: DigestContent) -> Plan:
        number, last = self.before.plan.number + 1, newest_seq(self.history)
        plan = self._view.plan
        return Plan(
            edits=edits,
            number=number,
            summary_after=after,
            digest=digest,
            last=last,
            no_reasoning=self._no_reasoning,
            reason=self._reason,
            native=plan.native,
            waited=plan.waited,
            left=plan.left,
            recall=plan.recall,
        )

    def remove_reasoning(self) -> None:
        """Show no message with sealed reasoning, since what follows will edit the beginning of the view. Where the
        provider does not bind it, only reasoning that it no longer needs leaves.
        """
        if self.around.binds:
            gone = self._all_reasoning() if next(sealed(self._view), None) is not None else ()
        else:
            gone = united(self._removed_before, found) if (found := outlived(self.history, self._view)) else ()
        if not gone:
            return
        self._no_reasoning = gone
        plan = self._view.plan
        self._view = self._build(self._plan(plan.edits, plan.summary_after, plan.digest), self._view)
        self.window = self._window(self.window.prose)

    def _all_reasoning(self) -> tuple[SeqRange, ...]:
        branch = self.history.branch
        return united(self._removed_before, [SeqRange(branch[0], branch[-1])])

    def show_again(self, view: View) -> None:
        """Show the view that was made before the newest edits, once nothing follows them any more."""
        self._view = view

    def settle_reasoning(self) -> None:
        """Remove the reasoning behind the first edited place, and show the rest again where it fits."""
        if not self.around.binds or next(sealed(self.before), None) is None:
            return
        plan = self.view.plan
        base = replace(plan, no_reasoning=self._removed_before)
        view = self._build(base, self._view)
        if first_changed(self._follows, view) is None:
            return  # it is the reasoning alone that leaves
        view = bound_view(self._follows, base, lambda plan: self._build(plan, view))
        if view.plan.no_reasoning != plan.no_reasoning and self._fits(view):
            self._view, self._no_reasoning = view, view.plan.no_reasoning

    def use_native(self, made: NativeMade, *, keeps: bool) -> int:
        """Put a provider's block in place of the beginning that it represents. Returns the tokens of it and its notes.

        Args:
            made: The block. The view before must begin with what it was made of.
            keeps: Reasoning behind it stays valid, as far as nothing else changed.
        """
        history, plan = self.history, self._view.plan
        edit = Native(history.branch[history.leading], made.last)
        leaving = [unit for unit in self.window.units if edit.first <= unit.seqs[0] <= edit.last]
        before = plan.digest if plan.native is None else joined(plan.native.digest, plan.digest)
        self.window.units = [unit for unit in self.window.units if unit.seqs[0] > edit.last]
        self._folded = [unit.entries for unit in leaving]
        digest = self._digest(before)
        self._folded = []
        quoted = dict.fromkeys(quotes(history, edit.first, edit.last))
        quoted |= dict.fromkeys(system_quotes([entry for unit in leaving for entry in unit.entries]))
        if plan.native is not None:  # which it represents as well
            earlier = (note for note in plan.native.quotes if note.first in history.branch)
            quoted |= dict.fromkeys(note for note in earlier if note.kind in ("turn", *RANKED))
        quoted_seqs = {note.first for note in quoted}
        said = (note for note in digest.notes if note.kind in ("rule", "user", *RANKED))
        notes = [note for note in said if note.kind == "rule" or note.first not in quoted_seqs]
        newest = history.branch[-1]
        replaced = tuple([each for each in without_native(plan).edits if _first_of(each) <= edit.last])
        block = NativeBlock(
            message=made.message, counts=made.counts, last=made.last, after=None if newest == made.last else newest,
            quotes=tuple(sorted(quoted)), notes=tuple(notes), digest=digest, edits=replaced, model=made.model,
        )  # fmt: skip  # one thought
        self._swap(with_native(plan, edit, block), made, keeps=keeps)
        return sum(segment.estimate.upper for segment in self._view.of_native())

    def _swap(self, plan: Plan, made: NativeMade, *, keeps: bool) -> None:
        """Show a plan with a new block, without the reasoning that does not stay valid behind it."""
        plan = replace(
            plan, number=self.before.plan.number + 1, last=newest_seq(self.history), no_reasoning=self._removed_before,
            reason=self._reason,
        )  # fmt: skip  # one thought
        view = self._build(plan, self._view)
        start = next(segment.start for segment in view.of_native()) + 1
        following = view.messages[start]["role"] if start < len(view.messages) else made.role
        changed = first_changed(self.before, view, made.number, start)
        if not keeps or following == made.role or following in SYSTEM_ROLES:
            changed = made.last + 1
        if changed is not None and self.around.binds and changed <= self.history.branch[-1]:
            self._removed_before = united(self._removed_before, [SeqRange(changed, self.history.branch[-1])])
            self._no_reasoning = self._removed_before
            view = self._build(replace(plan, no_reasoning=self._no_reasoning), view)
        self._view = self._follows = view
        self._regrow = False
        prose = self.window.prose
        self.window = self._window(None if prose is not None and prose.last <= made.last else prose)

    def drop_native(self) -> None:
        """Let our own digest represent what a provider's block represented, because that is too large now."""
        plan = without_native(self._view.plan)
        required = floor_seqs(self.history, quoted=self.around.quotes) | self.history.newest_seqs
        required |= {note.first for note in self._view.plan.native.quotes} if self._view.plan.native else set()
        gaps = list(plan.gaps())
        groups = [group for seq in sorted(required) if covers(gaps, seq) and (group := self.history.group_of(seq))]
        shown = {seq for group in groups for seq in group.members if self.history.get(seq) is not None}
        plan = without(plan, sorted(shown), self.before.plan.number + 1)
        after = self._summary_after(Plan(), plan.edits)
        self._view = self._build(replace(plan, summary_after=after, last=newest_seq(self.history)), self._view)
        self.window = self._window(self.window.prose)

    def _fits(self, view: View) -> bool:
        """Return whether a view is acceptable in place of the present one, which edits more."""
        before, self._view = self._view, view
        used, self._view = self.used, before
        return used <= max(self.targets.threshold, self.used)

    def lost_reasoning(self) -> list[Entry]:
        """Return the messages whose reasoning leaves the view with this plan, where its provider binds it."""
        if not self.around.binds:
            return []
        gaps = [edit for edit in self.view.plan.edits if isinstance(edit, Native)]
        lost = lost_between(self.before, self.view)
        return [entry for entry in lost if not covers(gaps, entry.seq)] if gaps else lost

    def _show(self, plan: Plan) -> None:
        self._view = self._build(plan, self._view)
        self._regrow = False
        self.window.digest = plan.digest
        self.window.digest_tokens = self._view.summary_tokens
        self._forget_edits()

    def _starved(self) -> bool:
        """Return whether a huge result crowded out the digest before, and there is room for it again."""
        window, digest = self.window, self._view.plan.digest
        if not self._regrow or not digest.reserve:
            return False
        if digest.ledger is not None and any(note.kind != "rule" for note in digest.reserve):  # a chronicle, kept aside
            return window.digest_allowance(0) >= window.usual_allowance(0)
        return window.digest_tokens < window.digest_allowance(0) * window.digests.part / 2

    def _digest(self, before: DigestContent) -> DigestContent:
        """Return the digest once the pending groups are folded."""
        if not self._folded and not self._starved():
            return before
        window = self.window
        covered = before.covered_tokens + sum(window.tokens_of(entry) for group in self._folded for entry in group)
        window.digest = replace(before, covered_tokens=covered)
        kept = [unit.entries for unit in window.units]
        usual, now = window.usual_allowance(0), max(window.digest_allowance(0), self._least())
        # by a huge result, soon to be cut: what finds no room now is only kept aside
        squeezed = now < usual * (1.0 if window.digests.handover else 0.5)
        frame = Frame(
            salience=window.salience,
            kept=kept,
            allowance=usual if squeezed else now,
            budget=window.budget,
            tokens=self._tokens,
        )
        write = handover.grow if window.digests.handover else grow
        digest = write(before, self._folded, covered, frame, options=window.digests, prose=self._finished_prose())
        return self._shrunk(digest, now) if squeezed else digest

    def _shrunk(self, digest: DigestContent, allowance: int, *, rules_too: bool = False) -> DigestContent:
        make = shrink if digest.ledger is None else shrinking_handover.shrink
        return make(digest, allowance, self._tokens, rules_too=rules_too)

    def _finished_prose(self) -> DigestLine | None:
        """Return the ready summary once all free groups that it covers have left."""
        prose = self.window.prose
        if prose is None or any(unit.free and unit.seqs[-1] <= prose.last for unit in self.window.units):
            return None
        return prose

    def _tokens(self, text: str) -> int:
        return self.window.tokens(self.around.count(text))

    def shrink_digest(self, *, rules_too: bool = False) -> None:
        """Shrink the digest before required messages are cut; the user's rules go only at the end."""
        excess = self.rebuild_and_count() - self.targets.total
        plan = self._view.plan
        if plan.digest.notes:
            left = max(0 if rules_too else self._least(), self.window.digest_tokens - excess - _SLACK)
            self._show(replace(plan, digest=self._shrunk(plan.digest, left, rules_too=rules_too)))

    def _least(self) -> int:
        """Return the tokens that a digest keeps until nothing else can be cut. Of what messages leave that are never
        cut, it takes no more than its share: else it would fill that, and every further message would compact.
        """
        if not self._digests.handover:
            return 0
        fixed = self.history.protected | self.retain
        units = (unit for unit in self.window.units if any(e.seq in fixed or e.reading.is_system for e in unit.entries))
        left = self.room - sum(unit.tokens for unit in units)
        return int(min(self.room * _QUOTES, max(0, left) * FREE_SHARE))

    def _joined(self, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """Join gaps that only entries of an abandoned branch separate; otherwise rewinds would make plans grow."""
        branch = self.history.branch
        if branch[-1] - branch[0] + 1 == len(branch):
            return edits
        joined: list[Edit] = []
        for edit in edits:
            last = joined[-1] if joined else None
            if isinstance(edit, GAPS) and type(edit) is type(last) and self._touch(last, edit):
                joined[-1] = replace(last, last=edit.last)
            else:
                joined.append(edit)
        return tuple(joined)

    def _touch(self, one: Gap, next_one: Gap) -> bool:
        place = self.history.branch.position
        return place(one.last + 1) == place(next_one.first)

    def look_again(self) -> None:
        """Rebuild the window from the view with nothing protected: after this only required groups stay."""
        _ = self.view
        self.window = self._window(self.window.prose)

    def rebuild_and_count(self) -> int:
        """Rebuild the view and return `used` by it, including its notices."""
        _ = self.view
        return self.used

    def removed(self) -> Estimate:
        """Return the estimate of what left the previous view."""
        _ = self.view
        return self._removed()

    def _removed(self) -> Estimate:
        if self._gone_for is not self._view:
            self._gone_for, self._gone = self._view, self._reckon_gone()
        return self._gone

    def _reckon_gone(self) -> Estimate:
        kept = {id(segment.messages) for segment in self._view.segments}
        gone = [segment.estimate for segment in self.before.segments if id(segment.messages) not in kept]
        return Estimate(sum(e.expected for e in gone), sum(e.upper for e in gone))

    def apply(self, edits: Sequence[Edit]) -> None:
        """Add edits to the plan."""
        units = self.window.by_seq
        folded = {seq for edit in edits if isinstance(edit, Digest) for seq in within(edit, units)}
        self._folded += [unit.entries for unit in self.window.units if not folded.isdisjoint(unit.seqs)]
        self._won = self._won.plus(self.window.take(edits))
        self._edits += edits


def _first_of(edit: Edit) -> int:
    return edit.first if isinstance(edit, GAPS) else edit.seq


def newest_seq(history: History) -> int | None:
    """Return the newest entry; None without one."""
    return history.branch[-1] if history.branch else None


def _summary_place(history: History, edits: Iterable[Edit]) -> int | None:
    """Place the summary directly behind the first user message if something after it is left out: otherwise that may be
    the newest message, and the summary would be the last. Without one, place it behind the leading system messages.
    """
    first = history.first_user
    if first is not None and any(isinstance(edit, GAPS) and edit.last > first.seq for edit in edits):
        return first.seq
    return history.branch[history.leading - 1] if history.leading else None


def _before_last_gap(history: History, edits: Sequence[Edit]) -> int | None:
    """Return the entry before the newest messages that a digest covers; None if they are the first."""
    gaps = [edit for edit in edits if isinstance(edit, GAPS)]
    last = next((edit for edit in reversed(gaps) if isinstance(edit, Digest)), gaps[-1] if gaps else None)
    at = -1 if last is None else history.branch.position(last.first) - 1
    return history.branch[at] if at >= 0 else None
