"""Draws the pictures of ARCHITECTURE.md from what is enforced: the import contracts and the files' own first sentences.

    python docs/draw_layers.py            writes them between their markers
    python docs/draw_layers.py --check    writes nothing; exit code 1 if a picture is stale

Nothing about the architecture may be stated here: what is not in `pyproject.toml` or in a docstring is not drawn.
"""

import argparse
import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
PACKAGE = ROOT / "src" / "backscroll"


def contracts() -> dict[str, dict[str, list[str]]]:
    """The import contracts by their ids."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def layers() -> list[list[str]]:
    """The rooms of each layer, from the top."""
    return [re.split(r"\s*[|:]\s*", layer) for layer in contracts()["rooms"]["layers"]]


def pure() -> set[str]:
    """The rooms of the pure core."""
    return {name.split(".")[1] for name in contracts()["pure"]["source_modules"]}


def picture() -> str:
    """The layers from the top, each allowed to import those below it, with a line where the pure core begins."""
    rows, core, below = [], pure(), False
    for rooms in layers():
        if not below and core.issuperset(rooms):
            below = True
            rows.append("--------- pure from here on: no I/O, no clock, no chance, no threads, no third party --------")
        rows.append(row(rooms))
    return "\n".join(["```text", *rows, "```"])


def row(rooms: list[str]) -> str:
    """One layer."""
    return "    ".join(rooms).center(94).rstrip()


def sentence(room: str) -> str:
    """The law of a room: the first sentence of its docstring."""
    path = PACKAGE / f"{room}.py"
    path = path if path.exists() else PACKAGE / room / "__init__.py"
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
    found = re.match(r".+?\.(?=\s|$)", " ".join(first.split()))
    return (found[0] if found else first).rstrip(".")


def rooms() -> str:
    """A table of the rooms, from the bottom, which is the order to read them in."""
    rows = ["| room | what it holds |", "|---|---|"]
    for layer in reversed(layers()):
        for room in layer:
            name = f"{room}.py" if (PACKAGE / f"{room}.py").exists() else f"{room}/"
            rows.append(f"| [`{name}`](src/backscroll/{name}) | {sentence(room).replace('|', '&#124;')} |")
    return "\n".join(rows)


def drawn(page: str) -> str:
    """The page with every picture as it should be. Raises SystemExit where a marker is missing."""
    for name, text in (("rooms", picture()), ("sentences", rooms())):
        begin, end = f"<!-- drawn: {name} -->", f"<!-- end: {name} -->"
        before, marked, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not marked or not closed:
            raise SystemExit(f"{PAGE.name}: the markers {begin} and {end} are missing")
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page


def main() -> int:
    """Draws, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture is stale")
    check: bool = parser.parse_args().check
    old = PAGE.read_text(encoding="utf-8")
    new = drawn(old)
    if check and new != old:
        print(f"{PAGE.name} is stale; run: python docs/draw_layers.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
