"""Planted faults: each comes out as one finding at its place, and the same material without it as none."""

from collections.abc import Callable

import pytest

from backscroll.evaluation.lint import RULES
from tests.evaluation.lint.agents import AGENTS, Body, chat, found_in, found_in_transcript
from tests.evaluation.lint.faults import CLOUD_KEY, FAULTS, KEY, Fault, transcript


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_requests_without_a_fault_yield_no_finding(agent: Callable[[], list[Body]]) -> None:
    assert found_in(agent()) == []


def test_material_of_other_faults_yields_no_finding() -> None:
    assert found_in(chat(model="deepseek-v4-pro")) == []
    assert found_in(AGENTS["anthropic"](thinking={"type": "enabled"})) == []  # type: ignore[call-arg]
    assert found_in_transcript(transcript()) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_the_one_finding_at_its_place(fault: Fault) -> None:
    found = fault.find()
    assert [(each.rule, str(each.place)) for each in found] == [(fault.rule, fault.place)]
    assert fault.severity in ("", found[0].severity)
    assert found[0].advice
    assert not any(key in found[0].what for key in (KEY, CLOUD_KEY))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_rule_left_out_finds_no_fault(fault: Fault) -> None:
    assert fault.find([rule for rule in RULES if rule.name != fault.rule]) == []


def test_every_rule_has_a_planted_fault() -> None:
    assert {fault.rule for fault in FAULTS} == {rule.name for rule in RULES}
    assert len(FAULTS) >= 25
