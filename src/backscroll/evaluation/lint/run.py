"""Runs rules over a conversation, and sorts what they find."""

from collections import Counter
from collections.abc import Iterable, Sequence

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import SEVERITIES, Finding, Rule
from backscroll.evaluation.lint.rules import RULES
from backscroll.evaluation.lint.talk import Talk


def lint(talk: Talk, costs: Costs, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Return what is wrong with a conversation, the worst first.

    Args:
        talk: A transcript, or the requests of one conversation.
        costs: Token counts and prices.
        rules: The rules to check.
    """
    found = []
    for rule in rules:
        for each in rule.check(talk, costs):
            severity = each.severity or rule.severity
            found.append(
                Finding(
                    rule=rule.name,
                    severity=severity,
                    name=talk.name,
                    place=each.place,
                    what=each.what,
                    advice=rule.advice,
                    tokens=each.tokens,
                    sent=each.sent,
                    cost=each.cost,
                    count=each.count,
                )
            )
    return sorted(found, key=order)


def lint_all(talks: Sequence[Talk], costs: Costs, rules: Sequence[Rule] = RULES) -> list[list[Finding]]:
    """Return the findings of each conversation. What conversations share is known to belong to none of them."""
    prompts = Counter(talk.prompt for talk in talks)
    for talk in talks:
        talk.is_usual = prompts[talk.prompt] > 1
    return [lint(talk, costs, rules) for talk in talks]


def order(finding: Finding) -> tuple[int, float]:
    """Return the key that sorts the worst severity first, and then the highest cost."""
    return SEVERITIES.index(finding.severity), -finding.cost
