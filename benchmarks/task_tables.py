"""The tables and the picture of `tasks.py`. Nothing is measured here."""

import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from page import put
from peers.catalog import CONTENDERS, FURTHER, peer
from worlds.agent import RECALLS

Row = dict[str, Any]
Who = tuple[str, str]
"""A peer, and whether it may recall."""
AT = 16_000
"""The budget of the tables by world and of what is missing."""
NAMES = {
    "retail-first": "shop, look-ups first",
    "retail-later": "shop, one after another",
    "airline-first": "airline, look-ups first",
    "bfcl-base": "BFCL, base",
    "bfcl-long": "BFCL, long",
}


ASKED = {"none": "", "words": ", with recalls", "call": ", with recalls and known values"}


def show(found: list[Row]) -> str:
    """Return all tables."""
    return "\n\n".join((by_budget(found), by_world(found), by_shape(found), missing(found)))


def write(found: list[Row], setting: Row) -> None:
    """Put the tables and the picture into the page."""
    put("tasks", by_budget(found))
    put("tasks-worlds", by_world(found))
    put("tasks-shapes", by_shape(found))
    put("tasks-missing", missing(found))
    versions = ", ".join(f"{name} {number}" for name, number in setting["versions"].items())
    put("tasks-versions", f"Python {setting['python']}; {versions}.")
    draw(found, Path(__file__).resolve().parent / "plots")


def contenders(found: Iterable[Row]) -> list[Who]:
    """Return who was measured, in the order of the measurement. One that never recalled has one row."""
    known = dict.fromkeys((row["peer"], row["recall"]) for row in found)
    used = {(row["peer"], row["recall"]) for row in found if row["recalls"]}
    return sorted((who for who in known if who[1] == "none" or who in used), key=_place)


def _place(who: Who) -> tuple[int, int]:
    return [*CONTENDERS, *FURTHER].index(who[0]), RECALLS.index(who[1])


def name_of(who: Who) -> str:
    """Return a contender's name in a table."""
    return f"{peer(who[0]).name}{ASKED[who[1]]}"


def share(some: list[Row], key: str = "done") -> float:
    """Return the share of tasks that were done."""
    return float(sum(row[key] for row in some) / sum(row["tasks"] for row in some))


def mean(some: list[Row], key: str = "done") -> float:
    """Return the mean of the worlds' shares, so that none counts for its number of tasks."""
    worlds = dict.fromkeys(row["world"] for row in some)
    return statistics.mean(share([row for row in some if row["world"] == world], key) for world in worlds)


def spread(some: list[Row]) -> str:
    """Write a share with the smallest and the largest of the sessions."""
    shares = [share([row]) for row in some]
    return f"{share(some):.0%} ({min(shares):.0%} to {max(shares):.0%})"


def of(found: list[Row], who: Who, **wanted: Any) -> list[Row]:
    """Return the rows of one contender."""
    return [
        row
        for row in found
        if (row["peer"], row["recall"]) == who and all(row[key] == value for key, value in wanted.items())
    ]


def by_budget(found: list[Row]) -> str:
    """Return the means over the worlds at each budget, and the sizes of views at one of them."""
    budgets = sorted({row["budget"] for row in found})
    at = AT if AT in budgets else budgets[0]
    head = ["", *(f"{budget:,}" for budget in budgets), "tokens of a view", "views over the budget", "done if accepted"]
    lines = []
    for who in contenders(found):
        here = of(found, who, budget=at)
        cells = [f"{mean(some):.1%}" if (some := of(found, who, budget=budget)) else "-" for budget in budgets]
        if here:
            sizes, over = statistics.mean(row["tokens"] for row in here), statistics.mean(row["over"] for row in here)
            cells += [f"{sizes:,.0f}", f"{over:.0%}", f"{mean(here, 'done_in_any_size'):.1%}"]
        lines.append([name_of(who), *cells])
    return table(head, lines)


def by_world(found: list[Row]) -> str:
    """Return the shares in each world at one budget, with the range over the sessions."""
    worlds = [world for world in NAMES if any(row["world"] == world for row in found)]
    lines = []
    for who in contenders(found):
        cells = [spread(some) if (some := of(found, who, budget=AT, world=world)) else "-" for world in worlds]
        lines.append([name_of(who), *cells])
    return table([f"at {AT:,} tokens", *(NAMES[world] for world in worlds)], lines)


def by_shape(found: list[Row]) -> str:
    """Return the means for each shape of results."""
    shapes, budgets = sorted({row["shape"] for row in found}), sorted({row["budget"] for row in found})
    lines = []
    for who in contenders(found):
        cells = [
            f"{mean(some):.0%}" if (some := of(found, who, budget=budget, shape=shape)) else "-"
            for shape in shapes
            for budget in budgets
        ]
        lines.append([name_of(who), *cells])
    return table(["", *(f"{shape}, {budget:,}" for shape in shapes for budget in budgets)], lines)


def missing(found: list[Row]) -> str:
    """Return for ours which arguments were missing at one budget: in the view, and after recalls."""
    lines = []
    for world in NAMES:
        cells = []
        for recall in ("none", "words"):
            here = of(found, ("ours", recall), budget=AT, world=world)
            counted = Counter(name for row in here for _, names in row["missed"] for name in set(names))
            calls, actions = sum(len(row["missed"]) for row in here), sum(row["actions"] for row in here)
            said = ", ".join(f"{name} {number}" for name, number in counted.most_common(4))
            cells.append(f"{calls:,} of {actions:,}: {said}" if calls else f"0 of {actions:,}")
        lines.append([NAMES[world], *cells])
    return table(["calls left out, and for what", "Backscroll", "Backscroll, with recalls"], lines)


def table(head: list[str], lines: list[list[str]]) -> str:
    """Write a table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(found: list[Row], folder: Path) -> None:
    """Draw the shares by the budget, in the view alone and with recalls."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter
    from pictures import MARKS, OTHERS, OURS, QUIET

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "backscroll", "font.family": "sans-serif"}
    figure = Figure(figsize=(9.2, 5.2), layout="constrained")
    axes: Any = figure.subplots()
    others = iter(zip(OTHERS * 2, MARKS * 2, strict=False))
    budgets = sorted({row["budget"] for row in found})
    for who in contenders(found):
        points = [(budget, mean(some)) for budget in budgets if (some := of(found, who, budget=budget))]
        ours = who[0].startswith("ours")
        color, mark = (OURS, "os"[who[0] != "ours"]) if ours else next(others)
        style, width = {"none": "-", "words": "--", "call": ":"}[who[1]], 2.6 if ours else 1.4
        axes.plot(
            *zip(*points, strict=True), color=color, marker=mark, linewidth=width, linestyle=style, label=name_of(who)
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("tokens of a request")
    axes.set_title("tasks done, mean of the worlds", loc="left", fontsize=11)
    axes.grid(visible=True, which="major", color=QUIET, alpha=0.25)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    axes.tick_params(colors=QUIET, which="both")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    figure.savefig(folder / "tasks.svg", metadata={"Date": None}, facecolor="white")
