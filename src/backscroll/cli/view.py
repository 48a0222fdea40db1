"""The command `backscroll view`: one request of a transcript as it would be sent, and why."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
from rich.table import Table
from rich.text import Text

from backscroll.cli import screen
from backscroll.cli.group import (
    BadInput,
    Chain,
    app,
    budget_option,
    json_option,
    model_option,
    parse_chains,
    strategy_option,
)
from backscroll.cli.transcripts import blamed_on, load
from backscroll.evaluation.readers import Transcript
from backscroll.evaluation.run import Weigher, backscroll_manager, budget_tokens, steps
from backscroll.evaluation.transcript import is_answer
from backscroll.tokens.engines import resolve


def _only_chain(ctx: click.Context | None, param: click.Parameter | None, values: Sequence[str]) -> Chain:
    if len(values) > 1:
        raise click.BadParameter(
            f"a view uses one chain, not {len(values)}; pass the option once, with names separated by commas",
            ctx,
            param,
        )
    return parse_chains(ctx, param, values)[0]


@app.command("view")
@click.argument("file", metavar="FILE")
@click.option("--at", type=click.IntRange(min=1), required=True, metavar="N",
              help="Show the request before the N-th assistant message, counted from 1.")  # fmt: skip
@click.option("--transcript", "number", type=click.IntRange(min=1), metavar="K",
              help="Use the K-th conversation of a file with several, counted from 1.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Print the state of each message and its reason instead of the request.")
@budget_option
@strategy_option(_only_chain)
@model_option
@json_option
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

    Exit code: 0; 2 for a bad file or option; 3 if the request was refused because messages that must stay do not fit.
    """
    transcript = _choose(load((file,)).transcripts, file, number)
    with blamed_on(transcript.name):
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
    """The tokens of each message of the view."""
    budget: int
    before: int
    explained: list[Any]

    def together(self) -> Iterator[tuple[dict[str, Any], int]]:
        return zip(self.view, self.tokens, strict=True)


def _request_at(transcript: Transcript, at: int, budget: int | float, strategies: Chain, model: str | None) -> _Found:
    spoken = [place for place, message in enumerate(transcript.messages) if is_answer(message)]
    if at > len(spoken):
        raise BadInput(f"{transcript.name}: --at {at}: there are only {len(spoken)} assistant messages")
    if spoken[at - 1] == 0:
        raise BadInput(f"{transcript.name}: --at {at}: there is no message before it, so there was no request")
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
    return _Found(
        view=step.view, tokens=weights, budget=tokens, before=step.before, explained=list(manager.explain("main"))
    )


def _ignore(*_event: object) -> None:
    """Ignore events: the view is only shown."""


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
        raise BadInput(f"{file}: it holds {len(transcripts)} conversations; choose one with --transcript K")
    if (chosen or 1) > len(transcripts):
        raise BadInput(f"{file}: --transcript {chosen}: it holds only {len(transcripts)}")
    return transcripts[(chosen or 1) - 1]
