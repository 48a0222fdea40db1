"""The odd situations of histories: the oracle, the linter and the fakes have a rule of their own for each."""

import pytest

from backscroll.evaluation.fake_providers import (
    anthropic_rules,
    bedrock_rules,
    chat_rules,
    gemini_rules,
    interactions_rules,
    openai_rules,
)
from backscroll.evaluation.lint import RULES as OF_LINT
from backscroll.evaluation.validity_rules import RULES as OF_ORACLE

SITUATIONS = {
    "second_result",
    "unknown_call",
    "late_result",
    "server_pair",
    "cut_arguments",
    "empty_text",
    "lone_surrogate",
    "reasoning_alone",
    "open_call",
    "result_not_text",
    "data_twice",
    "prefill",
}
"""What histories hold and providers refuse. `data_twice` is refused by none, and wastes room."""
FAKES = {
    "anthropic": (anthropic_rules.RULES, {"reasoning_alone"}),
    "bedrock": (bedrock_rules.RULES, {"reasoning_alone"}),
    "chat": (chat_rules.RULES, {"reasoning_alone", "server_pair", "prefill"}),
    "gemini": (gemini_rules.RULES, {"reasoning_alone"}),
    "interactions": (interactions_rules.RULES, {"reasoning_alone"}),
    "responses": (openai_rules.RULES, {"late_result", "server_pair", "empty_text", "prefill"}),
}
"""The rules of each fake, and what its provider accepts or does not have."""


def judged(rules: object) -> set[str]:
    return {situation for rule in rules for situation in rule.situations}  # type: ignore[attr-defined] # of three kinds


def test_oracle_judges_every_situation() -> None:
    assert judged(OF_ORACLE) == SITUATIONS


def test_linter_finds_every_situation() -> None:
    """And what two requests show of ranks, which the oracle's neighbor `rank.py` judges."""
    assert judged(OF_LINT) == {*SITUATIONS, "lost_rank"}


@pytest.mark.parametrize("name", FAKES)
def test_fake_refuses_what_its_provider_does(name: str) -> None:
    rules, accepted = FAKES[name]
    assert judged(rules) == SITUATIONS - accepted - {"data_twice"}
