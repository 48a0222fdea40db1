"""Pictures of what `side_by_side.py` found, for `benchmarks/README.md`. Drawn as SVG, with text as text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from peers.catalog import KEEPERS, PEERS, keeper, peer
from tables import Found, lengths, median, of, seconds

OURS, OTHERS = "#c2410c", ["#1d4ed8", "#047857", "#7c3aed", "#0e7490", "#a16207", "#be185d", "#4d7c0f", "#475569"]
MARKS = "os^vDPX*<>h"
QUIET = "#64748b"
"""Grid, ticks and frame: readable on white and on the dark ground of a page."""


def draw(found: Found, folder: Path) -> None:
    """All pictures, into the folder."""
    folder.mkdir(exist_ok=True)
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "backscroll", "font.family": "sans-serif"}
    for name, picture in {"steps": steps, "append": append, "resume": resume}.items():
        figure = picture(found)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white")


def steps(found: Found) -> Figure:
    """CPU of a step."""
    return _lines(found, "steps", "cpu", list(PEERS), lambda known: peer(known).name, "CPU of one step")


def append(found: Found) -> Figure:
    """Time of an append."""
    return _lines(found, "append", "wall", list(KEEPERS), lambda known: keeper(known).name, "time to keep one message")


def resume(found: Found) -> Figure:
    """Time to come back."""
    return _lines(found, "resume", "wall", list(KEEPERS), lambda known: keeper(known).name, "time to come back")


def _lines(
    found: Found, measure: str, key: str, everybody: Sequence[str], name: Callable[[str], str], what: str
) -> Figure:
    figure = Figure(figsize=(9.2, 5.2), layout="constrained")
    axes: Axes = figure.subplots()
    others = iter(zip(OTHERS * 2, MARKS * 2, strict=False))
    for known in everybody:
        points = [
            (length, cost)
            for length in lengths(found, measure)
            if (cost := median(of(found, measure, known, length), key)) is not None
        ]
        if points:
            ours = known.startswith("ours")
            color, mark = (OURS, "o" if known in ("ours", "ours-full") else "s") if ours else next(others)
            axes.plot(
                *zip(*points, strict=True),
                color=color,
                marker=mark,
                linewidth=2.6 if ours else 1.4,
                linestyle="--" if known in ("ours", "ours-normal") else "-",
                label=name(known),
                zorder=3 if ours else 2,
            )
    _dress(axes, what)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _dress(axes: Any, what: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("messages in the history")
    axes.set_title(what, loc="left", fontsize=11)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    axes.grid(visible=True, which="major", color=QUIET, alpha=0.25)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    axes.tick_params(colors=QUIET, which="both")
