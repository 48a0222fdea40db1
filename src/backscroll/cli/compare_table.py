"""Rows and sums as tables and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from backscroll.cli.screen import line
from backscroll.compaction.modes import MODES, STANDARD
from backscroll.evaluation.compare.aggregate import Advice, Sum, added
from backscroll.evaluation.compare.jobs import Row
from backscroll.evaluation.compare.pricing import Tariff

UNITS = {
    "budget": "tokens a request as an int, a share of each transcript as a float",
    "cost": "millions of input tokens at the given prices: a kept prefix at `read`, the rest at `write`",
    "cost_whole": "the same, for sending the whole history at each request that was not refused",
    "output_cost": "the same unit: writing the recorded assistant messages, at `output`; not part of the other costs",
    "tokens_sent": "tokens, summed over the requests",
    "peak_tokens": "tokens of the largest request",
    "prefix_kept": "share 0 to 1 of the tokens after the first request",
    "milliseconds": "CPU time of the context manager per request, including adding the messages before it",
    "facts": "facts that requests over the budget needed",
    "recall": "share 0 to 1 of them that were in the view in their context: the mean over a transcript's requests, in "
    "sums over the transcripts",
    "reachable": "share 0 to 1 that were anywhere in the view, or behind the one reference that was recalled",
    "far_facts": "those last mentioned further back than the budget; far_recall and far_reachable cover only these",
}
"""The meaning of the figures of the JSON form; all others are plain counts."""

_SHORTEST, _LONGEST = 12, 36  # minimum columns of a name, and its maximum characters
_COLUMNS = {
    "cost": "cost\nMtok-eq",
    "tokens_sent": "sent\ntok",
    "peak_tokens": "peak\ntok",
    "prefix_kept": "prefix\nkept %",
    "compactions": "compac-\ntions",
    "milliseconds": "ms a\nstep",
    "recall": "recall\n%",
    "reachable": "reach-\nable %",
    "far_recall": "far re-\ncall %",
    "far_reachable": "far reach-\nable %",
    "refused": "re-\nfused",
    "invalid": "in-\nvalid",
    "over_budget": "over\nbudget",
    "failed": "fai-\nled",
}
_SHARES = ("prefix_kept", "recall", "reachable", "far_recall", "far_reachable")
_WARNING = {"refused": "yellow", "invalid": "bold red", "over_budget": "bold red", "failed": "bold red"}


def tables(sums: Sequence[Sum], tariff: Tariff, width: int) -> Iterator[RenderableType]:
    """Yield a table for each budget with a line per strategy, and the legend."""
    for budget in dict.fromkeys(one.budget for one in sums):
        group = [one for one in sums if one.budget == budget]
        number = group[0].transcripts + group[0].failed
        many = "transcript" if number == 1 else "transcripts"
        title = f"{size(budget)}: {number} {many}, {group[0].requests} requests"
        yield _fitting(title, "strategy", [(one.strategy, one) for one in group], width)
    prices = tariff.input
    yield Text(
        f"Mtok-eq: millions of input tokens; prices of {line(tariff.name)}: a kept prefix at {prices.read:g}, "
        f"the rest at {prices.write:g}; output ({tariff.output:g}) is the same for all and not included",
        style="dim",
    )
    yield Text("recall: the share of earlier facts used next that was in the view", style="dim")
    yield Text("reachable: in the view, or found by recalling one reference of it", style="dim")
    yield Text("far: facts last mentioned further back than the budget; ms: CPU time", style="dim")


def each(rows: Sequence[Row], width: int) -> Iterator[RenderableType]:
    """Yield a table per transcript and budget, with a line per strategy."""
    for name, budget in dict.fromkeys((row.name, row.asked) for row in rows):
        group = [row for row in rows if (row.name, row.asked) == (name, budget)]
        lines = [(row.strategy, added(row.strategy, budget, [row])) for row in group]
        yield _fitting(f"{_label(name)} at {size(budget)}", "strategy", lines, width)


def notes(rows: Sequence[Row]) -> Iterator[Text]:
    """Yield what went wrong in single jobs."""
    for row in rows:
        name = f"{line(row.name)}, {line(row.strategy)} at {size(row.asked)}"
        if row.failure:
            yield Text(f"failed: {name}: {line(row.failure)}", style="bold red")
        for warning in row.warnings:
            yield Text(f"warned: {name}: {line(warning)}", style="yellow")
        if row.outcome and row.outcome.refusal:
            yield Text(f"refused: {name}: {line(row.outcome.refusal)}", style="yellow")
        for problem in row.outcome.problems[:1] if row.outcome else ():
            yield Text(f"invalid: {name}: {line(problem)}", style="red")


def modes(sums: Sequence[Sum]) -> Iterator[Text]:
    """Yield what each mode buys, if several compete."""
    labels = {"auto" if mode is STANDARD else mode.name: mode for mode in MODES.values()}
    shown = [label for label in dict.fromkeys(one.strategy for one in sums) if label in labels]
    for label in shown if len(shown) > 1 else ():
        yield Text(f"{label}: mode {labels[label].name!r} {labels[label].buys}", style="dim")


def as_json(rows: Sequence[Row], sums: Sequence[Sum], advised: Sequence[Advice], tariff: Tariff) -> dict[str, Any]:
    """Return everything, for `json.dumps`."""
    return {
        "rows": [_row(row) for row in rows],
        "sums": [asdict(one) for one in sums],
        "recommendations": [asdict(one) for one in advised],
        "prices": {"name": tariff.name, **asdict(tariff.input), "output": tariff.output},
        "units": UNITS,
        "modes": {mode.name: mode.buys for mode in MODES.values()},
    }


def size(budget: int | float) -> str:
    """Return a budget as text."""
    return f"{budget:,} tokens" if isinstance(budget, int) else f"{budget:.3g} of each transcript"


def _row(row: Row) -> dict[str, Any]:
    """Return the figures of one row, under the same names as in `sums`."""
    figures = asdict(added(row.strategy, row.asked, [row]))
    for name in ("transcripts", "failed"):
        del figures[name]
    outcome = row.outcome
    more = (
        {}
        if outcome is None
        else {"budget_tokens": outcome.budget, "refusal": outcome.refusal, "problems": outcome.problems}
    )
    return {"name": row.name, **figures, **more, "failure": row.failure, "warnings": row.warnings}


def _label(name: str) -> str:
    label = line(name)
    return label if len(label) <= _LONGEST else "\u2026" + label[1 - _LONGEST :]


def _fitting(title: str, header: str, lines: Sequence[tuple[str, Sum]], width: int) -> Table:
    """Return a table with a row per line, or transposed if it would be too wide; no figure is cut."""
    wide = Table(title=Text(title), title_justify="left")
    wide.add_column(header, overflow="fold", min_width=_SHORTEST)
    for column in _COLUMNS.values():
        wide.add_column(column, justify="right", no_wrap=True)
    for name, one in lines:
        wide.add_row(Text(line(name)), *_cells(one))
    if Console(width=10_000).measure(wide).maximum <= width:
        return wide
    turned = Table(title=Text(title), title_justify="left")
    turned.add_column(header, no_wrap=True)
    for name, _ in lines:
        turned.add_column(Text(line(name)), justify="right", overflow="fold", min_width=_SHORTEST)
    cells = [list(_cells(one)) for _, one in lines]
    for column, *figures in zip(_COLUMNS.values(), *cells, strict=True):
        turned.add_row(column.replace("-\n", "").replace("\n", " "), *figures)
    return turned


def _cells(one: Sum) -> Iterator[Text]:
    for name in _COLUMNS:
        value = getattr(one, name)
        if value is None:
            yield Text("-")
        elif name in _SHARES:
            yield Text(f"{100 * value:.1f}")
        elif isinstance(value, float):
            yield Text(f"{value:.3f}")
        else:
            yield Text(f"{value:,}", style=_WARNING.get(name, "") if value else "")
