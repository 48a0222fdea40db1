"""Findings as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from backscroll.cli.screen import line
from backscroll.evaluation.lint import SEVERITIES, Finding

UNITS = {
    "tokens": "tokens of one request that the finding concerns",
    "sent": "the same, summed over the requests of the conversation",
    "cost": "input tokens that these cost at the prices of the prompt cache",
    "dollars": "the cost in US dollars; null without a price",
    "count": "how often it occurs; its place is that of the first or worst one",
}
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_INDENT = 2


class Priced(NamedTuple):
    """A finding and its cost in dollars."""

    finding: Finding
    dollars: float | None


def text(found: Sequence[Priced], conversations: int, limit: int) -> Iterator[RenderableType]:
    """Yield the findings grouped by rule, the worst rule first, and the sum.

    Args:
        found: The findings, the worst first.
        conversations: How many were read.
        limit: Findings of one rule to show.
    """
    rules: dict[tuple[str, str], list[Priced]] = {}
    for each in found:
        rules.setdefault((each.finding.severity, each.finding.rule), []).append(each)
    for (severity, rule), group in rules.items():
        head = Text(f"{severity}: {rule}", style=_STYLES[severity])
        yield head.append(f"  {_number(len(group), 'finding')}", style="not bold dim")
        for each in group[:limit]:
            yield from _shown(each)
        if len(group) > limit:
            rest = group[limit:]
            yield _indented(Text(f"and {len(rest):,} more{_costs_of(rest)}", style="dim"), 1)
        yield _indented(Text(f"-> {group[0].finding.advice}", style="green"), 1)
        yield Text("")
    yield _indented(Text(_sum(found, conversations), style="bold"), 0)


def as_json(found: Sequence[Priced], conversations: int, skipped: Sequence[str]) -> dict[str, Any]:
    """Return everything, for `json.dumps`."""
    counts = {severity: sum(each.finding.severity == severity for each in found) for severity in SEVERITIES}
    return {
        "findings": [_row(each) for each in found],
        "counts": counts,
        "conversations": conversations,
        "skipped_files": list(skipped),
        "units": UNITS,
    }


def _row(each: Priced) -> dict[str, Any]:
    finding = each.finding
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "name": finding.name,
        "request": finding.place.request,
        "place": finding.place.where,
        "what": finding.what,
        "advice": finding.advice,
        "tokens": finding.tokens,
        "sent": finding.sent,
        "cost": round(finding.cost),
        "dollars": each.dollars,
        "count": finding.count,
    }


def _shown(each: Priced) -> Iterator[RenderableType]:
    finding = each.finding
    more = f" and {finding.count - 1:,} more" if finding.count > 1 else ""
    yield _indented(Text(f"{line(finding.name)}: {line(str(finding.place))}{more}"), 1)
    yield _indented(Text(line(finding.what)), 2)
    if finding.tokens:
        sent = f", {finding.sent:,} in all" if finding.sent else ""
        cost = f"; cost {_price(finding.cost, each.dollars)}" if finding.cost else ""
        yield _indented(Text(f"{finding.tokens:,} tokens a request{sent}{cost}", style="dim"), 2)


def _indented(shown: Text, level: int) -> Padding:
    return Padding(shown, (0, 0, 0, level * _INDENT), expand=False)


def _price(cost: float, dollars: float | None) -> str:
    shown = f"{cost:,.0f} input tokens"
    return shown if dollars is None else f"{shown}, ${dollars:,.2f}"


def _costs_of(group: Sequence[Priced]) -> str:
    cost = sum(each.finding.cost for each in group)
    return f"; cost {_price(cost, _dollars(group))}" if cost else ""


def _dollars(group: Sequence[Priced]) -> float | None:
    """Return the dollars of a group; `None` if some of its costs have no price."""
    priced = [each.dollars for each in group if each.finding.cost]
    return None if not priced or None in priced else sum(filter(None, priced))


def _sum(found: Sequence[Priced], conversations: int) -> str:
    where = f"in {_number(conversations, 'conversation')}"
    if not found:
        return f"nothing found {where}"
    counts = [(sum(each.finding.severity == severity for each in found), severity) for severity in SEVERITIES]
    said = ", ".join(_number(count, severity) for count, severity in counts if count)
    return f"{said} {where}{_costs_of(found)}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
