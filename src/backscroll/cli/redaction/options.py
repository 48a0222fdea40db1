"""The options `--redact` and `--redact-pattern`."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from backscroll.cli.group import Decorator, parse_names

KINDS = ("secrets", "emails")


def _patterns(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    for value in values:
        if not value:
            raise click.BadParameter("an empty expression takes out nothing", ctx, param)
        try:
            re.compile(value)
        except re.error as error:
            raise click.BadParameter(f"{value!r} is not a regular expression: {error}", ctx, param) from None
    return values


def redact_options(what: str) -> Decorator:
    """Return both options, as `kinds` and `patterns`.

    Args:
        what: From what texts are taken out, for the help.
    """
    kinds = click.option(
        "--redact",
        "kinds",
        default="",
        callback=parse_names("known", KINDS),
        metavar="KINDS",
        help=f"Take these out of what is {what}: secrets, emails or both, separated by commas.",
    )
    patterns = click.option(
        "--redact-pattern",
        "patterns",
        multiple=True,
        callback=_patterns,
        metavar="REGEX",
        help=f"Take what this Python regular expression matches out of what is {what}. Repeatable.",
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return kinds(patterns(command))

    return decorate
