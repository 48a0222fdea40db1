"""Sums of rows by budget and strategy, and the recommended strategy with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.evaluation.compare.jobs import Row
from backscroll.evaluation.retention import mean

KEEP = 0.95
"""Share of what the best strategy keeps that a recommended one must keep."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The figures of one strategy over all transcripts at one budget. Recalls are means over transcripts."""

    strategy: str
    budget: int | float
    """As requested: tokens, or a share of each transcript."""
    transcripts: int
    """Transcripts with figures."""
    failed: int
    """Transcripts without figures."""
    requests: int
    cost: float
    cost_whole: float
    output_cost: float
    tokens_sent: int
    peak_tokens: int
    prefix_kept: float | None
    compactions: int
    milliseconds: float | None
    """CPU time of the context manager per request, including adding the messages before it."""
    facts: int
    recall: float | None
    reachable: float | None
    far_facts: int
    far_recall: float | None
    far_reachable: float | None
    refused: int
    invalid: int
    over_budget: int

    @property
    def sound(self) -> bool:
        """Whether every request could have been sent."""
        return not (self.failed or self.refused or self.invalid or self.over_budget)

    @property
    def kept(self) -> float:
        """Share (0 to 1) of the needed facts that was kept: in the view counts 1, one recall away counts 1/2."""
        return ((self.recall or 0.0) + (self.reachable or 0.0)) / 2


def sums(rows: Sequence[Row]) -> list[Sum]:
    """Return a sum for each budget and strategy, in order of first appearance."""
    groups: dict[tuple[int | float, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.asked, row.strategy), []).append(row)
    return [added(strategy, budget, group) for (budget, strategy), group in groups.items()]


def added(strategy: str, budget: int | float, rows: Sequence[Row]) -> Sum:
    """Return the sum of these rows."""
    done = [row.outcome for row in rows if row.outcome]
    requests = sum(one.requests for one in done)
    after_first = sum(one.tokens_after_first for one in done)
    return Sum(
        strategy=strategy,
        budget=budget,
        transcripts=len(done),
        failed=len(rows) - len(done),
        requests=requests,
        cost=sum(one.cost for one in done),
        cost_whole=sum(one.cost_whole for one in done),
        output_cost=sum(row.output_cost for row in rows),
        tokens_sent=sum(one.tokens_sent for one in done),
        peak_tokens=max((one.peak_tokens for one in done), default=0),
        prefix_kept=sum(one.tokens_kept for one in done) / after_first if after_first else None,
        compactions=sum(one.compactions for one in done),
        milliseconds=1000 * sum(one.cpu_seconds for one in done) / requests if requests else None,
        facts=sum(one.facts for one in done),
        recall=mean(one.recall for one in done),
        reachable=mean(one.reachable for one in done),
        far_facts=sum(one.far_facts for one in done),
        far_recall=mean(one.far_recall for one in done),
        far_reachable=mean(one.far_reachable for one in done),
        refused=sum(one.refused for one in done),
        invalid=sum(one.invalid for one in done),
        over_budget=sum(one.over_budget for one in done),
    )


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommendation for one budget, and why."""

    budget: int | float
    strategy: str | None
    """`None`: none can be recommended."""
    why: str


def advice(found: Sequence[Sum], keep: float = KEEP) -> list[Advice]:
    """Return the recommended strategy for each budget.

    It is the cheapest of the strategies whose requests could all be sent and whose `kept` is at least `keep` of the
    largest among these; of equally cheap ones, that which keeps the most.
    """
    budgets = dict.fromkeys(one.budget for one in found)
    return [_advised(budget, [one for one in found if one.budget == budget], keep) for budget in budgets]


def _advised(budget: int | float, found: Sequence[Sum], keep: float) -> Advice:
    sound = [one for one in found if one.sound]
    faults = [f"{one.strategy} ({_faults(one)})" for one in found if not one.sound]
    if not sound:
        return Advice(budget, None, f"none, because no strategy could have sent every request: {', '.join(faults)}")
    best = max(one.kept for one in sound)
    keeping = [one for one in sound if one.kept >= keep * best]
    chosen = min(keeping, key=lambda one: (one.cost, -one.kept))
    why = f"{chosen.strategy}, the cheapest of {len(keeping)} whose requests could all be sent"
    if chosen.recall is None:
        why += "; no request over the budget needed a fact, so only cost decides"
    else:
        why += (
            f" and that keep at least {keep:.0%} of the most that any keeps, where a fact in the view counts 1 and one "
            f"a recall away 1/2: {_shares(chosen)}"
        )
    why += f"; it costs {chosen.cost:.3f} Mtok-eq, sending everything {chosen.cost_whole:.3f}"
    less = [f"{one.strategy} ({_shares(one)}, {one.cost:.3f})" for one in sound if one is not chosen]
    return Advice(budget, chosen.strategy, why + (f"; not {', '.join([*less, *faults])}" if less or faults else ""))


def _shares(one: Sum) -> str:
    return f"recall {one.recall or 0.0:.1%}, reachable {one.reachable or 0.0:.1%}"


def _faults(one: Sum) -> str:
    faults = {"failed": one.failed, "refused": one.refused, "invalid": one.invalid, "over the budget": one.over_budget}
    return ", ".join(f"{count} {what}" for what, count in faults.items() if count)
