"""Outcomes of replays as tables and as JSON.

With one strategy there is a row per transcript; with several, a row per transcript and strategy, and a comparison.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from backscroll.cli.screen import line
from backscroll.compaction.options import CachePricing
from backscroll.evaluation.retention import mean
from backscroll.evaluation.run import Outcome
from backscroll.evaluation.summarizers import OUTPUT

_PRICES = CachePricing()  # the defaults of a replay
UNITS = {
    "strategy": "names of strategies in order of use, separated by commas",
    "budget": "tokens per request",
    "raw_tokens": "tokens, each message once",
    "tokens_sent": "tokens, summed over the requests",
    "prefix_kept": "share 0 to 1 of the tokens after the first request",
    "facts": "facts that recorded messages use and their histories mention, each once per message; only requests "
    "whose history is over the budget count",
    "recall": "share 0 to 1 of these facts that were in the view in their context: the mean over a transcript's "
    "requests with facts, in totals the mean over the transcripts; a refused request kept none",
    "reachable": "share 0 to 1 that were anywhere in the view, or behind the one reference that was recalled",
    "far_facts": "those last mentioned further back than the budget; far_recall and far_reachable cover only these",
    "summary_cost": f"millions of input tokens: a token that the summarizer read counts 1, one it wrote {OUTPUT:g}, "
    "times its own price",
    "cost": f"millions of input tokens; a kept prefix counts {_PRICES.read}, the rest {_PRICES.write}; "
    "includes summary_cost",
    "cost_whole": "the same, for sending the whole history at each request that was not refused",
    "cpu_seconds": "CPU seconds of the context manager, without the summarizer's client",
}
"""The meaning of the figures of the JSON form; all others are plain counts."""

_NAME = 12  # minimum columns of a transcript's or strategy's name, which is folded
_LONGEST_NAME = 36
_SUMMED = (
    "messages",
    "raw_tokens",
    "requests",
    "tokens_sent",
    "tokens_after_first",
    "tokens_kept",
    "compactions",
    "summary_calls",
    "summaries",
    "summaries_failed",
    "summary_input_tokens",
    "summary_output_tokens",
    "summary_cost",
    "cost",
    "cost_whole",
    "refused",
    "invalid",
    "over_budget",
    "facts",
    "far_facts",
    "cpu_seconds",
)
_COLUMNS = {
    "messages": "mes-\nsages",
    "raw_tokens": "raw\ntok",
    "budget": "budget\ntok",
    "requests": "re-\nquests",
    "tokens_sent": "sent\ntok",
    "compactions": "compac-\ntions",
    "prefix_kept": "prefix\nkept %",
    "recall": "recall\n%",
    "reachable": "reach-\nable %",
    "far_recall": "far\nrecall\n%",
    "far_reachable": "far\nreach-\nable %",
    "summary_calls": "summary\ncalls",
    "summary_input_tokens": "summary\nin tok",
    "summary_output_tokens": "summary\nout tok",
    "summary_cost": "summary\nMtok-eq",
    "cost": "cost\nMtok-eq",
    "cost_whole": "whole\nMtok-eq",
    "refused": "re-\nfused",
    "invalid": "in-\nvalid",
    "over_budget": "over\nbudget",
    "cpu_seconds": "CPU\ns",
}
_ALIKE = ("messages", "requests")  # omitted when comparing strategies, so that rows fit 160 columns
_OF_SUMMARIES = (
    "summary_calls",
    "summary_input_tokens",
    "summary_output_tokens",
    "summary_cost",
)  # only if there are summaries
_RECALLS = ("recall", "reachable", "far_recall", "far_reachable")
_COMPARED = ("far_recall", "recall", "cost", "prefix_kept", "refused", "invalid", "over_budget")
_WARNING = {"refused": "yellow", "invalid": "bold red", "over_budget": "bold red"}
_LEGEND = (
    "recall: the share of earlier facts used next that was in the view",
    "reachable: in the view, or found by recalling one reference of it",
    "far: facts last mentioned further back than the budget",
    f"Mtok-eq: millions of input tokens, a kept prefix at {_PRICES.read}, the rest at {_PRICES.write}",
)
_SUMMARY_LEGEND = f"summaries: input at 1, output at {OUTPUT:g}, times their price; part of the cost"

Figures = dict[str, Any]


# Sums


def totals(outcomes: Sequence[Outcome]) -> Figures:
    """Return sums over all outcomes; `prefix_kept` is weighted by tokens, recalls are means."""
    sums: Figures = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in _SUMMED}
    sums["prefix_kept"] = sums["tokens_kept"] / sums["tokens_after_first"] if sums["tokens_after_first"] else None
    sums.update((name, mean(getattr(outcome, name) for outcome in outcomes)) for name in _RECALLS)
    return sums


def compared(outcomes: Sequence[Outcome]) -> list[Figures]:
    """Return the totals of each strategy with its name: highest far recall first, then highest recall, then lowest
    cost.

    Shares that print alike count as equal, so that cost decides between them.
    """
    found = [{"strategy": name, **totals(_of(name, outcomes))} for name in _strategies(outcomes)]
    return sorted(found, key=lambda sums: (_rank(sums["far_recall"]), _rank(sums["recall"]), sums["cost"]))


def _rank(share: float | None) -> float:
    return 1.0 if share is None else -round(share, 3)


def _strategies(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.strategy for outcome in outcomes))


def _of(strategy: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.strategy == strategy]


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return `outcomes`, `totals` and their `units`, for `json.dumps`.

    With several strategies `totals` is a list with one item per strategy, sorted as by `compared`.
    """
    rows = [_row(outcome) for outcome in outcomes]
    sums = compared(outcomes) if len(_strategies(outcomes)) > 1 else totals(outcomes)
    return {"outcomes": rows, "totals": sums, "units": UNITS}


# Tables


class _Line(NamedTuple):
    """A row of the wide table, or a column of the transposed one."""

    name: str
    strategy: str
    figures: Figures
    is_total: bool


def as_tables(outcomes: Sequence[Outcome], width: int) -> list[RenderableType]:
    """Return what a terminal of `width` columns shows: outcomes with totals, a comparison of strategies, and a legend.

    A table that would be too wide is transposed and split into blocks of a few transcripts. No figure is cut.
    """
    names = _strategies(outcomes)
    asked = any(outcome.summary_calls for outcome in outcomes)
    columns = [name for name in _COLUMNS if asked or name not in _OF_SUMMARIES]
    if len(names) < 2:
        shown = _fitting(list(_lines(outcomes)), columns, 1, width)
    else:
        columns = [name for name in columns if name not in _ALIKE]
        shown = _fitting(list(_lines(outcomes)), columns, len(names), width)
        ranking = [_Line("", str(sums["strategy"]), sums, False) for sums in compared(outcomes)]
        ranked = _fitting(ranking, _COMPARED, len(names), width)
        ranked[0].title = Text("most far recall, then most recall, then the cheapest")
        shown += ranked
    return [*shown, *(Text(text, style="dim") for text in (*_LEGEND, *([_SUMMARY_LEGEND] if asked else [])))]


def _lines(outcomes: Sequence[Outcome]) -> Iterator[_Line]:
    """Yield the lines, grouped by transcript, then the totals."""
    for label, outcome in zip(_labels(outcomes), outcomes, strict=True):
        yield _Line(label, line(outcome.strategy), _row(outcome), False)
    names = _strategies(outcomes)
    transcripts = len(outcomes) // max(1, len(names))
    if len(names) > 1 and transcripts == 1:
        return  # each line is its own total, which the comparison repeats
    for name in names or [""]:
        yield _Line(f"total of {transcripts}", line(name), totals(_of(name, outcomes)), True)


def _fitting(lines: list[_Line], columns: Sequence[str], strategies: int, width: int) -> list[Table]:
    whole = _wide(lines, columns, strategies)
    # names may be folded to _NAME columns, figures must not be cut
    named = [[shown.name for shown in lines], [shown.strategy if strategies > 1 else "" for shown in lines]]
    spare = sum(max(0, max(map(len, names), default=0) - _NAME) for names in named)
    if Console(width=10_000).measure(whole).maximum - spare <= width:
        return [whole]
    headed = max(len(_header(name)) for name in columns)
    at_once = max(1, (width - headed - 4) // (_NAME + 3))
    # with several strategies a table shows one transcript, split as evenly as possible
    step = at_once if strategies < 2 else -(-strategies // -(-strategies // at_once))
    blocks = [lines] if strategies < 2 else [lines[at : at + strategies] for at in range(0, len(lines), strategies)]
    return [
        _turned(block[at : at + step], columns, strategies) for block in blocks for at in range(0, len(block), step)
    ]


def _wide(lines: Sequence[_Line], columns: Sequence[str], strategies: int) -> Table:
    table = Table(title_justify="left")
    named = any(shown.name for shown in lines)
    if named:
        table.add_column("transcript", overflow="fold", min_width=_NAME)
    if strategies > 1:
        table.add_column("strategy", overflow="fold")
    for name in columns:
        table.add_column(_COLUMNS[name], justify="right", no_wrap=True)
    for at, shown in enumerate(lines):
        first, last = at % strategies == 0, at % strategies == strategies - 1
        style = "bold" if shown.is_total else ""
        names = [Text(shown.name if first else "", style=style)] if named else []
        names += [Text(shown.strategy, style=style)] if strategies > 1 else []
        ends = named and last and (strategies > 1 or lines[at + 1 : at + 2] == lines[-1:])
        table.add_row(*names, *_cells(shown.figures, columns), end_section=ends)
    return table


def _turned(lines: Sequence[_Line], columns: Sequence[str], strategies: int) -> Table:
    """Return the transposed table: a column per line."""
    name = lines[0].name if strategies > 1 else ""
    table = Table(title=Text(name) if name else None, title_justify="left")
    table.add_column("strategy" if strategies > 1 else "", no_wrap=True)
    for shown in lines:
        header = Text(shown.strategy if strategies > 1 else shown.name)
        table.add_column(header, justify="right", overflow="fold", min_width=_NAME)
    cells = [list(_cells(shown.figures, columns)) for shown in lines]
    for column, *figures in zip(columns, *cells, strict=True):
        table.add_row(_header(column), *figures)
    return table


def _header(column: str) -> str:
    return _COLUMNS[column].replace("-\n", "").replace("\n", " ")


def _labels(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the names without their common folder and without control characters; long paths keep their end."""
    paths = [outcome.name.split("/") for outcome in outcomes]
    shared = 0
    if len({outcome.name for outcome in outcomes}) > 1:
        while len({tuple(path[: shared + 1]) for path in paths}) == 1 and all(len(path) > shared + 1 for path in paths):
            shared += 1
    labels = [line("/".join(path[shared:])) for path in paths]
    return [label if len(label) <= _LONGEST_NAME else "…" + label[1 - _LONGEST_NAME :] for label in labels]


def _row(outcome: Outcome) -> Figures:
    return {**asdict(outcome), "prefix_kept": outcome.prefix_kept}


def _cells(figures: Figures, columns: Sequence[str]) -> Iterator[Text]:
    for name in columns:
        value = figures.get(name)
        if value is None:
            yield Text("-")
        elif name in ("prefix_kept", *_RECALLS):
            yield Text(f"{100 * value:.1f}")
        elif isinstance(value, float):
            yield Text(f"{value:.2f}" if name == "cpu_seconds" else f"{value:.3f}")
        else:
            yield Text(f"{value:,}", style=_WARNING.get(name, "") if value else "")
