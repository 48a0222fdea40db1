"""Reads transcripts and runs replays with progress on standard error, and the options of commands that do so."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from backscroll.cli import screen
from backscroll.cli.group import BadInput, Decorator, parse_budget
from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare import inputs as files
from backscroll.evaluation.compare import process_pool as pools
from backscroll.evaluation.compare import ray_pool as cluster
from backscroll.evaluation.compare.jobs import Job, Row
from backscroll.evaluation.compare.pricing import TARIFFS, Tariff, tariff
from backscroll.evaluation.folders import SUFFIXES

Tick = Callable[[str, int], None]
"""Reports that so many requests of a transcript are done."""


def _tariff(ctx: click.Context, param: click.Parameter, value: str) -> Tariff:
    try:
        return tariff(value)
    except ConfigurationError as error:
        raise click.BadParameter(screen.line(str(error)), ctx, param) from error


prices_option: Decorator = click.option(
    "--prices", metavar="NAME|FILE", default="anthropic", show_default=True, callback=_tariff,
    help=f"{', '.join(TARIFFS)}, or a TOML or JSON file with your own prices.",
)  # fmt: skip
jobs_option: Decorator = click.option(
    "--jobs", "processes", type=click.IntRange(min=1), metavar="N",
    help="Number of processes; default: one per core.",
)  # fmt: skip


def parse_share(ctx: click.Context | None, param: click.Parameter, value: str) -> float:
    """Parse a share above 0% and up to 100%."""
    found = parse_budget(ctx, param, value if value.endswith("%") else value + "%")
    return float(found)


def look(names: Sequence[str]) -> files.Found:
    """Read all files and folders, and report what is left out. Raises `BadInput` if none holds a request."""
    paths = files.listed(names)
    with bar("reading", len(paths)) as tick:
        found = files.look(paths, lambda name: tick(name, 1))
    for reason in found.left_out:
        click.echo(f"left out: {screen.line(reason)}", err=True)
    if found.silent:
        click.echo(f"left out: {found.silent} conversations without an assistant message", err=True)
    if not found.sources:
        raise BadInput(f"{', '.join(names)}: found no transcript with a request (searched: {', '.join(SUFFIXES)})")
    return found


def run(jobs: Sequence[Job], processes: int | None, address: str | None, tick: Tick) -> list[Row]:
    """Return all rows in the order of the jobs. `address`: that of Ray; `None`: processes of this machine."""
    if address is None:
        start = partial(pools.rows, jobs, min(processes or pools.cores(), len(jobs)))
    else:
        start = partial(cluster.rows, jobs, address, processes)
    done: dict[int, Row] = {}
    try:
        with closing(start()) as coming:
            for at, row in coming:
                done[at] = row
                tick(row.name, jobs[at].source.requests)
    except ConfigurationError as error:
        raise BadInput(str(error)) from error
    except KeyboardInterrupt:
        raise click.Abort from None
    return [done[at] for at in range(len(jobs))]


@contextmanager
def bar(what: str, total: int) -> Iterator[Tick]:
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
    with Progress(*columns, console=console, transient=True, speed_estimate_period=600) as shown:
        task = shown.add_task(what, total=total)
        yield lambda name, steps: shown.update(task, advance=steps, description=f"{what} {screen.line(name)[-40:]}")
