"""The command `backscroll replay`: options, tables and exit codes.

Exit codes: 0 success; 1 a view was invalid or over its budget; 2 a bad file or option; 3 requests were refused, because
messages that must stay do not fit the budget.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from backscroll import events
from backscroll.cli import replay_table as table
from backscroll.cli import screen
from backscroll.cli.group import Chain, app, budget_option, json_option, mode_option, parse_chains, strategy_option
from backscroll.cli.summary_options import asked_for, summary_options
from backscroll.cli.transcripts import blamed_on, load
from backscroll.evaluation.readers import Transcript
from backscroll.evaluation.run import Outcome, replay, requests_of
from backscroll.notices import BackscrollWarning


@app.command("replay")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@budget_option
@mode_option
@strategy_option(parse_chains, " Repeat the option to compare.")
@click.option(
    "--model",
    metavar="NAME",
    help="The model whose token counts to use, and that writes summaries with --summarizer.",
)
@summary_options
@json_option
@click.pass_context
def replay_command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    budget: int | float,
    mode: str,
    chosen: list[Chain],
    model: str | None,
    as_json: bool,
    **summary: Any,
) -> None:
    """Replay every request of the transcripts in FILE... and print its cost and what its views kept.

    A FILE of - reads standard input; a folder is searched for .json, .jsonl and .traj files. If --strategy is repeated,
    each transcript is replayed with each chain, and the chains are compared. No model is called, unless --summarizer
    names a client: then a model writes summaries, and the cost includes them.

    Exit code: 0 if every view is valid and fits; 1 if not; 2 for a bad file or option, or if every summary failed; 3 if
    requests were refused because messages that must stay do not fit.
    """
    asked = asked_for(chosen, model, **summary)
    loaded = load(files)
    outcomes: list[Outcome] = []
    with (
        _failures_in_the_report(),
        _progress(len(chosen) * sum(requests_of(transcript) for transcript in loaded.transcripts)) as tick,
    ):
        for transcript in loaded.transcripts:
            done = partial(tick, transcript.name)
            with blamed_on(transcript.name):
                again = partial(
                    replay, transcript, budget=budget, model=model, summaries=asked, progress=done, mode=mode
                )
                outcomes.extend(again(strategies=chain) for chain in chosen)
    if as_json:
        left_out = {transcript.name: transcript.reasons for transcript in loaded.transcripts if transcript.reasons}
        found = {**table.as_json(outcomes), "left_out": left_out, "skipped_files": loaded.skipped}
        screen.write(json.dumps(found, indent=2) + "\n")
    else:
        screen.show(*table.as_tables(outcomes, screen.width()), *_notes(loaded.transcripts, outcomes, len(chosen) > 1))
    ctx.exit(_code(outcomes))


def _code(outcomes: Sequence[Outcome]) -> int:
    sums = table.totals(outcomes)
    unheard = sums["summaries_failed"] and not sums["summaries"]
    if unheard:
        reason = next(outcome.summary_failure for outcome in outcomes if outcome.summary_failure)
        click.echo(f"backscroll: every summary failed: {screen.line(reason)}", err=True)
    return 1 if sums["invalid"] or sums["over_budget"] else 2 if unheard else 3 if sums["refused"] else 0


@contextmanager
def _failures_in_the_report() -> Iterator[None]:
    """Silence warnings of failed summaries: the report counts them."""
    with warnings.catch_warnings():
        begins = events.WARNINGS[events.SUMMARY_FAILED].partition("{")[0]
        warnings.filterwarnings("ignore", begins, BackscrollWarning)
        yield


def _notes(transcripts: Sequence[Transcript], outcomes: Sequence[Outcome], several: bool) -> Iterator[Text]:
    for outcome in outcomes:
        name = screen.line(outcome.name) + (f", {outcome.strategy}" if several else "")
        for problem in outcome.problems:
            yield Text(f"invalid: {name}: {screen.line(problem)}", style="red")
        if outcome.refusal:
            yield Text(f"refused: {name}: {screen.line(outcome.refusal)}", style="yellow")
        if outcome.summary_failure:
            failed = f"{outcome.summaries_failed} without a summary: {name}: {screen.line(outcome.summary_failure)}"
            yield Text(failed, style="yellow")
    for transcript in transcripts:
        if transcript.skipped:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in transcript.reasons.items())
            yield Text(f"left out: {screen.line(transcript.name)}: {screen.line(reasons)}", style="dim")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error, if it is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:  # older versions of rich write an empty line otherwise
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("requests", total=total)
        yield lambda name: bar.update(task, advance=1, description=f"requests of {_label(name)}")


def _label(name: str) -> str:
    return screen.line(Path(name).name)[-40:].replace("[", "(")
