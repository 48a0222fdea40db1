"""Records of native compactions: written once, read back, and refused where they cannot be."""

from dataclasses import replace
from typing import Any

import pytest

from backscroll.errors import CorruptionError
from backscroll.history.codec import Codec
from backscroll.history.log import NativeMade, PlanRecorded
from backscroll.history.plan import (
    NO_DIGEST,
    Digest,
    DigestContent,
    DigestLine,
    Excerpt,
    Native,
    NativeBlock,
    Plan,
    Truncate,
    same_until,
    without,
    without_native,
)
from backscroll.history.ranges import SeqRange
from backscroll.history.rewound_plan import until
from backscroll.history.soundness import plan_fault
from backscroll.ports import LOST, Record, Stored
from backscroll.tokens.counts import Count
from tests.present import present

MESSAGE = {"role": "assistant", "content": [{"type": "compaction", "content": "Well.", "signature": "s"}]}
FACTS = DigestContent(
    (DigestLine(2, 5, "turn", "read x2"), DigestLine(7, 7, "rule", "Never.")),
    (("x", 1.0),),
    (DigestLine(3, 3, "line", "y"),),
    90,
)
BLOCK = NativeBlock(
    MESSAGE, (Count(9, 0, 0, 40),), 9, 14, (DigestLine(1, 1, "user", "Go."),), (FACTS.notes[1],), FACTS,
    (Digest(2, 5), Excerpt(6, 0, 3, 3, Count(2))), "m",
)  # fmt: skip  # one thought
PLAN = Plan((Native(1, 9), Excerpt(12, 0, 5, 5, Count(3))), 3, None, NO_DIGEST, 14, native=BLOCK)
MADE = NativeMade("main", 9, MESSAGE, (Count(9, 0, 0, 40),), 8, "ab", "user", None, True, "m", 10, 2)


def recorded(plan):
    return PlanRecorded("main", plan, (1, 2), 50, 6)


def test_a_block_is_written_once():
    log = []
    codec, reader = Codec(), Codec(lambda at: Stored(at, log[at]))
    for plan in (PLAN, replace(PLAN, number=4)):
        log.append(codec.encode(recorded(plan), len(log)))
    assert len(log[1].body) < len(log[0].body) / 2
    assert [reader.decode(Stored(at, record)) for at, record in enumerate(log)] == [
        recorded(PLAN), recorded(replace(PLAN, number=4)),
    ]  # fmt: skip  # one thought
    assert Codec(lambda at: Stored(at, log[at])).decode(Stored(1, log[1])) == recorded(replace(PLAN, number=4))


def test_a_plan_whose_block_was_lost_leaves_the_messages_out():
    codec = Codec()
    codec.encode(recorded(PLAN), 0)
    second = codec.encode(recorded(replace(PLAN, number=4)), 1)
    found: Any = Codec(lambda at: Stored(at, Record(LOST, None, b"gone", 3))).decode(Stored(1, second))
    assert found.plan.native is None
    assert found.plan.edits[0] == Truncate(1, 9, "native")


def test_a_block_that_is_ready_is_written_and_read():
    assert Codec().decode(Stored(0, Codec().encode(MADE, 0))) == MADE


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (replace(PLAN, native=None), "do not fit together"),
        (replace(PLAN, edits=PLAN.edits[1:]), "do not fit together"),
        (replace(PLAN, edits=(Native(1, 10),)), "other entries than its edits say"),
        (replace(PLAN, native=replace(BLOCK, after=3)), "other entries than its edits say"),
        (replace(PLAN, native=replace(BLOCK, message={"role": "user", "content": "x"})), "has no role"),
        (replace(PLAN, native=replace(BLOCK, counts=())), "other counts than parts"),
        (replace(PLAN, native=replace(BLOCK, counts=(Count(-1),))), "a count is negative"),
        (replace(PLAN, native=replace(BLOCK, edits=BLOCK.edits[::-1])), "not in order"),
    ],
)
def test_an_impossible_block_is_corruption(plan, fault):
    assert fault in present(plan_fault(plan))
    if plan.native is not None:
        with pytest.raises(CorruptionError, match=fault):
            Codec().decode(Stored(0, Codec().encode(recorded(plan), 0)))


def test_an_impossible_ready_block_is_corruption():
    record = Codec().encode(replace(MADE, counts=()), 0)
    with pytest.raises(CorruptionError, match="other counts than parts"):
        Codec().decode(Stored(0, record))


def test_rewind_into_the_range_of_a_block_brings_the_edits_back():
    plan = until(PLAN, 7)
    assert plan.native is None
    assert plan.edits == BLOCK.edits
    assert plan.no_reasoning == (SeqRange(1, 7),)
    assert [note.text for note in plan.digest.notes] == ["read x2"]
    assert plan_fault(plan) is None


def test_a_rewind_behind_the_block_moves_the_notes():
    plan = until(PLAN, 12)
    assert plan.native == replace(BLOCK, after=None)
    assert plan.no_reasoning == (SeqRange(10, 12),)
    assert until(PLAN, 14) == PLAN


def test_a_digest_takes_the_place_of_a_block():
    plan = without_native(PLAN)
    assert plan.edits[0] == Digest(1, 9, "native")
    assert plan.digest == FACTS
    assert without_native(plan) is plan


def test_the_last_entry_that_comes_back_takes_the_block_along():
    some = without(PLAN, [4], 5)
    assert [(edit.first, edit.last) for edit in some.gaps()] == [(1, 3), (5, 9)]
    assert some.native == BLOCK
    assert without(PLAN, range(1, 10), 5).native is None


def test_plans_agree_up_to_an_entry():
    assert same_until(PLAN, replace(PLAN, number=9, edits=PLAN.edits[:1]), 11)
    assert not same_until(PLAN, replace(PLAN, edits=PLAN.edits[:1]), 12)
    assert not same_until(PLAN, replace(PLAN, no_reasoning=(SeqRange(10, 11),)), 10)
    assert not same_until(PLAN, replace(PLAN, native=replace(BLOCK, after=None)), 10)
