"""The last resort: cut required messages, which alone do not fit the budget.

What tools returned and what the agent wrote gives way before what the user said. The order is: the newest results,
older protected results, the agent's arguments and texts, user texts (long ones first, oldest first), and finally all
else in the newest group, so that a request never fails while anything can still be cut. Pinned, critical and system
messages are never cut.
"""

from collections.abc import Callable, Iterable, Iterator

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window, is_outcome
from backscroll.compaction.plan_builder import LAST_CUT, PlanBuilder
from backscroll.compaction.strategies.truncate import drop_unit
from backscroll.history.plan import Edit, Excerpt, PartEdit

LEAST = 48  # tokens that stay of a cut part: enough for what it is and how it ends
_ROUNDS = 6
_LONG = 0.05  # share of the budget from which a user's text counts as long: cutting short ones frees nothing
_SLACK = 32  # tokens cut beyond the excess, so that the notes fit as well and one round usually suffices
_HARDER = (1.0, 0.8, 0.5, 0.25, 0.0)


def clip_floor(builder: PlanBuilder) -> None:
    """Cut required messages, kind after kind, until the view fits its budget or nothing is left to cut."""
    for rung in _RUNGS:
        for _ in range(_ROUNDS):
            excess = builder.rebuild_and_count() - builder.targets.total
            if excess <= 0:
                return
            builder.look_again()
            window = builder.window
            edits = _level(window, list(rung(builder, window)), excess + _SLACK, oldest_first=rung in _OLDEST_FIRST)
            if not edits:
                break
            builder.apply(edits)
        if rung is _newest_results and builder.rebuild_and_count() > builder.targets.total:
            _drop_unseen(builder)


def _untouchable(builder: PlanBuilder, unit: CandidateGroup) -> bool:
    protected = builder.history.protected | builder.retain
    return any(entry.seq in protected or entry.reading.is_system for entry in unit.entries)


def _any(_: CandidateGroup) -> bool:
    return True


def _parts(
    builder: PlanBuilder, window: Window, wanted: Callable[[CandidateGroup], bool], *kinds: str
) -> Iterator[CandidatePart]:
    for unit in window.units:
        if wanted(unit) and not _untouchable(builder, unit):
            yield from (found for found in window.parts_of(unit, kinds) if not found.is_fixed)


def _newest_results(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    newest = window.units[-1] if window.units else None
    return _parts(builder, window, lambda unit: unit.unseen or unit is newest, "result", "media")


def _older_results(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    return (found for found in _parts(builder, window, _any, "result", "media") if is_outcome(found.part))


def _agent_texts(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    parts = _parts(builder, window, _any, "call", "text")
    return (found for found in parts if found.entry.reading.role == "assistant")


def _user_texts(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    texts = _parts(builder, window, _any, "text", "media")
    return (found for found in texts if found.entry.reading.role == "user")


def _long_user_texts(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    return (found for found in _user_texts(builder, window) if window.tokens(found.count) > window.budget * _LONG)


def _newest_texts(builder: PlanBuilder, window: Window) -> Iterable[CandidatePart]:
    newest = window.units[-1] if window.units else None
    return _parts(builder, window, lambda unit: unit is newest, "text", "call", "opaque")


_RUNGS = (_newest_results, _older_results, _agent_texts, _long_user_texts, _user_texts, _newest_texts)
_OLDEST_FIRST = (_long_user_texts, _user_texts)


def _drop_unseen(builder: PlanBuilder) -> None:
    """Truncate unseen results in groups before the newest, oldest first."""
    window = builder.window
    excess = builder.used - builder.targets.total
    edits: list[Edit] = []
    for unit in window.units:
        if excess > 0 and unit.unseen and not (unit.floor or unit.kept or unit.in_place):
            edits += drop_unit(unit, LAST_CUT)
            excess -= unit.tokens
    if edits:
        builder.apply(edits)


def _level(window: Window, found: list[CandidatePart], excess: int, oldest_first: bool) -> list[Edit]:
    """Cut the longest parts down to one common level that frees `excess`; user texts oldest first instead."""
    found = [candidate for candidate in found if candidate.count.tokens > LEAST]
    if not found:
        return []
    if oldest_first:
        return _one_by_one(window, found, excess)
    sizes = sorted((window.tokens(candidate.count) for candidate in found), reverse=True)
    level, total = 0, sum(sizes)
    for number, behind in enumerate([*sizes[1:], 0]):
        if sum(sizes[: number + 1]) - behind * (number + 1) >= excess:
            level = (sum(sizes[: number + 1]) - excess) // (number + 1)
            break
    level = max(LEAST, level if total > excess else LEAST)
    edits = [_shrink(window, candidate, level) for candidate in found if window.tokens(candidate.count) > level]
    return [edit for edit in edits if edit is not None]


def _one_by_one(window: Window, found: list[CandidatePart], excess: int) -> list[Edit]:
    edits: list[Edit] = []
    for candidate in found:
        if excess <= 0:
            break
        size = window.tokens(candidate.count)
        edit = _shrink(window, candidate, max(LEAST, size - excess))
        if edit is not None:
            excess -= size - window.tokens(edit.count)
            edits.append(edit)
    return edits


def _shrink(window: Window, candidate: CandidatePart, tokens: int) -> PartEdit | None:
    """Cut a part to about `tokens` by the upper estimate, including its note; a part without text gets a stub."""
    if candidate.part.media is not None or candidate.part.kind == "opaque":
        return window.mask(candidate, LAST_CUT)
    size = max(1, window.tokens(candidate.count))
    best: Excerpt | None = None
    for share in _HARDER:  # tokens are not spread evenly: the removed text may have held fewer than its share
        keep = int(max(LEAST / 2, tokens * share - LEAST / 2) * candidate.count.tokens / size)
        edit = window.clip(candidate, max(1, keep), LAST_CUT)
        if edit is not None and (best is None or edit.count.tokens < best.count.tokens):
            best = edit
        if best is not None and window.tokens(best.count) <= tokens:
            return best
    if best is None and candidate.part.kind in ("call", "result"):
        return window.mask(candidate, LAST_CUT)  # many short values: nothing that a cut could shorten
    return best
