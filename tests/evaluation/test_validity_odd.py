"""The oracle over odd histories: each rule is needed, and a view that heals what is odd passes."""

import pytest

from backscroll.evaluation.validity import Judge
from backscroll.evaluation.validity_rules import RULES
from tests.evaluation.odd_native import BROKEN as OF_ITEMS
from tests.evaluation.odd_views import BROKEN, SOUND, Case

CASES = [(rule, case) for cases in (BROKEN, OF_ITEMS) for rule, found in cases.items() for case in found]


@pytest.mark.parametrize("name", SOUND)
def test_view_that_heals_passes(name: str) -> None:
    history, view, _, options = SOUND[name]
    assert Judge(**options).problems(view, history) == []


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_rule_left_out_lets_its_example_pass(rule: str, case: Case) -> None:
    """The example breaks no other rule, so that no rule is there twice."""
    history, view, words, options = case
    found = Judge(**options).problems(view, history)
    assert found
    assert all(words in line for line in found), found
    assert Judge([each for each in RULES if each.name != rule], **options).problems(view, history) == []


def test_each_rule_has_an_example() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(set(names)) == sorted(names)
    assert {rule for rule, _ in CASES} == set(names)
