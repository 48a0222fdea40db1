"""The command `backscroll compare`: options, tables and exit codes.

Exit codes as of `backscroll replay`: 0 success; 1 a view was invalid or over its budget; 2 a bad file or option, or a
failed job; 3 requests were refused. Ctrl-C ends all processes with exit code 130.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
from rich.text import Text

from backscroll.cli import compare_table as table
from backscroll.cli import screen
from backscroll.cli.group import Chain, app, json_option, model_option, parse_budget, parse_chains
from backscroll.cli.replaying import bar, jobs_option, look, parse_share, prices_option, run
from backscroll.compaction.modes import MODES, STANDARD
from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare import aggregate as sums
from backscroll.evaluation.compare import inputs as files
from backscroll.evaluation.compare import ray_pool as cluster
from backscroll.evaluation.compare.jobs import Job, Row
from backscroll.evaluation.compare.pricing import Tariff
from backscroll.manager.options_file import read_options
from backscroll.manager.sync_manager import ContextManager

_MODES = {name: mode for name, mode in MODES.items() if mode is not STANDARD}
"""Modes that compete, by their labels; `auto` is the standard one."""
_SHOWN = 12  # up to this many transcripts, each is shown by default


def parse_budgets(ctx: click.Context | None, param: click.Parameter, value: str) -> list[int | float]:
    """Parse budgets separated by commas, each as `parse_budget` does."""
    return list(dict.fromkeys(parse_budget(ctx, param, one) for one in value.split(",")))


def parse_strategies(ctx: click.Context | None, param: click.Parameter, value: str) -> dict[str, Chain]:
    """Parse labels separated by commas into chains; `+` joins the strategies of a chain. A mode is `auto` in it."""
    asked = list(dict.fromkeys(name.strip() for name in value.split(",")))
    chains = [name.replace("+", ",") for name in asked if name not in _MODES]
    found = dict(zip([name for name in asked if name not in _MODES], parse_chains(ctx, param, chains), strict=True))
    return {name: found.get(name) for name in asked}


def parse_options(
    ctx: click.Context | None, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Read files of options, by their names."""
    found = {}
    for path in value:
        try:
            found[path] = read_options(path)
            ContextManager(**found[path]).close()  # checks the ranges once, and not in every job
        except ConfigurationError as error:
            raise click.BadParameter(screen.line(str(error)), ctx, param) from error
    return found


@app.command("compare", short_help="Compare strategies over your own transcripts.")
@click.argument("names", nargs=-1, required=True, metavar="FILE_OR_FOLDER...", type=click.Path(exists=True))
@click.option("--budget", "budgets", metavar="SIZES", default="32k", show_default=True, callback=parse_budgets,
              help="Tokens per request, separated by commas: 32k,128k; or 50% of each transcript.")  # fmt: skip
@click.option("--strategies", metavar="NAMES", default="auto,lean,clear,truncate", show_default=True,
              callback=parse_strategies,
              help="Strategies, separated by commas; clear+truncate is a chain of two; lean and facts are "
                   "modes.")  # fmt: skip
@click.option("--options", "given", metavar="FILE", multiple=True, callback=parse_options,
              help="Also replay with the options of a file, such as backscroll tune writes. Repeatable.")  # fmt: skip
@prices_option
@click.option("--keep", metavar="SHARE", default="95%", show_default=True, callback=parse_share,
              help="Recommend only strategies that keep at least this share of what the best one keeps.")  # fmt: skip
@model_option
@jobs_option
@click.option("--ray", "address", metavar="[ADDRESS]", is_flag=False, flag_value=cluster.LOCAL,
              help="Run on Ray: on this machine, or on the cluster at ADDRESS.")  # fmt: skip
@click.option("--each", is_flag=True, help=f"Show every transcript, even if there are more than {_SHOWN}.")
@json_option
@click.pass_context
def compare_command(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    budgets: list[int | float],
    strategies: dict[str, Chain],
    given: dict[str, dict[str, Any]],
    prices: Tariff,
    keep: float,
    model: str | None,
    processes: int | None,
    address: str | None,
    each: bool,
    as_json: bool,
) -> None:
    """Replay all transcripts of files and folders with each strategy at each budget, and recommend one.

    A folder is searched at any depth, such as ~/.claude/projects or ~/.codex/sessions. No model is called: recall and
    reachable recall measure how much of what the recorded messages used next was still available.

    Exit code: 0 if every view is valid and fits; 1 if not; 2 for a bad option or a failed job; 3 if requests were
    refused because messages that must stay do not fit.
    """
    found = look(names)
    jobs = [
        Job(source, label, budget=budget, tariff=prices, model=model, **how)
        for source in found.sources
        for budget in budgets
        for label, how in _competitors(strategies, given).items()
    ]
    with bar("replaying", sum(job.source.requests for job in jobs)) as tick:
        rows = run(jobs, processes, address, tick)
    added = sums.sums(rows)
    shown = _Shown(found=found, rows=rows, added=added, advised=sums.advice(added, keep), prices=prices)
    _print_json(shown) if as_json else _print(shown, each)
    ctx.exit(exit_code(added))


def _competitors(strategies: Mapping[str, Chain], given: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what a job gets of each competitor, by its label."""
    found: dict[str, dict[str, Any]] = {
        label: {"strategies": chain and tuple(chain), "mode": _MODES.get(label, STANDARD).name}
        for label, chain in strategies.items()
    }
    return found | {label: {"strategies": None, "options": options} for label, options in given.items()}


class _Shown(NamedTuple):
    found: files.Found
    rows: list[Row]
    added: list[sums.Sum]
    advised: list[sums.Advice]
    prices: Tariff


def _print_json(shown: _Shown) -> None:
    figures = table.as_json(shown.rows, shown.added, shown.advised, shown.prices)
    files_left = {"left_out": shown.found.left_out, "silent": shown.found.silent}
    screen.write(json.dumps({**figures, **files_left}, indent=2) + "\n")


def _print(shown: _Shown, each: bool) -> None:
    width = screen.width()
    several = each or 1 < len(shown.found.sources) <= _SHOWN
    recommended = [
        Text(f"recommended at {table.size(one.budget)}: {screen.line(one.why)}", style="bold") for one in shown.advised
    ]
    screen.show(
        *(table.each(shown.rows, width) if several else ()),
        *table.tables(shown.added, shown.prices, width),
        *table.notes(shown.rows),
        *table.modes(shown.added),
        *recommended,
    )


def exit_code(added: Sequence[sums.Sum]) -> int:
    """Return the exit code of a comparison, as the help of the command lists them."""
    if any(one.invalid or one.over_budget for one in added):
        return 1
    return 2 if any(one.failed for one in added) else 3 if any(one.refused for one in added) else 0
