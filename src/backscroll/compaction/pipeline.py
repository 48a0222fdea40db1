"""Which strategies run, in which order, and when to stop.

A compaction runs the strategies in order of harm until it reaches its target, and spares the newest messages and the
working set. If that does not get below the threshold, it spares instructions and plans alone, and then nothing. If the
view still does not fit, every group that may leave is truncated. If the required messages alone do not fit, they are
cut (`last_resort.py`).
"""

from collections.abc import Sequence

from backscroll.compaction.candidates import CandidateGroup, protect_recent, within
from backscroll.compaction.decision import Strategy
from backscroll.compaction.last_resort import clip_floor
from backscroll.compaction.options import CompactionOptions, Protection
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.compaction.restating import fit_in_place, put_in_place, spare_referred
from backscroll.compaction.stale_excerpts import without_stale_lines
from backscroll.compaction.strategies.digest import DigestStrategy
from backscroll.compaction.strategies.preview import PreviewStrategy
from backscroll.compaction.strategies.shorten import fit_newest
from backscroll.compaction.strategies.truncate import drop_unit, of_user
from backscroll.compaction.triggers import over_message_limit
from backscroll.compaction.working_set import spare_working_set
from backscroll.history.plan import GAPS, Digest, Edit, PartEdit

LAST_RESORT = "last resort"
TOO_MANY = "max_messages"
_CUTS = 2  # a cut may win less than was reckoned; after the second the user's words would go


def compact(builder: PlanBuilder, strategies: Sequence[Strategy], options: CompactionOptions) -> None:
    """Compact a plan to its target if possible, and in any case into its budget.

    Afterwards `builder.used` exceeds the budget only if the required messages do not fit even when cut.
    """
    targets = builder.targets
    if options.tool_result_preview is not None:
        strategies = (PreviewStrategy(options.tool_result_preview), *strategies)
    builder.apply(without_stale_lines(builder.window))
    if options.digest.handover:
        builder.apply(fit_newest(builder.window, builder.history.protected | builder.retain))
    for at, spared in enumerate(_passes(options.protect)):
        protect_recent(builder.window, int(builder.room * spared.recent), spared.results, cut_kept=at > 0)
        room = int(builder.room * spared.working_set)
        if options.max_messages is not None:
            spare_working_set(builder.window, room, files=False)  # files here and there would take a line each
            _enforce_message_limit(builder, options.max_messages, options.target_usage)
        builder.apply(spare_working_set(builder.window, room, files=at == 0))
        if spared.working_set:
            spare_referred(builder)
        put_in_place(builder, leaving=True)
        _run(strategies, builder)
        # the hand-over of a long talk says more than was reckoned, so that the next messages would compact again
        if options.digest.handover and builder.used > (targets.target + targets.threshold) // 2:
            _run([each for each in strategies if isinstance(each, DigestStrategy)], builder)
        if builder.used <= targets.threshold and not over_message_limit(builder.view, options):
            break
    if builder.rebuild_and_count() > targets.total:
        builder.forget_fresh()
    if builder.rebuild_and_count() > targets.total:
        builder.look_again()
        _drop_all_but_floor(builder)
        put_in_place(builder)
        fit_in_place(builder, targets.total)
    _cut_what_must_stay(builder)


def _run(strategies: Sequence[Strategy], builder: PlanBuilder) -> None:
    """Apply the edits of strategies in order, until the target is met."""
    for strategy in strategies:
        excess = builder.used - builder.targets.target
        if excess <= 0:
            break
        edits = _allowed(strategy(builder.window, excess), builder)
        if edits:
            builder.apply(edits)
            put_in_place(builder, leaving=True)


def _fold_in_place(builder: PlanBuilder) -> None:
    """Digest the oldest messages that keep their place, because all else that stays is cut already."""
    excess = builder.used - builder.targets.total
    edits: list[Edit] = []
    for unit in builder.window.units:
        if excess > 0 and unit.in_place and not unit.floor:
            edits += [Digest(seq, seq, LAST_RESORT) for seq in unit.seqs]
            excess -= unit.tokens
    if edits:
        builder.apply(edits)
        builder.shrink_digest()


def _passes(protect: Protection) -> tuple[Protection, ...]:
    """Return what each pass spares: everything, then instructions and plans alone, then nothing."""
    return protect, Protection(0.0, working_set=protect.working_set), Protection(0.0, working_set=0.0)


def _cut_what_must_stay(builder: PlanBuilder) -> None:
    """Shorten what may not leave, and at last truncate messages that are kept by number."""
    budget = builder.targets.total
    if builder.rebuild_and_count() > budget:
        builder.shrink_digest()
    for _ in range(_CUTS):
        if builder.rebuild_and_count() > budget:
            clip_floor(builder)
    if builder.rebuild_and_count() > budget:
        builder.look_again()
        _drop_oldest(builder, [unit for unit in builder.window.units if unit.kept and not unit.floor])
    if builder.rebuild_and_count() > budget:
        builder.look_again()
        _fold_in_place(builder)
    if builder.rebuild_and_count() > budget:
        builder.shrink_digest(rules_too=True)


def _enforce_message_limit(builder: PlanBuilder, most: int, target: float) -> None:
    """Digest the oldest groups of a view of more than `most` messages, down to that share of them."""
    shown = len(builder.view.messages)
    excess = shown - int(most * target) if shown > most else 0
    edits: list[Edit] = []
    for unit in builder.window.units:
        if unit.free and excess > 0:
            edits += [Digest(seq, seq, TOO_MANY) for seq in unit.seqs]
            excess -= len(unit.seqs)
    if edits:
        builder.apply(edits)


def _allowed(edits: Sequence[Edit], builder: PlanBuilder) -> list[Edit]:
    """Return the edits of free and whole groups; all others are reported."""
    units = builder.window.by_seq
    gaps = [edit for edit in edits if isinstance(edit, GAPS)]
    dropped = {seq for gap in gaps for seq in within(gap, units)}
    allowed: list[Edit] = []
    for edit in edits:
        if isinstance(edit, GAPS):
            leaving = [units[seq] for seq in within(edit, units)]
            fits = all(unit.free and dropped.issuperset(unit.seqs) for unit in leaving)
        else:
            fits = edit.seq in units and units[edit.seq].cuttable and not _is_fixed(units[edit.seq], edit)
        (allowed if fits else builder.refused).append(edit)
    return allowed


def _is_fixed(unit: CandidateGroup, edit: PartEdit) -> bool:
    reading = next(entry.reading for entry in unit.entries if entry.seq == edit.seq)
    return reading.fixes(reading.parts[edit.part])


def _drop_all_but_floor(builder: PlanBuilder) -> None:
    """Truncate as many of the oldest free groups as needed."""
    _drop_oldest(builder, [unit for unit in builder.window.units if unit.free])


def _drop_oldest(builder: PlanBuilder, free: Sequence[CandidateGroup]) -> None:
    for choose in (lambda unit: not of_user(unit), of_user):
        excess = builder.rebuild_and_count() - builder.targets.total
        edits: list[Edit] = []
        for unit in filter(choose, free):
            if excess <= 0:
                break
            edits += drop_unit(unit, LAST_RESORT)
            excess -= unit.tokens
        if edits:
            builder.apply(edits)
