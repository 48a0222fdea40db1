"""The command `backscroll lint`: options and exit codes.

Exit codes: 0 nothing at or above `--fail-on`; 1 such a finding; 2 a bad file or option.
"""

import json

import click

from backscroll.cli import lint_table as table
from backscroll.cli import screen
from backscroll.cli.group import app, json_option
from backscroll.cli.lint_inputs import load
from backscroll.cli.lint_table import Priced
from backscroll.cli.replaying import prices_option
from backscroll.evaluation.compare.pricing import Tariff
from backscroll.evaluation.lint import RULES, SEVERITIES, Costs, Finding, Rule, Talk, lint_all
from backscroll.evaluation.lint.run import order
from backscroll.tokens.engines import resolve
from backscroll.tokens.known_models import find_model

NAMES = tuple(rule.name for rule in RULES)


def _rules(ctx: click.Context | None, param: click.Parameter | None, values: tuple[str, ...]) -> list[str]:
    """Parse names of rules, separated by commas."""
    names = [name.strip() for value in values for name in value.split(",")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not a rule; choose from {', '.join(NAMES)}", ctx, param)
    return names


@app.command("lint", short_help="Find what is wrong with transcripts and requests as sent.")
@click.argument("names", nargs=-1, required=True, metavar="PATH...")
@click.option("--rule", "chosen", multiple=True, metavar="NAMES", callback=_rules,
              help="Check only these rules, separated by commas. Repeatable.")  # fmt: skip
@click.option("--ignore", "ignored", multiple=True, metavar="NAMES", callback=_rules,
              help="Leave these rules out, separated by commas. Repeatable.")  # fmt: skip
@click.option("--session", metavar="NAME", help="Check this session of a store; default: all.")
@prices_option
@click.option("--price", type=click.FloatRange(min=0), metavar="DOLLARS",
              help="US dollars per million input tokens; default: the model's, if requests name one.")  # fmt: skip
@click.option("--fail-on", type=click.Choice([*SEVERITIES, "never"]), default="error", show_default=True,
              help="Exit with 1 if a finding is at least this severe.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
              help="Findings of one rule to print.")  # fmt: skip
@json_option
@click.pass_context
def lint_command(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    chosen: list[str],
    ignored: list[str],
    session: str | None,
    prices: Tariff,
    price: float | None,
    fail_on: str,
    limit: int,
    as_json: bool,
) -> None:
    """Find what is wrong with each PATH: a transcript, requests as they were sent, a folder of both, or a store.

    Requests are bodies of Anthropic, OpenAI, Gemini or Bedrock in JSON, one a line in the order sent; only they show
    what changed between requests. No model is called and nothing leaves the machine. A PATH of - is standard input.

    Exit code: 0; 1 if a finding is as severe as --fail-on; 2 for a bad file or option.
    """
    loaded = load(names, session)
    rules = [rule for rule in RULES if (not chosen or rule.name in chosen) and rule.name not in ignored]
    found = _found(loaded.talks, rules, prices, price)
    if as_json:
        screen.write(json.dumps(table.as_json(found, len(loaded.talks), loaded.skipped), indent=2) + "\n")
    else:
        screen.show(*table.text(found, len(loaded.talks), limit))
    ctx.exit(_code([each.finding for each in found], fail_on))


def _found(talks: list[Talk], rules: list[Rule], prices: Tariff, price: float | None) -> list[Priced]:
    costs = Costs(resolve("auto").count, prices)
    found: list[Priced] = []
    for talk, findings in zip(talks, lint_all(talks, costs, rules), strict=True):
        dollars = _price_of(talk) if price is None else price
        found += [Priced(each, None if dollars is None else each.cost * dollars / 1_000_000) for each in findings]
    return sorted(found, key=lambda each: order(each.finding))


def _price_of(talk: Talk) -> float | None:
    """Return dollars per million input tokens of the model that a conversation was sent to."""
    row = find_model(talk.requests[0].model) if talk.requests else None
    return row.prices.input if row and row.prices else None


def _code(found: list[Finding], fail_on: str) -> int:
    severe = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    return int(any(each.severity in severe for each in found))
