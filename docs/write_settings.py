"""Writes the table of options of `docs/amplifier.md` from the list that a configuration is read by.

    python docs/write_settings.py            writes it between its markers
    python docs/write_settings.py --check    writes nothing; exit code 1 if the table is stale

Nothing about an option may be stated here: what is not in `settings.SETTINGS` is not in the table.
"""

import argparse
import json
import sys
from pathlib import Path

from backscroll.adapters.amplifier.settings import SETTINGS

PAGE = Path(__file__).resolve().parent / "amplifier.md"
BEGIN, END = "<!-- written: options -->", "<!-- end: options -->"


def table() -> str:
    """One row for each option; defaults as they stand in a mount plan, empty where there is none."""
    rows = ["| option | default | meaning |", "|---|---|---|"]
    for setting in SETTINGS:
        default = "" if setting.default is None else f"`{json.dumps(setting.default)}`"
        rows.append(f"| `{setting.name}` | {default} | {setting.meaning.replace('|', '&#124;')} |")
    return "\n".join(rows)


def written(page: str) -> str:
    """The page with the table as it should be. Raises SystemExit where a marker is missing."""
    before, begun, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not begun or not closed:
        raise SystemExit(f"{PAGE.name}: the markers {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is stale")
    check: bool = parser.parse_args().check
    old = PAGE.read_text(encoding="utf-8")
    new = written(old)
    if check and new != old:
        print(f"docs/{PAGE.name} is stale; run: python docs/write_settings.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
