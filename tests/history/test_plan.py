"""Plans: merging edits, taking entries out of them and ending them early, against naive models; references."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.history.plan import (
    Clear,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Excerpt,
    PartEdit,
    Plan,
    Truncate,
    hidden,
    merge,
    reference,
    untold,
    without,
)
from backscroll.history.ranges import covers
from backscroll.history.rewound_plan import until
from backscroll.tokens.counts import Count

LAST = 15
seqs = st.integers(0, LAST)
names = st.sampled_from(["excerpt", "clear", "truncate", "floor"])
rewrites = st.one_of(
    st.builds(Excerpt, seqs, st.integers(0, 2), st.integers(0, 9), st.integers(0, 9), st.just(Count(1)), names),
    st.builds(Clear, seqs, st.integers(0, 2), st.sampled_from(["x", "y"]), st.just(Count(1)), names),
)
drops = st.builds(lambda one, other, by: Truncate(min(one, other), max(one, other), by), seqs, seqs, names)
edits = st.lists(rewrites | drops, max_size=8)
plans = st.builds(
    lambda found, number, after: Plan(merge((), found), number, after), edits, st.integers(0, 9), st.none() | seqs
)


def dropped(found: Iterable[Edit]) -> set[int]:
    """Every `seq` that is left out."""
    return {seq for edit in found if isinstance(edit, Truncate) for seq in range(edit.first, edit.last + 1)}


def rewritten(found: Iterable[Edit]) -> dict[tuple[int, int], Edit]:
    """The newest rewrite of every part that is not left out."""
    parts = {(edit.seq, edit.part): edit for edit in found if isinstance(edit, PartEdit)}
    gone = dropped(found)
    return {place: edit for place, edit in parts.items() if place[0] not in gone}


def place_of_summary(place: int | None, found: Iterable[Edit]) -> int | None:
    """Where it stood, as long as something behind that is left out."""
    return place if place is not None and any(seq > place for seq in dropped(found)) else None


def well_formed(found: tuple[Edit, ...]) -> bool:
    """Sorted, without overlap, and drops that touch are one."""
    spans = [(edit.first, edit.last) if not isinstance(edit, PartEdit) else (edit.seq, edit.seq) for edit in found]
    ranges = [(edit.first, edit.last) for edit in found if isinstance(edit, Truncate)]
    places = [(edit.seq, edit.part) for edit in found if isinstance(edit, PartEdit)]
    return (
        spans == sorted(spans)
        and places == sorted(set(places))
        and all(one[1] + 1 < other[0] for one, other in pairwise(ranges))
        and not dropped(found) & {seq for seq, _ in places}
        and all(first <= last for first, last in ranges)
    )


@given(edits, edits)
def test_merged_edits_are_sorted_with_the_newer_last(old: list[Edit], new: list[Edit]) -> None:
    """Merged edits are sorted and say what both say the newer one last."""
    found = merge(old, new)
    assert well_formed(found)
    assert dropped(found) == dropped(old) | dropped(new)
    assert rewritten(found) == rewritten([*old, *new])


@given(edits, edits)
def test_merging_in_steps_or_at_once_is_the_same(old: list[Edit], new: list[Edit]) -> None:
    assert merge(merge((), old), new) == merge(old, new)
    assert merge(merge(old, new), new) == merge(old, new)
    assert merge(merge(old, new), ()) == merge(old, new)


@given(edits)
def test_an_entry_is_covered_exactly_where_a_range_holds_it(found: list[Edit]) -> None:
    ranges = [edit for edit in merge((), found) if isinstance(edit, Truncate)]
    assert {seq for seq in range(-2, LAST + 3) if covers(ranges, seq)} == dropped(found)


@given(plans, st.lists(seqs, max_size=4), st.integers(0, 99))
def test_plan_without_some_entries_leaves_these_whole(plan: Plan, whole: list[int], number: int) -> None:
    """Without some entries a plan leaves them whole and the rest as it was."""
    found = without(plan, whole, number)
    assert well_formed(found.edits)
    assert dropped(found.edits) == dropped(plan.edits) - set(whole)
    assert rewritten(found.edits) == {place: e for place, e in rewritten(plan.edits).items() if place[0] not in whole}
    assert (found.number, found.summary_after) == (number, place_of_summary(plan.summary_after, found.edits))


@given(plans, st.integers(-1, LAST + 2))
def test_plan_until_an_entry_keeps_earlier_edits_only(plan: Plan, last: int) -> None:
    """A plan until an entry says nothing of later ones and the rest as it was."""
    found = until(plan, last)
    assert well_formed(found.edits)
    assert dropped(found.edits) == {seq for seq in dropped(plan.edits) if seq <= last}
    assert rewritten(found.edits) == {place: e for place, e in rewritten(plan.edits).items() if place[0] <= last}
    assert found.summary_after == place_of_summary(plan.summary_after, found.edits)
    assert found.number == plan.number


@given(plans, st.lists(seqs, max_size=3), st.integers(-1, LAST))
def test_nothing_that_makes_a_plan_changes_another(plan: Plan, whole: list[int], last: int) -> None:
    before = Plan(tuple(plan.edits), plan.number, plan.summary_after)
    merge(plan.edits, [Truncate(0, LAST)])
    without(plan, whole, 1)
    until(plan, last)
    assert plan == before


@given(plans)
def test_plan_gives_drops_in_order_and_rewrites_by_entry(plan: Plan) -> None:
    """A plan says its drops in order and its rewrites by entry."""
    assert [edit for edit in plan.edits if isinstance(edit, Truncate)] == list(plan.gaps())
    by_entry = plan.rewritten()
    assert {(edit.seq, edit.part): edit for found in by_entry.values() for edit in found} == rewritten(plan.edits)
    assert all(edit.seq == seq for seq, found in by_entry.items() for edit in found)


def test_touching_ranges_merge_under_the_first_name() -> None:
    """Ranges that touch become one and keep the name of the first."""
    assert merge([Truncate(4, 6, "b")], [Truncate(1, 3, "a"), Truncate(8, 9, "c")]) == (
        Truncate(1, 6, "a"),
        Truncate(8, 9, "c"),
    )


def test_an_entry_in_the_middle_of_a_range_splits_it() -> None:
    assert without(Plan((Truncate(1, 9, "a"),)), [5, 1], 3).edits == (Truncate(2, 4, "a"), Truncate(6, 9, "a"))
    assert without(Plan((Truncate(5, 5),)), [5], 3).edits == ()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((12,), "[ref:12]"),
        ((12, 12), "[ref:12]"),
        ((12, 40), "[ref:12-40]"),
        ((12, None, 1), "[ref:12.1]"),
        ((12, None, 0), "[ref:12.0]"),
        ((0,), "[ref:0]"),
    ],
)
def test_references_name_an_entry_a_range_or_a_part(place: tuple[int, ...], text: str) -> None:
    assert reference(*place) == text


# References

ranges = st.builds(lambda one, other: (min(one, other), max(one, other)), seqs, seqs)
gaps = st.builds(lambda found, kind: kind(*found), ranges, st.sampled_from([Truncate, Digest]))
notes = st.builds(
    lambda found, kind: DigestLine(found[0], found[1], kind, "x"), ranges, st.sampled_from(["turn", "user", "line"])
)


@given(st.lists(gaps, max_size=6), st.lists(notes, max_size=6))
@example([Digest(1, 2), Truncate(3, 3), Digest(5, 6)], [DigestLine(5, 6, "turn", "x")])
def test_each_entry_that_is_left_out_has_a_reference(found, said):
    """A digest's note leads to its own entries, `untold` to the others, also where a later gap has all the notes."""
    plan = Plan(merge((), found), digest=DigestContent(tuple(said), (), (), 0))
    folded = [gap for gap in plan.gaps() if isinstance(gap, Digest)]
    noted = {
        seq for note in said if note.kind != "line" for seq in range(note.first, note.last + 1) if covers(folded, seq)
    }
    listed = [seq for first, last in untold(plan) for seq in range(first, last + 1)]
    left_out = {seq for gap in plan.gaps() for seq in range(gap.first, gap.last + 1)}
    assert set(listed) | noted == left_out
    assert len(listed) == len(set(listed))


@given(plans, st.sets(seqs))
def test_hidden_entries_are_those_a_plan_drops_or_cuts(plan, asked):
    """An entry is hidden exactly if taking it out of the plan changes the plan."""
    assert hidden(plan, asked) == {seq for seq in asked if without(plan, [seq], plan.number).edits != plan.edits}
