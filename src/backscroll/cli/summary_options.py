"""The command line's options for summaries, and the summarizer that they ask for. Nothing is replayed here."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from backscroll.compaction.summarization import LEAST_WINDOW
from backscroll.errors import ConfigurationError
from backscroll.evaluation.run import tells
from backscroll.evaluation.summarizers import SUMMARIZERS, Asked


def _url(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.startswith(("http://", "https://")):
        raise click.BadParameter(f"{value!r} is no URL; write it as http://localhost:8000/v1", ctx, param)
    return value


_OPTIONS = (
    click.option(
        "--summarizer", type=click.Choice(list(SUMMARIZERS)),
        help="Whose client asks a model for summaries. Its key comes from the environment.",
    ),
    click.option("--summary-model", metavar="NAME", help="The model that writes them, where it is not --model."),
    click.option("--base-url", metavar="URL", callback=_url, help="Where it is asked, as http://localhost:8000/v1."),
    click.option(
        "--summary-window", type=click.IntRange(min=LEAST_WINDOW), metavar="N",
        help=f"Tokens that one call of it may take in; {Asked._field_defaults['window']:,} if not given.",
    ),
    click.option(
        "--summary-price", type=click.FloatRange(min=0), metavar="X",
        help="Price of its tokens, relative to those of the model that is replayed; 1 if not given.",
    ),
)  # fmt: skip  # a table


def summary_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which takes them as `asked_for` does."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_for(
    chains: Sequence[Sequence[str] | None],
    model: str | None,
    *,
    summarizer: str | None,
    summary_model: str | None,
    base_url: str | None,
    summary_window: int | None,
    summary_price: float | None,
) -> Asked | None:
    """Who writes summaries; None for nobody. Raises `click.UsageError` for what cannot be asked for."""
    given = {
        "--summary-model": summary_model,
        "--base-url": base_url,
        "--summary-window": summary_window,
        "--summary-price": summary_price,
    }
    if summarizer is None:
        alone = next((name for name, value in given.items() if value is not None), None)
        if alone is not None:
            raise click.UsageError(f"{alone} goes with --summarizer {' or '.join(SUMMARIZERS)}")
        return None
    chosen = summary_model or model
    if not chosen:
        raise click.UsageError("--summarizer needs a model: give --summary-model NAME, or --model for counts as well")
    if not any(map(tells, chains)):
        raise click.UsageError("none of these strategies has a place for summaries; give auto, digest or importance")
    try:
        made = SUMMARIZERS[summarizer](chosen, base_url=base_url)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    found = Asked(made)
    window = found.window if summary_window is None else summary_window
    return found._replace(window=window, price=found.price if summary_price is None else summary_price)
