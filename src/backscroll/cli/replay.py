"""The command line: options in, tables and exit codes out. Nothing may be computed or parsed from transcripts here.

Exit codes: 0 fine; 1 a view was invalid or over its budget; 2 a bad file or option; 3 requests were refused, because
what must stay in a view does not fit the budget.
"""

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from backscroll import __version__, events
from backscroll.cli import replay_table as table
from backscroll.cli import screen
from backscroll.cli.summary_options import asked_for, summary_options
from backscroll.compaction.strategies import STRATEGIES
from backscroll.errors import BackscrollError
from backscroll.evaluation.folders import SUFFIXES, files
from backscroll.evaluation.readers import Transcript, TranscriptError, read
from backscroll.evaluation.run import Outcome, Weigher, backscroll_manager, budget_tokens, replay, requests_of, steps
from backscroll.notices import BackscrollWarning
from backscroll.tokens.engines import resolve

NAMES = ("auto", *STRATEGIES)
"""What a chain may hold; every strategy of the library, so that a new one needs no word here."""
Chain = list[str] | None
"""Strategies in the order of their use; None is `auto`."""
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


class BadInput(click.ClickException):
    """A file or option that cannot be used: one line on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"backscroll: {screen.line(self.message)}", file=file, err=True)


def parse_budget(ctx: click.Context | None, param: click.Parameter | None, value: str) -> int | float:
    """`32000`, `32k` and `1.5m` are tokens, an int; `50%` is a share of each transcript, a float."""
    found = re.fullmatch(r"([0-9][0-9_]*(?:\.[0-9]+)?)([km%]?)", value.strip().lower())
    number, unit = (float(found[1].replace("_", "")), found[2]) if found else (0.0, "")
    if unit == "%" and 0 < number <= 100:
        return number / 100
    if unit == "%" or number * _UNITS[unit] < 1:
        what = f"{value!r} is no budget; write tokens as 32000 or 32k, or a share over 0% to 100%"
        raise click.BadParameter(what, ctx, param)
    return int(number * _UNITS[unit])


def parse_chains(ctx: click.Context | None, param: click.Parameter | None, values: Sequence[str]) -> list[Chain]:
    """Each value names strategies with commas between; `auto` stands alone and means everything (None)."""
    chains = [_chain(value, ctx, param) for value in values]
    twice = next((value for at, value in enumerate(values) if chains[at] in chains[:at]), None)
    if twice is not None:
        raise click.BadParameter(f"{twice!r} is given twice; give each chain once", ctx, param)
    return chains


def _chain(value: str, ctx: click.Context | None, param: click.Parameter | None) -> Chain:
    names = [name.strip() for name in value.split(",")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is no strategy; choose from {', '.join(NAMES)}", ctx, param)
    if len(set(names)) < len(names) or ("auto" in names and len(names) > 1):
        raise click.BadParameter("name each strategy once, and 'auto' (everything) alone", ctx, param)
    return None if names == ["auto"] else names


def _only_chain(ctx: click.Context | None, param: click.Parameter | None, values: Sequence[str]) -> Chain:
    if len(values) > 1:
        raise click.BadParameter(
            f"a view is made by one chain, not by {len(values)}; give the option once, names with commas between",
            ctx,
            param,
        )
    return parse_chains(ctx, param, values)[0]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="backscroll")
def app() -> None:
    """Look after stored sessions, and replay recorded agent conversations under a token budget."""


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _strategy(callback: Callable[..., Any], more: str = "") -> Decorator:
    return click.option(
        "--strategy",
        "chosen",
        metavar="NAMES",
        default=("auto",),
        show_default=True,
        multiple=True,
        callback=callback,
        help=f"Strategies with commas between: {', '.join(NAMES)}.{more}",
    )


_budget: Decorator = click.option(
    "--budget",
    metavar="SIZE",
    default="32k",
    show_default=True,
    callback=parse_budget,
    help="Tokens a request: 32k, 32000, or 50% of each transcript.",
)
_model: Decorator = click.option("--model", metavar="NAME", help="The model whose token counts are used.")
_models: Decorator = click.option(
    "--model",
    metavar="NAME",
    help="The model whose token counts are used, and that writes summaries if any are wanted.",
)
_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@app.command("replay")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_budget
@_strategy(parse_chains, " Give it several times to compare.")
@_models
@summary_options
@_json
@click.pass_context
def replay_command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    budget: int | float,
    chosen: list[Chain],
    model: str | None,
    as_json: bool,
    **summary: Any,
) -> None:
    """Replay every request of the transcripts in FILE... and print what it costs and what its views kept.

    A FILE of - reads standard input; a folder is searched for .json, .jsonl and .traj files. With --strategy given
    several times, each transcript is replayed with each, and the strategies are compared. No model is asked, unless
    --summarizer names a client: then a model writes summaries, and the cost holds what they took.

    Exit code: 0 if every view is valid and fits, 1 if not, 2 for a bad file or option or if no summary could be had, 3
    if requests were refused because what must stay does not fit.
    """
    asked = asked_for(chosen, model, **summary)
    loaded = _load(files)
    outcomes: list[Outcome] = []
    with (
        _failures_in_the_report(),
        _progress(len(chosen) * sum(requests_of(transcript) for transcript in loaded.transcripts)) as tick,
    ):
        for transcript in loaded.transcripts:
            done = partial(tick, transcript.name)
            with _blamed_on(transcript.name):
                again = partial(replay, transcript, budget=budget, model=model, summaries=asked, progress=done)
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
        click.echo(f"backscroll: no summary could be had: {screen.line(reason)}", err=True)
    return 1 if sums["invalid"] or sums["over_budget"] else 2 if unheard else 3 if sums["refused"] else 0


@contextmanager
def _failures_in_the_report() -> Iterator[None]:
    """Summaries that failed are told with the figures; no warning has to say it again."""
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
            told = f"{outcome.summaries_failed} without a summary: {name}: {screen.line(outcome.summary_failure)}"
            yield Text(told, style="yellow")
    for transcript in transcripts:
        if transcript.skipped:
            reasons = ", ".join(f"{count} x {reason}" for reason, count in transcript.reasons.items())
            yield Text(f"left out: {screen.line(transcript.name)}: {screen.line(reasons)}", style="dim")


@app.command("view")
@click.argument("file", metavar="FILE")
@click.option("--at", type=click.IntRange(min=1), required=True, metavar="N",
              help="The request before the N-th assistant message, counted from 1.")  # fmt: skip
@click.option("--transcript", "number", type=click.IntRange(min=1), metavar="K",
              help="The K-th conversation of a file that holds several, counted from 1.")  # fmt: skip
@click.option(
    "--explain", is_flag=True, help="Print why each message is in the request as it is, instead of the request."
)
@_budget
@_strategy(_only_chain)
@_model
@_json
def view_command(
    *,
    file: str,
    at: int,
    number: int | None,
    explain: bool,
    budget: int | float,
    chosen: Chain,
    model: str | None,
    as_json: bool,
) -> None:
    """Print the request before the N-th assistant message of FILE, after replaying everything before it.

    Exit code: 0, 2 for a bad file or option, 3 if that request was refused because what must stay does not fit.
    """
    transcript = _choose(_load((file,)).transcripts, file, number)
    with _blamed_on(transcript.name):
        found = _request_at(transcript, at, budget, chosen, model)
    if as_json:
        shown = {"name": transcript.name, "at": at, "budget": found.budget, "tokens": sum(found.tokens)}
        more = {"explain": [_explained_json(item) for item in found.explained]} if explain else {}
        screen.write(json.dumps({**shown, "messages": found.view, **more}, indent=2) + "\n")
        return
    summary = f"request before assistant message {at}: {len(found.view)} of {found.before} messages"
    summary += f", {sum(found.tokens):,} of {found.budget:,} tokens"
    if explain:
        screen.show(_explain_table(found.explained, transcript), Text(summary, style="bold"))
        return
    bodies = [screen.message(place, shown, tokens) for place, (shown, tokens) in enumerate(found.together(), 1)]
    screen.show(*bodies, Text(summary, style="bold"))


class _Found(NamedTuple):
    view: list[dict[str, Any]]
    tokens: list[int]
    """Of each message of the view."""
    budget: int
    before: int
    explained: list[Any]

    def together(self) -> Iterator[tuple[dict[str, Any], int]]:
        return zip(self.view, self.tokens, strict=True)


def _request_at(transcript: Transcript, at: int, budget: int | float, strategies: Chain, model: str | None) -> _Found:
    spoken = [place for place, message in enumerate(transcript.messages) if message["role"] == "assistant"]
    if at > len(spoken):
        raise BadInput(f"{transcript.name}: --at {at}: there are only {len(spoken)} assistant messages")
    if spoken[at - 1] == 0:
        raise BadInput(f"{transcript.name}: --at {at}: nothing stands before this message, so there was no request")
    weigh = Weigher(resolve("auto").count)
    tokens = budget_tokens(budget, sum(weigh(message) for message in transcript.messages))
    manager: Any = backscroll_manager(strategies, model)(tokens, _ignore)
    for step in steps(transcript, manager, tokens):
        if step.before == spoken[at - 1]:
            break
    if step.view is None:
        click.echo(
            f"backscroll: {screen.line(transcript.name)}: request refused: {screen.line(step.refusal)}", err=True
        )
        raise click.exceptions.Exit(3)
    weights = [weigh(message) for message in step.view]
    return _Found(step.view, weights, tokens, step.before, list(manager.explain("main")))


def _ignore(*_event: object) -> None:
    """A view is shown, not judged: events do not matter."""


def _explained_json(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("seq", "state", "reason", "tokens", "ref")}


def _explain_table(explained: list[Any], transcript: Transcript) -> Table:
    shown = Table()
    for header in ("seq", "role", "state", "reason", "tokens", "ref"):
        shown.add_column(header, justify="right" if header in ("seq", "tokens") else "left", overflow="fold")
    for item in explained:
        role = str(transcript.messages[item.seq]["role"]) if 0 <= item.seq < len(transcript.messages) else ""
        cells = (str(item.seq), role, str(item.state), str(item.reason), f"{item.tokens:,}", str(item.ref or ""))
        shown.add_row(*(Text(screen.line(cell)) for cell in cells))
    return shown


def _choose(transcripts: list[Transcript], file: str, chosen: int | None) -> Transcript:
    if chosen is None and len(transcripts) > 1:
        raise BadInput(f"{file}: holds {len(transcripts)} conversations; choose one with --transcript K")
    if (chosen or 1) > len(transcripts):
        raise BadInput(f"{file}: --transcript {chosen}: it holds only {len(transcripts)}")
    return transcripts[(chosen or 1) - 1]


# Files


class _Loaded(NamedTuple):
    transcripts: list[Transcript]
    skipped: list[str]
    """Files of folders that hold no transcript, with the reason."""


def _load(names: Sequence[str]) -> _Loaded:
    """All transcripts of files, folders and standard input. A named file must hold one; what a folder holds may not."""
    loaded = _Loaded([], [])
    for name in names:
        if name == "-":
            _read_named(sys.stdin.buffer, "standard input", loaded)
        elif Path(name).is_dir():
            _read_folder(Path(name), loaded)
        else:
            _read_named(Path(name), name, loaded)
    for reason in loaded.skipped:
        click.echo(f"skipped: {screen.line(reason)}", err=True)
    return loaded


def _read_named(source: Path | BinaryIO, name: str, loaded: _Loaded) -> None:
    try:
        loaded.transcripts.extend(read(source, name))
    except TranscriptError as error:
        raise BadInput(str(error)) from error


def _read_folder(folder: Path, loaded: _Loaded) -> None:
    before = len(loaded.transcripts)
    for path in files(folder):
        try:
            loaded.transcripts.extend(read(path))
        except TranscriptError as error:
            loaded.skipped.append(str(error))
    if len(loaded.transcripts) == before:
        raise BadInput(f"{folder}: no file in this folder holds a transcript (looked at {', '.join(SUFFIXES)})")


@contextmanager
def _blamed_on(name: str) -> Iterator[None]:
    try:
        yield
    except BackscrollError as error:
        raise BadInput(f"{name}: {error}") from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error while a terminal is there to see it."""
    console = Console(stderr=True)
    if not console.is_terminal:  # where older versions of rich write an empty line
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("requests", total=total)
        yield lambda name: bar.update(task, advance=1, description=f"requests of {_label(name)}")


def _label(name: str) -> str:
    return screen.line(Path(name).name)[-40:].replace("[", "(")
