"""The page of the linter and its rules agree."""

import re

from backscroll.evaluation.lint import RULES
from tests.project.pages import ROOT


def test_the_page_has_every_rule_with_its_severity() -> None:
    page = (ROOT / "docs/evaluate/lint.md").read_text("utf-8")
    documented = re.findall(r"^\| `([a-z-]+)` \| (error|warning|note) \|", page, re.MULTILINE)
    assert sorted(documented) == sorted((rule.name, rule.severity) for rule in RULES)


def test_names_of_rules_are_unique_and_in_kebab_case() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
