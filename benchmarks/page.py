"""The page that shows what the benchmarks found."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "README.md"


def put_rows(name: str, table: str) -> None:
    """Put the rows of a table in place of those that begin alike; all of it where the one before has other columns."""
    found = _mark(name).search(PAGE.read_text("utf-8"))
    before, rows = found[2].splitlines() if found else [], table.splitlines()
    if before[:1] == rows[:1]:
        by_first = {row.split("|")[1]: row for row in before} | {row.split("|")[1]: row for row in rows}
        rows = list(by_first.values())
    put(name, "\n".join(rows))


def put(name: str, table: str) -> None:
    """Put a table between its marks, in place of the one before."""
    text, number = _mark(name).subn(lambda found: f"{found[1]}{table}\n{found[3]}", PAGE.read_text("utf-8"))
    if number != 1:
        raise SystemExit(f"{PAGE}: there is no place for the table {name!r}")
    PAGE.write_text(text, "utf-8")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mark(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
