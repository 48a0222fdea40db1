"""Precision and recall of what reads, on calls of many hosts that were labelled by hand."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.messages.deeds.calls import deeds

PARTS = ("known", "aside", "fresh")
"""A third was set aside: its labels were written before any of the code ran on it."""
LEAST = 0.95


class Labelled(NamedTuple):
    """A call as its host sends it, the beginning of its result, and what a reader says of both."""

    host: str
    name: str
    arguments: dict[str, Any]
    result: str
    label: str
    kind: str


def labelled(part: str) -> list[Labelled]:
    path = Path(__file__).with_name(f"labelled_{part}.jsonl")
    return [Labelled(*json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def reads(call: Labelled) -> bool:
    """Whether the code takes a call for one that only looks something up."""
    return all(deed.kind in ("read", "search") for deed in deeds(call.name, call.arguments, call.result))


def wrong(part: str) -> list[Labelled]:
    return [call for call in labelled(part) if reads(call) != (call.label == "reads")]


def test_labels_are_of_ten_hosts_and_a_third_is_set_aside():
    known, aside = labelled("known"), labelled("aside")
    assert len({call.host for call in known + aside}) >= 10
    assert len(known + aside) >= 300
    assert len(aside) * 3 >= len(known + aside) - 5
    assert {call.label for call in known + aside} == {"reads", "changes"}


@pytest.mark.parametrize("part", PARTS)
def test_precision_and_recall_of_reads(part):
    calls = labelled(part)
    found = {number for number, call in enumerate(calls) if reads(call)}
    true = {number for number, call in enumerate(calls) if call.label == "reads"}
    assert len(found & true) / len(found) >= LEAST, wrong(part)
    assert len(found & true) / len(true) >= LEAST, wrong(part)


@pytest.mark.parametrize("part", PARTS)
def test_kinds_of_labelled_calls(part):
    calls = labelled(part)
    other = [call for call in calls if call.kind not in [deed.kind for deed in deeds(*call[1:4])]]
    assert len(other) <= (1 - LEAST) * len(calls), other
