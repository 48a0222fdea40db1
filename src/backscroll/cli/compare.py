"""The command `backscroll compare`: options, tables and exit codes.

Exit codes as of `backscroll replay`: 0 success; 1 a view was invalid or over its budget; 2 a bad file or option, or a
failed job; 3 requests were refused. Ctrl-C ends all processes with exit code 130.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from backscroll.cli import compare_table as table
from backscroll.cli import screen
from backscroll.cli.group import BadInput, Chain, app, json_option, model_option, parse_budget, parse_chains
from backscroll.compaction.modes import MODES, STANDARD
from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare import aggregate as sums
from backscroll.evaluation.compare import inputs as files
from backscroll.evaluation.compare import process_pool as pools
from backscroll.evaluation.compare import ray_pool as cluster
from backscroll.evaluation.compare.jobs import Job, Row
from backscroll.evaluation.compare.pricing import TARIFFS, Tariff, tariff

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


def _tariff(ctx: click.Context, param: click.Parameter, value: str) -> Tariff:
    try:
        return tariff(value)
    except ConfigurationError as error:
        raise click.BadParameter(screen.line(str(error)), ctx, param) from error


tariff_option = click.option(
    "--prices",
    metavar="NAME|FILE",
    default="anthropic",
    show_default=True,
    callback=_tariff,
    help=f"{', '.join(TARIFFS)}, or a TOML or JSON file with your own prices.",
)


def _share(ctx: click.Context | None, param: click.Parameter, value: str) -> float:
    """Parse a share above 0% and up to 100%."""
    found = parse_budget(ctx, param, value if value.endswith("%") else value + "%")
    return float(found)


@app.command("compare", short_help="Compare strategies over your own transcripts.")
@click.argument("names", nargs=-1, required=True, metavar="FILE_OR_FOLDER...", type=click.Path(exists=True))
@click.option("--budget", "budgets", metavar="SIZES", default="32k", show_default=True, callback=parse_budgets,
              help="Tokens per request, separated by commas: 32k,128k; or 50% of each transcript.")  # fmt: skip
@click.option("--strategies", metavar="NAMES", default="auto,lean,clear,truncate", show_default=True,
              callback=parse_strategies,
              help="Strategies, separated by commas; clear+truncate is a chain of two; lean is a mode.")  # fmt: skip
@tariff_option
@click.option("--keep", metavar="SHARE", default="95%", show_default=True, callback=_share,
              help="Recommend only strategies that keep at least this share of what the best one keeps.")  # fmt: skip
@model_option
@click.option("--jobs", "processes", type=click.IntRange(min=1), metavar="N",
              help="Number of processes; default: one per core.")  # fmt: skip
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
    found = _look(names)
    chains = {label: None if chain is None else tuple(chain) for label, chain in strategies.items()}
    jobs = [
        Job(source, label, chain, budget, prices, model, _MODES.get(label, STANDARD).name)
        for source in found.sources
        for budget in budgets
        for label, chain in chains.items()
    ]
    rows = _run(jobs, processes, address)
    added = sums.sums(rows)
    shown = _Shown(found, rows, added, sums.advice(added, keep), prices)
    _print_json(shown) if as_json else _print(shown, each)
    ctx.exit(exit_code(added))


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


def _look(names: Sequence[str]) -> files.Found:
    paths = files.listed(names)
    with _bar("reading", len(paths)) as tick:
        found = files.look(paths, lambda name: tick(name, 1))
    for reason in found.left_out:
        click.echo(f"left out: {screen.line(reason)}", err=True)
    if found.silent:
        click.echo(f"left out: {found.silent} conversations without an assistant message", err=True)
    if not found.sources:
        raise BadInput(f"{', '.join(names)}: found no transcript with a request")
    return found


def _run(jobs: Sequence[Job], processes: int | None, address: str | None) -> list[Row]:
    """Return all rows in the order of the jobs."""
    if address is None:
        start = partial(pools.rows, jobs, min(processes or pools.cores(), len(jobs)))
    else:
        start = partial(cluster.rows, jobs, address, processes)
    done: dict[int, Row] = {}
    try:
        with _bar("replaying", sum(job.source.requests for job in jobs)) as tick, closing(start()) as coming:
            for at, row in coming:
                done[at] = row
                tick(row.name, jobs[at].source.requests)
    except ConfigurationError as error:
        raise BadInput(str(error)) from error
    except KeyboardInterrupt:
        raise click.Abort from None
    return [done[at] for at in range(len(jobs))]


Tick = Callable[[str, int], None]


@contextmanager
def _bar(what: str, total: int) -> Iterator[Tick]:
    """Show a bar with the estimated time left on standard error, if it is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left:"), TimeRemainingColumn(),
    )  # fmt: skip
    if not console.is_terminal:  # older versions of rich write an empty line otherwise
        yield lambda *_: None
        return
    # jobs differ in length, so the speed of the last seconds would mislead
    with Progress(*columns, console=console, transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name, steps: bar.update(task, advance=steps, description=f"{what} {screen.line(name)[-40:]}")
