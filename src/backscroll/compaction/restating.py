"""Show an earlier result in the place of a later one that refers to it, where a compaction leaves the earlier one out.

The earlier result moves to the end of the view, where the model asked for it again: what was sent before stays as it
is, and so does the provider's cache. Where there is no room for it, the later result says so and names its reference.
"""

from collections.abc import Iterator
from operator import itemgetter

from backscroll.compaction.back_references import (
    EarlierResults,
    Place,
    Result,
    ShownGroup,
    open_references,
    results_of,
    shown_groups,
    whole_results,
)
from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.plan_builder import LAST_CUT, PlanBuilder
from backscroll.history.history import History
from backscroll.history.plan import BACK_REFERENCE, Clear, PartEdit, Restate, reference
from backscroll.messages import Part
from backscroll.tokens.usage import estimate_count

ONE = 0.25  # of the budget that one of them may take: a longer new result is not shown whole either
TOGETHER = 0.5  # of the budget that those may take that the model has seen: more would crowd out the conversation


def put_in_place(builder: PlanBuilder, *, leaving: bool = False) -> bool:
    """Show earlier results that a plan leaves out in the place of later ones that refer to them. Returns whether there
    were any. `leaving`: also those that may leave where the later ones stay.
    """
    edits = _restatements(builder, leaving=leaving)
    if edits:
        builder.apply(edits)
        builder.rebuild_and_count()
    return bool(edits)


def fit_in_place(builder: PlanBuilder, limit: int) -> None:
    """Show fewer of these earlier results, until the request takes at most `limit` tokens."""
    while (excess := builder.rebuild_and_count() - limit) > 0:
        edits = _without_restated(builder.window, excess)
        if not edits:
            return
        builder.apply(edits)


def settle(builder: PlanBuilder) -> None:
    """Complete a plan by what its results refer to, and by the reasoning that follows it."""
    before, view = builder.rebuild_and_count(), builder.view
    if put_in_place(builder):
        fit_in_place(builder, max(builder.targets.threshold, before))
        if builder.rebuild_and_count() > builder.targets.total >= before:
            builder.show_again(view)
    builder.settle_reasoning()


def spare_referred(builder: PlanBuilder, *, all_of_them: bool = False) -> None:
    """Spare the results that later ones refer to: where both stay in the view, or all of them."""
    window = builder.window
    found = list(open_references(_groups(window), frozenset()))
    if not found:
        return
    earlier = _earlier(builder)
    for result in found:
        place = earlier.meant_by(result)
        unit = None if place is None else window.by_seq.get(place[0])
        if place is None or unit is None or place in unit.edits:
            continue
        if all_of_them or not (unit.free or window.by_seq[result.place[0]].free):
            unit.spared |= {place}


def _earlier(builder: PlanBuilder) -> EarlierResults:
    return EarlierResults(builder.before.plan, shown_groups(builder.before.segments))


def _restatements(builder: PlanBuilder, *, leaving: bool) -> list[Restate | Clear]:
    """Return the edits that put earlier results in the place of later ones, the newest first. A later result that may
    leave itself only says that the earlier one is not shown.
    """
    window, history = builder.window, builder.history
    groups = _groups(window)
    found = list(open_references(groups, history.protected | builder.retain))
    if not found:
        return []
    earlier = _earlier(builder)
    shown, room = whole_results(groups), int(window.budget * TOGETHER)
    room -= sum(window.tokens(edit.count) for _, edit in _restated_parts(window))
    edits: list[Restate | Clear] = []
    for result in reversed(found):
        unit, place = window.by_seq[result.place[0]], earlier.meant_by(result)
        moves = leaving and not unit.free and place is not None and _may_leave(window, place)
        if place is None or (place in shown and not moves):
            continue
        source = _source(history, place, result)
        if source is None:
            continue
        candidate = _candidate(window, result.place)
        edit = window.restate(candidate, source, place)
        tokens = window.tokens(edit.count)
        most = int(window.budget * ONE) if unit.unseen else min(room, int(window.budget * ONE))
        if not unit.free and tokens <= most:
            room -= tokens
            shown.add(place)
            edits += [edit, *(_superseded(window, place, result) if moves else ())]
        elif place not in shown:
            edits.append(window.restate(candidate, None, place))
    return edits


def _restated_parts(window: Window) -> Iterator[tuple[CandidatePart, Restate]]:
    """Yield the results that show an earlier one, oldest first."""
    for unit in window.units:
        for place, edit in sorted(unit.edits.items(), key=itemgetter(0)) if unit.edits else ():
            if isinstance(edit, Restate) and edit.whole:
                yield _candidate(window, place), edit


def _without_restated(window: Window, tokens: int) -> list[PartEdit]:
    """Return the edits that say of earlier results that they are not shown: the oldest ones, which free `tokens`."""
    edits: list[PartEdit] = []
    for candidate, edit in _restated_parts(window):
        if tokens <= 0:
            break
        if (less := window.mask(candidate, LAST_CUT)) is not None:
            tokens -= int(estimate_count(edit.count, window.family)[1] - estimate_count(less.count, window.family)[1])
            edits.append(less)
    return edits


def _may_leave(window: Window, place: Place) -> bool:
    """Return whether an earlier result is in the view, whole and in its own place, and may leave it."""
    unit = window.by_seq.get(place[0])
    return unit is not None and unit.free and place not in unit.edits


def _superseded(window: Window, place: Place, result: Result) -> list[Clear]:
    """Clear an earlier result that is shown later."""
    candidate = _candidate(window, place)
    if not candidate.unit.cuttable or candidate.is_spared or candidate.entry.reading.rigid:
        return []
    edit = window.mask(candidate, BACK_REFERENCE, f"superseded by {reference(result.place[0], part=result.place[1])}")
    return [edit] if isinstance(edit, Clear) else []


def _source(history: History, place: Place, result: Result) -> Part | None:
    """Return an earlier result; None if it is not loaded, or if another call has the same fingerprint."""
    entry = history.get(place[0])
    if entry is None:
        return None
    entries = [each for seq in entry.group.members if (each := history.get(seq)) is not None]
    for found in results_of(entries):
        if found.place == place and not set(found.names()).isdisjoint(result.names()):
            return found.part
    return None


def _groups(window: Window) -> list[ShownGroup]:
    return [ShownGroup(unit.entries, unit.edits) for unit in window.units]


def _candidate(window: Window, place: Place) -> CandidatePart:
    unit = window.by_seq[place[0]]
    return window.part(unit, next(entry for entry in unit.entries if entry.seq == place[0]), place[1])
