"""The table and the plot of `chats.py`. Nothing is measured here."""

import statistics
from collections.abc import Sequence
from typing import Any

from page import PAGE, put
from peers.base import Peer
from peers.catalog import peer, versions

Row = dict[str, Any]
NAMES = {"window": "the newest messages that fit"}
ORDER = (
    "ours", "window", "strands-auto", "strands-window", "langchain-summary", "langchain-trim", "langchain-clear",
    "contract", "whole",
)  # fmt: skip


def of(rows: Sequence[Row], who: str, budget: int, statements: int) -> list[Row]:
    """Return the rows of one contender, a conversation each."""
    return [row for row in rows if (row["who"], row["budget"], row["statements"]) == (who, budget, statements)]


def spread(rows: Sequence[Row], key: str, unit: str = " %") -> str:
    """Write the median and, where it differs, the range."""
    if not rows:
        return "-"
    low, middle, high = (round(find(row[key] for row in rows)) for find in (min, statistics.median, max))
    return f"{middle:,}{unit}" if low == high else f"{middle:,}{unit} ({low:,} to {high:,})"


def name(who: str) -> str:
    """Return the name that tables show."""
    return NAMES.get(who) or peer(who, judged=True).name


def table(rows: Sequence[Row]) -> str:
    """Return a row for each contender, budget and length."""
    lines = [["budget", "statements", "", "in the view", "or by one recall", "stale", "rules kept", "tokens"]]
    lines.append(["---"] * len(lines[0]))
    for budget in sorted({row["budget"] for row in rows}):
        for statements in sorted({row["statements"] for row in rows}):
            for who in ORDER:
                some = of(rows, who, budget, statements)
                if some:
                    shares = [spread(some, key) for key in ("in_view", "found", "stale", "rules")]
                    start = [f"{budget:,}", f"{statements:,}", name(who)]
                    lines.append([*start, *shares, spread(some, "tokens", "")])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def setups(rows: Sequence[Row]) -> str:
    """Return how many conversations there are, and the versions of packages."""
    seeds = sorted({row["seed"] for row in rows})
    kinds: list[type[Peer]] = [peer(who, judged=True) for who in ORDER if who not in NAMES and any_of(rows, who)]
    packages = ", ".join(f"{package} {number}" for package, number in versions(list(kinds)).items())
    return f"Median and range of {len(seeds)} conversations (seeds {seeds[0]} to {seeds[-1]}). Versions: {packages}."


def any_of(rows: Sequence[Row], who: str) -> bool:
    """Return whether a contender was measured."""
    return any(row["who"] == who for row in rows)


def write(rows: Sequence[Row]) -> None:
    """Put the table into the page, and draw the plot."""
    put("chats", table(rows))
    put("chats-setups", setups(rows))
    draw(rows)


def draw(rows: Sequence[Row]) -> None:
    """Draw what is in the view, and what is there or one recall away, by the length of the conversation."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from pictures import MARKS, OTHERS, OURS, QUIET

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "backscroll", "font.family": "sans-serif"}
    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    budgets = sorted({row["budget"] for row in rows})
    for axes, budget in zip(figure.subplots(1, len(budgets), squeeze=False)[0], budgets, strict=True):
        others = iter(zip(OTHERS * 2, MARKS * 2, strict=False))
        for who in ORDER:
            color, mark = (OURS, "o") if who == "ours" else next(others)
            if who in ("whole", "langchain-clear"):
                continue  # both show everything, whatever it weighs
            lengths: list[int] = sorted({row["statements"] for row in rows if of(rows, who, budget, row["statements"])})
            for key, style in (("found", "-"), ("in_view", "--")) if who == "ours" else (("found", "-"),):
                heights = [statistics.median(row[key] for row in of(rows, who, budget, length)) for length in lengths]
                label = name(who) + (
                    ", the view alone" if style == "--" else ", with a recall" if who == "ours" else ""
                )
                axes.plot(lengths, heights, color=color, marker=mark, linestyle=style, label=label)
        axes.set_title(f"current facts found, {budget:,} tokens", loc="left", fontsize=11)
        axes.set_xscale("log")
        axes.set_xticks(lengths, [f"{one:,}" for one in lengths])
        axes.minorticks_off()
        axes.set_xlabel("statements")
        axes.set_ylabel("%")
        axes.set_ylim(-3, 103)
        axes.grid(visible=True, color=QUIET, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=QUIET, which="both")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(PAGE.parent / "plots" / "chats.svg", metadata={"Date": None}, facecolor="white")
