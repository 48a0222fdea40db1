"""The command group, its errors, and the options that several commands share.

No command is defined here, so that commands need not import each other.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from backscroll import __version__
from backscroll.cli import screen
from backscroll.cli.commands import Commands
from backscroll.compaction.modes import MODES, STANDARD
from backscroll.compaction.strategies import STRATEGIES

NAMES = ("auto", *STRATEGIES)
"""The names that a chain may hold, read from the library so that new strategies appear without a change here."""
Chain = list[str] | None
"""Strategies in order of use; `None` is `auto`."""
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="backscroll")
def app() -> None:
    """Manage stored sessions, and replay recorded agent conversations under a token budget."""


class BadInput(click.ClickException):
    """A file or option that cannot be used: one line on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"backscroll: {screen.line(self.message)}", file=file, err=True)


def parse_budget(ctx: click.Context | None, param: click.Parameter | None, value: str) -> int | float:
    """Parse a budget: `32000`, `32k` and `1.5m` are tokens (int); `50%` is a share of each transcript (float)."""
    found = re.fullmatch(r"([0-9][0-9_]*(?:\.[0-9]+)?)([km%]?)", value.strip().lower())
    number, unit = (float(found[1].replace("_", "")), found[2]) if found else (0.0, "")
    if unit == "%" and 0 < number <= 100:
        return number / 100
    if unit == "%" or number * _UNITS[unit] < 1:
        what = f"{value!r} is not a budget; write tokens as 32000 or 32k, or a share above 0% and up to 100%"
        raise click.BadParameter(what, ctx, param)
    return int(number * _UNITS[unit])


def parse_chains(ctx: click.Context | None, param: click.Parameter | None, values: Sequence[str]) -> list[Chain]:
    """Parse chains of strategies: names separated by commas; `auto` must be the only name and means all (`None`)."""
    chains = [_chain(value, ctx, param) for value in values]
    twice = next((value for at, value in enumerate(values) if chains[at] in chains[:at]), None)
    if twice is not None:
        raise click.BadParameter(f"{twice!r} is given twice; pass each chain once", ctx, param)
    return chains


def _chain(value: str, ctx: click.Context | None, param: click.Parameter | None) -> Chain:
    names = [name.strip() for name in value.split(",")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not a strategy; choose from {', '.join(NAMES)}", ctx, param)
    if len(set(names)) < len(names) or ("auto" in names and len(names) > 1):
        raise click.BadParameter("name each strategy once, and use 'auto' (all strategies) alone", ctx, param)
    return None if names == ["auto"] else names


def parse_names(
    what: str, known: Sequence[str]
) -> Callable[[click.Context | None, click.Parameter | None, str], list[str]]:
    """Return a callback for an option that takes names separated by commas.

    Args:
        what: What each name is, for the error about one that is not.
        known: The names.
    """

    def parse(ctx: click.Context | None, param: click.Parameter | None, value: str) -> list[str]:
        names = [name.strip() for name in value.split(",") if name.strip()]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise click.BadParameter(f"{unknown[0]!r} is not {what}; choose from {', '.join(known)}", ctx, param)
        return list(dict.fromkeys(names))

    return parse


def strategy_option(callback: Callable[..., Any], more: str = "") -> Decorator:
    """Return the option for strategies; `callback` checks its value."""
    return click.option(
        "--strategy",
        "chosen",
        metavar="NAMES",
        default=("auto",),
        show_default=True,
        multiple=True,
        callback=callback,
        help=f"Strategies, separated by commas: {', '.join(NAMES)}.{more}",
    )


mode_option: Decorator = click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    default=STANDARD.name,
    show_default=True,
    help="; ".join(f"{mode.name}: {mode.buys}" for mode in MODES.values()) + ".",
)
budget_option: Decorator = click.option(
    "--budget",
    metavar="SIZE",
    default="32k",
    show_default=True,
    callback=parse_budget,
    help="Tokens per request: 32k, 32000, or 50% of each transcript.",
)
model_option: Decorator = click.option("--model", metavar="NAME", help="The model whose token counts to use.")
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
