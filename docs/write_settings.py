"""Writes the tables of options of the pages `amplifier.md` and `strands.md` from what configurations are read by.

    python docs/write_settings.py            writes them between their markers
    python docs/write_settings.py --check    writes nothing; exit code 1 if a table is stale

Nothing about an option may be stated here: what is in no model of settings is not in a table.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backscroll.integrations.amplifier import settings as amplifier
from backscroll.integrations.settings import SettingsModel, rows
from backscroll.integrations.strands import settings as strands

DOCS = Path(__file__).resolve().parent / "integrations"
PAGES: dict[str, tuple[str, type[SettingsModel], Callable[[Any], str]]] = {
    "amplifier.md": ("option", amplifier.Config, json.dumps),
    "strands.md": ("setting", strands.Config, repr),
}
"""What a page calls a setting, its model, and how the host's users write a default."""
BEGIN, END = "<!-- written: options -->", "<!-- end: options -->"


def table(name: str) -> str:
    """One row for each option of a page; defaults as they stand in a configuration, empty where there is none."""
    called, model, written_as = PAGES[name]
    shown = [f"| {called} | default | meaning |", "|---|---|---|"]
    for row in rows(model):
        default = "" if row.default is None else f"`{written_as(row.default)}`"
        shown.append(f"| `{row.name}` | {default} | {row.meaning.replace('|', '&#124;')} |")
    return "\n".join(shown)


def written(name: str, page: str) -> str:
    """The page with the table as it should be. Raises SystemExit where a marker is missing."""
    before, begun, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not begun or not closed:
        raise SystemExit(f"{name}: the markers {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{table(name)}\n\n{END}{after}"


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is stale")
    check: bool = parser.parse_args().check
    stale = 0
    for name in PAGES:
        page = DOCS / name
        old = page.read_text(encoding="utf-8")
        new = written(name, old)
        if check and new != old:
            print(f"docs/integrations/{name} is stale; run: python docs/write_settings.py", file=sys.stderr)
            stale = 1
        if not check:
            page.write_text(new, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
