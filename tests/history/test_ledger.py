"""The facts behind a chronicle: stored with its plan, joined, cut by a rewind. Digests without them stay as ever."""

import json
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.history.codec import Codec
from backscroll.history.ledger import Fact, Ledger, joined_ledgers
from backscroll.history.log import PlanRecorded
from backscroll.history.packing import pack_plans, unpack_plans, visible
from backscroll.history.plan import (
    NO_DIGEST,
    Digest,
    DigestContent,
    DigestLine,
    Plan,
    joined,
    newest,
    same_until,
    same_view,
    untold,
)
from backscroll.history.rewound_plan import until
from backscroll.ports import Record, Stored
from backscroll.view.rendering import summary_text

NOTES = (
    DigestLine(2, 9, "user", "Fix it."), DigestLine(4, 5, "did", "edited a.py"),
    DigestLine(9, 9, "report", "It is fixed."),
    DigestLine(10, 14, "turn", "(the turn goes on)"),
)  # fmt: skip  # one list
FACTS = (
    Fact("request", 2, text="Fix it."),
    Fact("file", 5, "/a/b.py", "edited", times=2, names=("new",), gone=("old",)),
    Fact("check", 12, "pytest", "pytest", "4 passed", True),
)
SMALL = st.integers(0, 1_000)
NOW = (DigestLine(2, 2, "state", "Current request: Fix it."), DigestLine(20, 20, "file", "a.py edited"))
CHRONICLE = DigestContent(NOTES, (("x", 1.0),), (), 90, ledger=Ledger(FACTS, "/a/", 14), now=NOW)
PLAN = Plan((Digest(2, 14),), 3, 1, CHRONICLE, 20)
BEFORE = replace(PLAN, digest=replace(CHRONICLE, ledger=None, now=()))


def recorded(plan):
    return PlanRecorded("main", plan, (1, 2), 50, 6)


def plan_in(record: Record, *, looking: bool = False) -> Plan:
    event = Codec(looking=looking).decode(Stored(0, record))
    assert isinstance(event, PlanRecorded)
    return event.plan


def test_a_ledger_is_read_back_as_it_was_written():
    record = Codec().encode(recorded(PLAN), 0)
    assert Codec().decode(Stored(0, record)) == recorded(PLAN)


@given(st.lists(st.builds(Fact, **dict.fromkeys(Fact._fields, ...) | {"seq": SMALL, "times": SMALL}), max_size=3))
@example([Fact("request", 0)])  # the first message is a picture: there are no words and no number
def test_any_facts_are_read_back_as_they_were_written(facts):
    plan = replace(PLAN, digest=replace(CHRONICLE, ledger=Ledger(tuple(facts), "/a/", 14)))
    assert plan_in(Codec().encode(recorded(plan), 0)) == plan


def test_a_record_without_a_ledger_has_no_new_fields():
    """Older versions read it, and such a digest is shown as ever."""
    record = Codec().encode(recorded(BEFORE), 0)
    assert set(json.loads(record.body)["plan"]["digest"]) == {"notes", "rest", "told"}
    read = plan_in(record).digest
    assert (read.ledger, read.now) == (None, ())
    assert "State as of" not in summary_text(BEFORE)


def test_a_look_at_a_plan_shows_the_same_text():
    record = Codec().encode(recorded(PLAN), 0)
    assert summary_text(plan_in(record, looking=True)) == summary_text(PLAN)
    assert "State as of" in summary_text(PLAN)


def test_what_views_need_of_a_plan_gives_the_same_text():
    packed = unpack_plans(pack_plans([(0, recorded(PLAN))]))[0].plan
    assert summary_text(packed) == summary_text(PLAN) == summary_text(visible(PLAN))
    assert packed.digest.ledger == Ledger()


def test_another_state_is_another_view():
    other = replace(PLAN, digest=replace(CHRONICLE, now=NOW[:1]))
    assert same_view(PLAN, PLAN)
    assert not same_view(PLAN, other)
    assert not same_until(PLAN, other, 30)
    assert not same_view(PLAN, replace(PLAN, digest=replace(CHRONICLE, ledger=None)))


def test_a_rewind_cuts_an_entry_and_drops_later_facts():
    digest = until(PLAN, 6).digest
    assert digest.notes == (NOTES[0]._replace(last=6), NOTES[1])
    assert digest.now == NOW[:1]
    assert digest.ledger == Ledger(FACTS[:2], "/a/", 6)
    assert until(PLAN, 30) == PLAN


def test_a_plan_names_the_entries_of_its_state():
    assert newest(PLAN) == 20


def test_the_first_lines_of_entries_refer_to_all_of_them():
    assert untold(PLAN) == []
    assert untold(replace(PLAN, edits=(Digest(2, 16),))) == [(15, 16)]


def test_joined_ledgers_keep_the_newer_facts():
    newer = Ledger((Fact("check", 30, "pytest", "pytest", "5 passed"),), "", 31)
    found = joined_ledgers(CHRONICLE.ledger, newer)
    assert found == Ledger((*FACTS[:2], *newer.facts), "/a/", 31)
    assert joined_ledgers(None, newer) == joined_ledgers(newer, None) == newer
    assert joined(CHRONICLE, replace(NO_DIGEST, ledger=newer, covered_tokens=5)).now == ()
