"""What a provider said of a request: that it is too long, and what it counted."""

from typing import Any

from backscroll.integrations.proxy.exchange import Exchange
from backscroll.integrations.proxy.report import Report
from backscroll.notices import warn
from backscroll.tokens.responses import read_usage


async def shortened(exchange: Exchange, error: str) -> bool:
    """Make a shorter request, if the provider refused one as too long. Returns whether there is one to send.

    Args:
        exchange: The request.
        error: What the provider said.
    """
    try:
        return await exchange.shorten(error)
    except Exception as failure:
        warn(f"no shorter view could be made of a request that was refused as too long: {failure}")
        return False


def observe(exchange: Exchange, response: dict[str, Any] | None, rejection: Exception | None, report: Report) -> None:
    """Record an answer. The figures of several round trips are added up in the report.

    Args:
        exchange: The request.
        response: What `observe_response` reads. `None`: the answer says nothing.
        rejection: The event of a stream by which it refused the request as too long.
        report: The report.
    """
    try:
        exchange.answered(response, rejection)
        counted = None if response is None else read_usage(response)
    except Exception as failure:
        warn(f"the usage of an answer could not be recorded: {failure}")
        return
    if counted is not None:
        report.input_tokens += counted.prompt
        report.cached_tokens += counted.read
