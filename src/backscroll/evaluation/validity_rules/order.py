"""The order of a view, and roles that alternate where they did."""

from collections.abc import Iterator
from itertools import pairwise

from backscroll.evaluation.validity_rules.case import Case, Rule
from backscroll.evaluation.validity_rules.timeline import key_of


def _order(case: Case) -> Iterator[str]:
    yield from case.disorder


def _alternation(case: Case) -> Iterator[str]:
    view, places = case.view, case.places
    neighbors = {
        (key_of(one), key_of(other)) for one, other in pairwise(case.history) if one.whole is other.whole
    }  # the place of a text that was said twice may be another one
    before: int | None = None
    for at, message in enumerate(view):
        role = message.role
        if message.is_system:
            continue
        same = before is not None and role in ("user", "assistant") and view[before].role == role
        if before is not None and same and message.is_made:
            same = not _one_message(case, places[before], places[at])
            same = same and (key_of(view[before]), key_of(message)) not in neighbors
        if before is not None and same and role == "user" and (view[before].is_summary or message.is_summary):
            same = False  # a hand-over, and notes on a provider's compaction, say themselves what is left out
        if before is not None and same and not _one_run(case, places[before], places[at], str(role)):
            yield f"view[{before}] and view[{at}]: two messages of role {role} in a row, the history had none there"
        before = at


def _one_run(case: Case, first: int | None, second: int | None, role: str) -> bool:
    """Return whether only messages of this role were between the two, and results that are shown elsewhere."""
    if first is None or second is None:
        return False
    low, high = sorted((first, second))
    return all(item.role in (role, None, "system", "developer") for item in case.timeline[low : high + 1])


def _one_message(case: Case, first: int | None, second: int | None) -> bool:
    """Return whether both are items of the same message."""
    if first is None or second is None:
        return False
    here, there = case.timeline[first].at, case.timeline[second].at
    return min(here, there) >= 0 and case.history[here].whole is case.history[there].whole


RULES = (Rule("order", _order, ("late_result", "second_result")), Rule("alternation", _alternation))
