"""The options for summaries, and the summarizer that they select."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from backscroll.compaction.summarization import LEAST_WINDOW
from backscroll.errors import ConfigurationError
from backscroll.evaluation.run import summarizes
from backscroll.evaluation.summarizers import SUMMARIZERS, Asked


def _url(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.startswith(("http://", "https://")):
        raise click.BadParameter(f"{value!r} is not a URL; write it as http://localhost:8000/v1", ctx, param)
    return value


_OPTIONS = (
    click.option(
        "--summarizer", type=click.Choice(list(SUMMARIZERS)),
        help="Summarize with this provider's client. Its key comes from the environment.",
    ),
    click.option("--summary-model", metavar="NAME", help="The model that writes summaries, if not --model."),
    click.option("--base-url", metavar="URL", callback=_url, help="Address of the provider's API, such as http://localhost:8000/v1."),
    click.option(
        "--summary-context-tokens", type=click.IntRange(min=LEAST_WINDOW), metavar="N",
        help=f"Maximum input tokens of one summary call; default {Asked._field_defaults['context_tokens']:,}.",
    ),
    click.option(
        "--summary-price", type=click.FloatRange(min=0), metavar="X",
        help="Price of its tokens relative to those of the replayed model; default 1.",
    ),
)  # fmt: skip  # a table


def summary_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which passes them to `asked_for`."""
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
    summary_context_tokens: int | None,
    summary_price: float | None,
) -> Asked | None:
    """Return how to write summaries; `None`: without a model. Raises `click.UsageError` for options that do not fit
    together.
    """
    given = {
        "--summary-model": summary_model,
        "--base-url": base_url,
        "--summary-context-tokens": summary_context_tokens,
        "--summary-price": summary_price,
    }
    if summarizer is None:
        alone = next((name for name, value in given.items() if value is not None), None)
        if alone is not None:
            raise click.UsageError(f"{alone} requires --summarizer {' or '.join(SUMMARIZERS)}")
        return None
    chosen = summary_model or model
    if not chosen:
        raise click.UsageError(
            "--summarizer requires a model: pass --summary-model NAME, or --model to use it for counts as well"
        )
    if not any(map(summarizes, chains)):
        raise click.UsageError("none of these strategies uses summaries; pass auto, digest or importance")
    try:
        made = SUMMARIZERS[summarizer](chosen, base_url=base_url)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    found = Asked(made)
    context_tokens = found.context_tokens if summary_context_tokens is None else summary_context_tokens
    return found._replace(context_tokens=context_tokens, price=found.price if summary_price is None else summary_price)
