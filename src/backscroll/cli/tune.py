"""The command `backscroll tune`: options, the file it writes, and exit codes.

Exit codes: 0 the command could judge, whether it found options or not; 2 a bad file or option, or too few
conversations. Ctrl-C ends all processes with exit code 130.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from backscroll.cli import screen
from backscroll.cli import tune_table as table
from backscroll.cli.group import BadInput, app, budget_option, json_option, model_option
from backscroll.cli.replaying import bar, jobs_option, look, parse_share, prices_option, run
from backscroll.errors import BackscrollError
from backscroll.evaluation.compare.inputs import Found
from backscroll.evaluation.compare.pricing import Tariff
from backscroll.evaluation.tune.judging import COST, GOALS
from backscroll.evaluation.tune.split import Conversation, conversations_of
from backscroll.evaluation.tune.tuning import Task, Tuned, tune
from backscroll.manager.options_file import as_python, as_toml

_SUFFIXES = (".toml", ".json")


def _target(ctx: click.Context | None, param: click.Parameter, value: str | None) -> Path | None:
    if value is not None and Path(value).suffix not in _SUFFIXES:
        raise click.BadParameter(f"{value!r} must end in {' or '.join(_SUFFIXES)}", ctx, param)
    if value is not None and not Path(value).parent.is_dir():  # found out before a long search
        raise click.BadParameter(f"{value!r} is in no folder that exists", ctx, param)
    return None if value is None else Path(value)


@app.command("tune", short_help="Find options for your own transcripts, and check them on others.")
@click.argument("names", nargs=-1, required=True, metavar="FOLDER...", type=click.Path(exists=True))
@budget_option
@click.option("--for", "goal", type=click.Choice(list(GOALS)), default=COST, show_default=True,
              help="; ".join(f"{name}: {meaning}" for name, meaning in GOALS.items()) + ".")  # fmt: skip
@click.option("--margin", metavar="SHARE", default="5%", show_default=True, callback=parse_share,
              help="How much worse the figure may get that is not the goal: what is kept, or the cost.")  # fmt: skip
@prices_option
@model_option
@click.option("--trials", type=click.IntRange(min=1), default=32, show_default=True, metavar="N",
              help="Maximum number of candidates to replay.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the split.")
@jobs_option
@click.option("--output", metavar="FILE", callback=_target, type=click.Path(dir_okay=False),
              help="Write the options to this .toml or .json file, unless the defaults are to be kept.")  # fmt: skip
@click.option("--each", is_flag=True, help="Show every candidate, in the order of the search.")
@json_option
def tune_command(
    *,
    names: tuple[str, ...],
    budget: int | float,
    goal: str,
    margin: float,
    prices: Tariff,
    model: str | None,
    trials: int,
    seed: int,
    processes: int | None,
    output: Path | None,
    each: bool,
    as_json: bool,
) -> None:
    """Find options that are cheaper, or keep more, on your own transcripts, and check them on those not looked at.

    Half of the conversations in FOLDER choose the options, the other half judges them once, next to the defaults. Where
    the gain may be chance, the command says to keep the defaults and writes nothing. No model is called.

    Exit code: 0 if the options could be judged; 2 for a bad option, or too few conversations.
    """
    task = Task(goal=goal, budget=budget, tariff=prices, model=model, margin=margin, trials=trials, seed=seed)
    found = look(names)
    tuned = _tune(found, task, processes)
    if as_json:
        files_left = {"left_out": found.left_out, "silent": found.silent}
        screen.write(json.dumps({**table.as_json(tuned, task), **files_left}, indent=2) + "\n")
    else:
        screen.show(
            *table.tables(tuned, task, each),
            Text(screen.line(table.verdict(tuned, task)), style="bold"),
            *_snippet(tuned, task),
        )
    if output and tuned.chosen and not tuned.keep_defaults:
        _write(output, table.settings_of(tuned.chosen.candidate, task), table.verdict(tuned, task))


def _tune(found: Found, task: Task, processes: int | None) -> Tuned:
    try:
        conversations = conversations_of(found.sources)
        with bar("replaying", _most_requests(conversations, task.trials)) as tick:
            return tune(conversations, task, partial(run, processes=processes, address=None, tick=tick))
    except BackscrollError as error:
        raise BadInput(str(error)) from error


def _most_requests(conversations: Sequence[Conversation], trials: int) -> int:
    """Return how many requests a search replays at most: one half for each trial, and both with the defaults."""
    return sum(one.requests for one in conversations) * (trials + 3) // 2


def _snippet(tuned: Tuned, task: Task) -> list[Text]:
    if tuned.chosen is None or tuned.keep_defaults:
        return []
    settings = table.settings_of(tuned.chosen.candidate, task)
    return [Text("\n" + as_python(settings)), Text(f"or as a file:\n\n{as_toml(settings)}")]


def _write(path: Path, settings: Mapping[str, Any], why: str) -> None:
    """Write the options; TOML begins with the evidence as a comment."""
    comment = f"# backscroll tune: {screen.line(why)}\n"
    text = comment + as_toml(settings) if path.suffix == ".toml" else json.dumps(settings, indent=2) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot write the options: {error.strerror or error}") from error
    click.echo(f"wrote {screen.line(str(path))}", err=True)
