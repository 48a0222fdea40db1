"""The picture of what `real_cache.py` found: tokens that the engine evaluated, request by request."""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from peers.catalog import peer
from pictures import OTHERS, OURS, QUIET

SHOWN = ("ours", "strands-auto", "langchain-summary", "langchain-trim", "contract", "whole")


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw the first session at each budget, as measured."""
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "backscroll", "font.family": "sans-serif"}
    measured = [row for row in rows if (row["settings"], row["tokenizer"]) == ("prefix", "engine")]
    budgets = sorted({row["budget"] for row in measured})
    figure = Figure(figsize=(9.2, 4.2), layout="constrained")
    for budget, axes in zip(budgets, figure.subplots(1, len(budgets), sharey=True, squeeze=False)[0], strict=True):
        _panel(axes, [row for row in measured if row["budget"] == budget], budget)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False, fontsize=9, ncols=3)
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, metadata={"Date": None}, facecolor="white")


def _panel(axes: Axes, rows: Sequence[dict[str, Any]], budget: int) -> None:
    colors = dict(zip(SHOWN, [OURS, *OTHERS], strict=False))
    for known in SHOWN:
        found = [row for row in rows if row["who"] == known][:1]
        for row in found:
            evaluated = accumulate(one["tokens"] - one["cached"] for one in row["requests"])
            ours = known == "ours"
            axes.plot(
                list(enumerate_from_one(row)),
                list(evaluated),
                color=colors[known],
                linewidth=2.6 if ours else 1.4,
                label=peer(known).name,
                zorder=3 if ours else 2,
            )
    axes.set_title(f"tokens evaluated so far, budget {budget:,}", loc="left", fontsize=11)
    axes.set_xlabel("request")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(visible=True, color=QUIET, alpha=0.25)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    axes.tick_params(colors=QUIET, which="both")


def enumerate_from_one(row: dict[str, Any]) -> range:
    """Return the numbers of a row's requests."""
    return range(1, len(row["requests"]) + 1)
