"""Writes `docs/reference/cli/`, a page for each command, from the help of the commands.

    python docs/write_commands.py            writes the pages
    python docs/write_commands.py --check    writes nothing; exit code 1 if a page is stale

What a page says is corrected in the help of its command.
"""

import argparse
import contextlib
import io
import re
import sys
from pathlib import Path

import click

from backscroll.cli.group import app
from backscroll.cli.main import main as load

PAGES = Path(__file__).resolve().parent / "reference/cli"
BAR = r"\|"
"""A bar in a cell of a table."""


def paragraphs(text: str, names: list[str]) -> str:
    """Help as Markdown: paragraphs on one line each; what is marked so keeps its lines."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        kept = lines[0] == "\b"
        found.append("```text\n" + "\n".join(lines[1:]) + "\n```" if kept else escaped(" ".join(lines), names))
    return "\n\n".join(found)


def escaped(text: str, names: list[str]) -> str:
    """Text of a terminal as Markdown: options and names of arguments are code, a bar is no border of a table."""
    words = "|".join([r"--[a-z][\w-]*", *(rf"{name}(?:\.\.\.)?" for name in names)])
    text = re.sub(rf"(?<![\w`-])({words})(?![\w`])", r"`\1`", text)
    text = re.sub(r"(?<= of )-(?=[ ,.])", "`-`", text)  # standard input
    return re.sub(r"([|*<])", r"\\\1", text).replace("  [", " [")


def page(name: str, command: click.Command) -> str:
    """The page of a command."""
    context = click.Context(command, info_name=name, parent=click.Context(app, info_name="backscroll"))
    usage = command.get_usage(context).removeprefix("Usage: ")
    arguments = [option.make_metavar(context) for option in command.params if isinstance(option, click.Argument)]
    names = sorted({re.sub(r"[^A-Z_]", "", each) for each in arguments})
    rows = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    table = [f"| `{found[0].replace('|', BAR)}` | {escaped(found[1], names)} |" for found in rows if found is not None]
    lines = [
        f"# {name}",
        "",
        f"This page is the help of `backscroll {name}`. [Command line](../cli.md) lists all commands.",
        "",
        "```text",
        usage,
        "```",
        "",
        paragraphs(command.help or "", names),
        "",
        "| option | meaning |",
        "|---|---|",
        *table,
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    check: bool = parser.parse_args().check
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        load([])  # so that every command is there
    pages = {f"{name}.md": page(name, command) for name, command in app.commands.items()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    if check and kept != pages:
        stale = sorted(name for name in {*kept, *pages} if kept.get(name) != pages.get(name))
        print(f"stale in docs/reference/cli: {', '.join(stale)}; run: python docs/write_commands.py", file=sys.stderr)
        return 1
    if not check:
        PAGES.mkdir(exist_ok=True)
        for name in kept.keys() - pages:
            (PAGES / name).unlink()
        for name, text in pages.items():
            (PAGES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
