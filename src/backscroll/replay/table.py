"""Outcomes of replays as a table and as JSON. No replaying and no printing may live here."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from backscroll.replay.run import CACHE_READ, CACHE_WRITE, Outcome
from backscroll.replay.screen import line

UNITS = {
    "budget": "tokens a request",
    "raw_tokens": "tokens, each message once",
    "tokens_sent": "tokens, summed over the requests",
    "prefix_kept": "share 0 to 1 of the tokens after the first request",
    "cost": f"millions of input tokens; a kept prefix counts {CACHE_READ}, the rest {CACHE_WRITE}",
    "cost_whole": "the same, for sending everything at each request that was not refused",
    "cpu_seconds": "seconds of CPU in the context manager",
}
"""What the figures of the JSON form mean; everything else is a plain count."""

_NAME = 12  # columns that a transcript's name gets at least; it is folded into them
_LONGEST_NAME = 36
_SUMMED = (
    "messages",
    "raw_tokens",
    "requests",
    "tokens_sent",
    "tokens_after_first",
    "tokens_kept",
    "compactions",
    "cost",
    "cost_whole",
    "refused",
    "invalid",
    "over_budget",
    "cpu_seconds",
)
_COLUMNS = (
    "messages",
    "raw\ntok",
    "budget\ntok",
    "requests",
    "sent\ntok",
    "compac-\ntions",
    "prefix\nkept %",
    "cost\nMtok-eq",
    "whole\nMtok-eq",
    "refused",
    "invalid",
    "over\nbudget",
    "CPU\ns",
)


def totals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Sums over all outcomes; `prefix_kept` is weighted by tokens."""
    sums: dict[str, Any] = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in _SUMMED}
    sums["prefix_kept"] = sums["tokens_kept"] / sums["tokens_after_first"] if sums["tokens_after_first"] else None
    return sums


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """`outcomes`, `totals` and the `units` of both, for `json.dumps`."""
    return {"outcomes": [_row(outcome) for outcome in outcomes], "totals": totals(outcomes), "units": UNITS}


def as_table(outcomes: Sequence[Outcome]) -> Table:
    """One row an outcome and a row of totals. Figures that should be 0 and are not stand out."""
    table = Table(
        caption=f"Mtok-eq: millions of input tokens, a kept prefix at {CACHE_READ}, the rest at {CACHE_WRITE}"
    )
    table.add_column("transcript", overflow="fold", min_width=_NAME)
    for header in _COLUMNS:
        table.add_column(header, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(Text(_label(outcome)), *_cells(_row(outcome)))
    table.add_section()
    table.add_row(Text(f"total of {len(outcomes)}", style="bold"), *_cells(totals(outcomes)))
    return table


def fitting(outcomes: Sequence[Outcome], width: int) -> list[Table]:
    """The table where its figures fit into `width` columns, else the same turned round, a few transcripts at a time."""
    whole = as_table(outcomes)
    # names may be folded down to _NAME columns, figures must never be cut
    longest = max([_NAME, *(len(_label(outcome)) for outcome in outcomes)])
    if Console(width=10_000).measure(whole).maximum - longest + _NAME <= width:
        return [whole]
    columns = [(_label(outcome), list(_cells(_row(outcome)))) for outcome in outcomes]
    columns.append((f"total of {len(outcomes)}", list(_cells(totals(outcomes)))))
    at_once = max(1, (width - _NAME) // (_NAME + 3))
    return [_turned(columns[at : at + at_once]) for at in range(0, len(columns), at_once)]


def _label(outcome: Outcome) -> str:
    """The name without control characters; of a long path its end, which tells files apart."""
    name = line(outcome.name)
    return name if len(name) <= _LONGEST_NAME else "…" + name[1 - _LONGEST_NAME :]


def _turned(columns: Sequence[tuple[str, list[Text]]]) -> Table:
    table = Table()
    table.add_column("")
    for name, _ in columns:
        table.add_column(Text(name), justify="right", overflow="fold", min_width=_NAME)
    for header, *figures in zip(_COLUMNS, *(cells for _, cells in columns), strict=True):
        table.add_row(header.replace("-\n", "").replace("\n", " "), *figures)
    return table


def _row(outcome: Outcome) -> dict[str, Any]:
    return {**asdict(outcome), "prefix_kept": outcome.prefix_kept}


def _cells(row: dict[str, Any]) -> Iterable[Text]:
    kept, budget = row["prefix_kept"], row.get("budget")
    yield Text(f"{row['messages']:,}")
    yield Text(f"{row['raw_tokens']:,}")
    yield Text("-" if budget is None else f"{budget:,}")
    yield Text(f"{row['requests']:,}")
    yield Text(f"{row['tokens_sent']:,}")
    yield Text(f"{row['compactions']:,}")
    yield Text("-" if kept is None else f"{100 * kept:.1f}")
    yield Text(f"{row['cost']:.3f}")
    yield Text(f"{row['cost_whole']:.3f}")
    for name, style in (("refused", "yellow"), ("invalid", "bold red"), ("over_budget", "bold red")):
        yield Text(f"{row[name]:,}", style=style if row[name] else "")
    yield Text(f"{row['cpu_seconds']:.2f}")
