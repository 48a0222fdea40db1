"""The page that shows what the benchmarks found."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "README.md"


def put(name: str, table: str) -> None:
    """Put a table between its marks, in place of the one before."""
    mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    text, number = mark.subn(lambda found: f"{found[1]}{table}\n{found[2]}", PAGE.read_text("utf-8"))
    if number != 1:
        raise SystemExit(f"{PAGE}: there is no place for the table {name!r}")
    PAGE.write_text(text, "utf-8")
