"""Tables and the plot of `effective_cost.py`. Nothing is measured here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from page import PAGE, grid, put
from peers.catalog import versions

from backscroll.evaluation.compare.pricing import TARIFFS
from effective.contenders import CONTENDERS, OURS, contender
from effective.judging import Bill
from effective.pricing import Policy, Share, at_price, crossing, effective, fetched, ratio, sent

Row = dict[str, Any]
ANTHROPIC, OPENAI = TARIFFS["anthropic"], TARIFFS["openai"]
HIGHEST = 30_000
"""Tokens: the highest price of a miss in the plot."""
LOST = 10_000
"""Tokens: a price of what no tool gives again."""
POLICIES = {
    "recall first": Policy(),
    "tools again at once": Policy(recall=False),
    f"recall first, what is lost costs {LOST:,}": Policy(lost=LOST),
}


def bill_of(rows: Sequence[Row]) -> Bill:
    """Return the sums of rows."""
    total = Bill()
    for row in rows:
        total.add(Bill(**{one.name: row[one.name] for one in fields(Bill)}))
    return total


def show(rows: Sequence[Row]) -> str:
    """Return all tables."""
    return "\n\n".join(f"{name}\n\n{table(rows)}" for name, table in TABLES.items())


def write(rows: Sequence[Row]) -> None:
    """Put the tables into the page, and draw the plot."""
    for name, table in TABLES.items():
        put(name, table(rows))
    draw(rows)


def sets(rows: Sequence[Row]) -> list[str]:
    """Return the names of the sets, in the order of their first rows by name."""
    return sorted({row["set"] for row in rows}, key=lambda known: (len(known.split(",")[0]), known))


def budgets(rows: Sequence[Row]) -> list[int]:
    """Return the budgets."""
    return sorted({row["budget"] for row in rows})


def complete(rows: Sequence[Row], budget: int, known: str | None = None) -> dict[str, list[Row]]:
    """Return the rows of each contender at a budget: of the conversations that all of them have."""
    some = [row for row in rows if row["budget"] == budget and known in (None, row["set"])]
    by_who = {who: [row for row in some if row["who"] == who] for who in CONTENDERS}
    by_who = {who: own for who, own in by_who.items() if own}
    common = set.intersection(*({_key(row) for row in own} for own in by_who.values())) if by_who else set()
    return {who: sorted((row for row in own if _key(row) in common), key=_key) for who, own in by_who.items()}


def _key(row: Row) -> str:
    return f"{row['set']} {row['name']}"


def amounts(rows: Sequence[Row], price: Callable[[Bill], float]) -> dict[str, tuple[float, float]]:
    """Return the price and the requests of each conversation."""
    return {_key(row): (price(bill_of([row])), row["requests"]) for row in rows}


def times(by_who: dict[str, list[Row]], who: str, price: Callable[[Bill], float]) -> Share:
    """Return how many times the default's price a contender's is."""
    return ratio(amounts(by_who[who], price), amounts(by_who[OURS], price))


def written(share: Share) -> str:
    """Write a ratio with its range."""
    return f"{share.value:.2f} ({share.low:.2f} to {share.high:.2f})"


def main_table(rows: Sequence[Row]) -> str:
    """Return what each contender sends, misses and costs, on each set."""
    head = ["set", "budget", "", "sent", "misses in 100 requests", "facts brought by the recall", "effective cost",
            "times the default", "at OpenAI's prices", "over budget"]  # fmt: skip

    def lines() -> Iterator[list[str]]:
        for number, known in enumerate(sets(rows), 1):
            for budget in budgets(rows):
                by_who = complete(rows, budget, known)
                for who in by_who:
                    yield [str(number), f"{budget:,}", *_cells(by_who, who)]

    return grid(head, lines())


def _cells(by_who: dict[str, list[Row]], who: str) -> list[str]:
    bill = bill_of(by_who[who])
    if not bill.requests:
        return [contender(who).name] + ["-"] * 7
    claude, openai = (
        times(by_who, who, partial(effective, prices=own, policy=Policy())) for own in (ANTHROPIC, OPENAI)
    )
    return [
        contender(who).name,
        f"{sent(bill, ANTHROPIC) / bill.requests:,.0f}",
        f"{100 * bill.misses / bill.requests:.1f}",
        f"{bill.brought / bill.missing:.0%}" if bill.recalls else "-",
        f"{effective(bill, ANTHROPIC, Policy()) / bill.requests:,.0f}",
        written(claude),
        written(openai),
        f"{bill.over / bill.requests:.0%}",
    ]


def crossings(rows: Sequence[Row]) -> str:
    """Return at which price of a miss who wins, over all sets."""
    head = ["budget", "", "sent", "misses in 100 requests", "costs less than the default where a miss costs",
            "a miss of its costs, recall first", "run again at once"]  # fmt: skip

    def lines() -> Iterator[list[str]]:
        for budget in budgets(rows):
            by_who = complete(rows, budget)
            ours = bill_of(by_who[OURS])
            for who in by_who:
                bill = bill_of(by_who[who])
                own = [
                    fetched(bill, ANTHROPIC, policy) / bill.misses if bill.misses else 0 for policy in POLICIES.values()
                ]
                yield [
                    f"{budget:,}", contender(who).name, f"{sent(bill, ANTHROPIC) / bill.requests:,.0f}",
                    f"{100 * bill.misses / bill.requests:.1f}", "" if who == OURS else where_cheaper(ours, bill),
                    *(f"{one:,.0f}" if one else "-" for one in own[:2]),
                ]  # fmt: skip

    return grid(head, lines())


def where_cheaper(ours: Bill, other: Bill) -> str:
    """Say at which prices of a miss another one costs less than the default."""
    price = crossing(ours, other, ANTHROPIC)
    cheaper = sent(other, ANTHROPIC) / other.requests < sent(ours, ANTHROPIC) / ours.requests
    if price is None:
        return "anything" if cheaper else "nothing: never"
    return f"less than {price:,.0f}" if cheaper else f"more than {price:,.0f}"


def policies(rows: Sequence[Row]) -> str:
    """Return what the agent's way to fetch changes, over all sets: times the default's price."""

    def lines() -> Iterator[list[str]]:
        for budget in budgets(rows):
            by_who = complete(rows, budget)
            for who in by_who:
                if who != OURS:
                    shares = (
                        written(times(by_who, who, partial(effective, prices=ANTHROPIC, policy=policy)))
                        for policy in POLICIES.values()
                    )
                    yield [f"{budget:,}", contender(who).name, *shares]

    return grid(["budget", "", *POLICIES], lines())


def setups(rows: Sequence[Row]) -> str:
    """Return what was measured: conversations, and versions of packages."""
    known = [who for who in CONTENDERS if any(row["who"] == who for row in rows)]
    packages = ", ".join(f"{name} {number}" for name, number in versions(list(map(contender, known))).items())
    of_sets = "; ".join(
        f"set {number} at {budget:,}: {len(by_who[OURS])} conversations, {bill_of(by_who[OURS]).requests:,} requests"
        for number, one in enumerate(sets(rows), 1)
        for budget in budgets(rows)
        if (by_who := complete(rows, budget, one)).get(OURS)
    )
    return f"{of_sets[0].upper()}{of_sets[1:]}. Versions: {packages}."


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "effective": main_table,
    "effective-crossings": crossings,
    "effective-policies": policies,
    "effective-setups": setups,
}


def draw(rows: Sequence[Row]) -> None:
    """Draw the effective cost by the price of a miss, a line a contender, with a mark at its own price of a miss."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from pictures import MARKS, OTHERS, QUIET
    from pictures import OURS as COLOR

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "backscroll", "font.family": "sans-serif"}
    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    for axes, budget in zip(figure.subplots(1, len(budgets(rows)), squeeze=False)[0], budgets(rows), strict=True):
        by_who = complete(rows, budget)
        others = iter(zip(OTHERS * 2, MARKS * 2, strict=False))
        for who, own in by_who.items():
            bill = bill_of(own)
            color, mark = (COLOR, "o") if who == OURS else (QUIET, "") if who == "whole" else next(others)
            ends = [at_price(bill, ANTHROPIC, miss) / bill.requests / 1_000 for miss in (0, HIGHEST)]
            line = axes.plot([0, HIGHEST / 1_000], ends, color=color, linewidth=2.6 if who == OURS else 1.4)[0]
            line.set(label=contender(who).name, linestyle=":" if who == "whole" else "-")
            if bill.misses:
                own_price = fetched(bill, ANTHROPIC, Policy()) / bill.misses
                height = at_price(bill, ANTHROPIC, own_price) / bill.requests / 1_000
                axes.plot([own_price / 1_000], [height], color=color, marker=mark, markersize=8)
        axes.set_title(f"effective cost of a request, {budget:,} tokens", loc="left", fontsize=11)
        axes.set_xlabel("price of a miss, thousands of tokens")
        axes.set_ylabel("thousands of input tokens")
        axes.set_ylim(
            0, 4 * effective(bill_of(by_who[OURS]), ANTHROPIC, Policy()) / bill_of(by_who[OURS]).requests / 1e3
        )
        axes.grid(visible=True, color=QUIET, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=QUIET, which="both")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(PAGE.parent / "plots" / "effective.svg", metadata={"Date": None}, facecolor="white")
