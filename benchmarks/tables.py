"""Tables and pictures of what `side_by_side.py` found. Nothing is measured here."""

import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from page import grid
from peers.base import Keeper, Peer
from peers.catalog import KEEPERS, PEERS, keeper, peer

Row = dict[str, Any]
Found = dict[str, Any]
OURS, OURS_KEPT = "ours-sqlite", "ours-full"


def show(found: Found) -> str:
    """Everything as text."""
    return "\n\n".join(f"{title}\n\n{table(found)}" for title, table in TABLES.items())


def write(found: Found, page: Path) -> None:
    """Puts the tables between the marks of the page, and the pictures beside it."""
    from pictures import draw

    text = page.read_text("utf-8")
    for title, table in TABLES.items():
        mark = re.compile(rf"(<!-- {title} -->\n).*?(<!-- end -->)", re.DOTALL)
        filled = f"\\g<1>{_escaped(table(found))}\n\\g<2>"
        text, number = mark.subn(filled, text)
        if number != 1:
            raise SystemExit(f"{page}: there is no place for the table {title!r}")
    page.write_text(text, "utf-8")
    draw(found, page.parent / "plots")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def of(found: Found, measure: str, known: str, length: int | None = None, budget: int | None = None) -> list[Row]:
    """The rows of one peer."""
    return [
        row
        for row in found["rows"]
        if (row["measure"], row["peer"]) == (measure, known)
        and length in (None, row["length"])
        and budget in (None, row["budget"])
    ]


def measured(found: Found, among: Iterable[str], *measures: str) -> list[str]:
    """Those that have rows of these measures."""
    return [known for known in among if any(of(found, measure, known) for measure in measures)]


def median(rows: Sequence[Row], key: str) -> float | None:
    """Of all repeats; None where there are none."""
    return statistics.median(row[key] for row in rows) if rows else None


def lengths(found: Found, measure: str) -> list[int]:
    """The histories that were measured."""
    return sorted({row["length"] for row in found["rows"] if row["measure"] == measure})


def times(found: Found, measure: str, known: str, ours: str, key: str, length: int) -> str:
    """How many times ours it is: the median over the repeats, and the smallest and the largest."""
    least = {row["repeat"]: row[key] for row in of(found, measure, ours, length)}
    ratios = [row[key] / least[row["repeat"]] for row in of(found, measure, known, length) if row["repeat"] in least]
    if not ratios:
        return ""
    return f"{factor(statistics.median(ratios))} ({factor(min(ratios))} to {factor(max(ratios))})"


def factor(value: float) -> str:
    """Two digits that matter."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def seconds(value: float | None) -> str:
    """In the unit that suits."""
    if value is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:,.1f} {unit}" if value / scale < 10 else f"{value / scale:,.0f} {unit}"
    return "0"


def exponent(found: Found, known: str) -> float | None:
    """How the cost of a step grows with the history: 0 is flat, 1 is in proportion. A line through the logarithms."""
    points = [
        (math.log(length), math.log(cost))
        for length in lengths(found, "steps")
        if (cost := median(of(found, "steps", known, length), "cpu")) is not None
    ]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def steps(found: Found) -> str:
    """CPU of a step by the length of the history."""
    all_lengths = lengths(found, "steps")
    rows = []
    for known in measured(found, PEERS, "steps"):
        cells = [seconds(median(of(found, "steps", known, length), "cpu")) for length in all_lengths]
        slope = exponent(found, known)
        compared = [length for length in all_lengths if of(found, "steps", known, length)][-1:]
        ratio = times(found, "steps", known, OURS, "cpu", compared[0]) if compared else ""
        kind = peer(known)
        rows.append([kind.name, f"{kind.keeps}, {kind.where}", *cells, "-" if slope is None else f"{slope:.2f}", ratio])
    head = ["", "keeps", *(f"{length:,}" for length in all_lengths), "exponent", "times Backscroll on SQLite"]
    return grid(head, rows)


def memory(found: Found) -> str:
    """What the process holds beyond its imports."""
    all_lengths = lengths(found, "steps")
    rows = []
    for known in measured(found, PEERS, "steps"):
        cells = []
        for length in all_lengths:
            held = median(of(found, "steps", known, length), "memory")
            cells.append("-" if held is None else f"{held / 1e6:,.0f} MB")
        rows.append([peer(known).name, f"{peer(known).keeps}, {peer(known).where}", *cells])
    return grid(["", "keeps", *(f"{length:,}" for length in all_lengths)], rows)


def _kept(found: Found, measure: str, last: Callable[[str], list[str]], head: Sequence[str]) -> str:
    all_lengths = lengths(found, measure)
    rows = []
    for known in measured(found, KEEPERS, measure):
        cells = [seconds(median(of(found, measure, known, length), "wall")) for length in all_lengths]
        rows.append([keeper(known).name, *cells, *last(known)])
    return grid(["", *(f"{length:,}" for length in all_lengths), *head], rows)


def append(found: Found) -> str:
    """One message kept, by what is there already."""

    def last(known: str) -> list[str]:
        some = [row for row in of(found, "append", known) if row["length"] == min(lengths(found, "append"))]
        bare = statistics.median(row["wall"] / row["bare"] for row in some) if some else None
        return ["-" if bare is None else factor(bare), "yes" if keeper(known).synced else "no"]

    return _kept(found, "append", last, ["times a bare commit, at the shortest", "survives a power cut"])


def resume(found: Found) -> str:
    """A new process has what its next request needs."""

    def last(known: str) -> list[str]:
        held = median([row for row in of(found, "resume", known) if row["length"] == 100_000], "memory")
        return ["-" if held is None else f"{held / 1e6:,.0f} MB"]

    return _kept(found, "resume", last, ["memory at 100,000"])


def cost(found: Found) -> str:
    """A whole session, at each budget."""
    rows = []
    for budget in sorted({row["budget"] for row in found["rows"] if row["measure"] == "cost"}):
        for known in PEERS:
            for row in of(found, "cost", known, budget=budget):
                share = "-" if row["prefix"] is None else f"{row['prefix']:.0%}"
                made = row["requests"] - row["refused"]
                rows.append(
                    [
                        f"{budget:,}",
                        peer(known).name,
                        f"{row['cost']:.2f}",
                        f"{row['peak']:,}",
                        share,
                        *(f"{row[key] / made:.0%}" for key in ("over", "broken", "lost") if key in row),
                    ]
                )
    head = ["budget", "", "cost", "largest", "prefix kept", "over budget", "broken", "task lost"]
    return grid(head, rows)


def setups(found: Found) -> str:
    """Who was measured, and how each was set up."""
    rows = []
    stepping, keeping = measured(found, PEERS, "steps", "cost"), measured(found, KEEPERS, "append", "resume")
    kinds: list[type[Peer] | type[Keeper]] = [*map(peer, stepping), *map(keeper, keeping)]
    for kind in kinds:
        rows.append([kind.name, f"{kind.package} {found['versions'][kind.package]}", kind.about])
    return grid(["", "package", "set up"], dict.fromkeys(map(tuple, rows)))


def ran_on(found: Found) -> str:
    """The machine."""
    return f"Python {found['python']}, {found['system']}."


TABLES: dict[str, Callable[[Found], str]] = {
    "steps": steps,
    "memory": memory,
    "append": append,
    "resume": resume,
    "cost": cost,
    "setups": setups,
    "machine": ran_on,
}
