"""How many input tokens a request may have: as the proxy is set up, else by the client and the model."""

from operator import itemgetter
from typing import NamedTuple

from backscroll.integrations.proxy.client_limits import limit_of
from backscroll.tokens.windows import ModelWindow, window_of

_MARGIN = 1_000
"""Tokens of a window that stay free, as in the manager's own options."""
_LONG_WINDOW = 1_000_000
"""The larger window of Anthropic's models that have two."""


class RequestBudget(NamedTuple):
    """Input tokens of a request, and where the figure comes from."""

    tokens: int | None
    """`None`: the default of the manager."""
    why: str


def budget_of(agent: str, model: str, max_output: int | None, *, is_long: bool, given: int | None) -> RequestBudget:
    """Return the budget of a request.

    Args:
        agent: The client's user agent.
        model: The name of the model.
        max_output: Tokens that the client reserves for the answer. `None`: it does not say.
        is_long: Whether the client asks for the larger window of a model that has two, and so counts on it.
        given: The budget that the proxy is set up with.
    """
    known, window = limit_of(agent, model), _window(model, is_long=is_long)
    limit = None if is_long else known
    if given is not None:
        is_late = limit is not None and given > _share(limit.tokens)
        late = f", but {limit.client} counts on {limit.tokens:,} and may compact before" if limit and is_late else ""
        return RequestBudget(given, f"as you set it{late}")
    found: list[tuple[int, str]] = []
    if limit is not None:
        found.append((_share(limit.tokens), f"three quarters of the {limit.tokens:,} that {limit.client} counts on"))
    if window is not None:
        most = window.tokens if window.max_input is None else min(window.tokens, window.max_input)
        reserved = min(max_output or window.max_output or 0, window.tokens // 2)
        found += [
            (_share(most), f"three quarters of the {most:,} that {model:.60} takes"),
            (window.tokens - reserved - _MARGIN, f"what an answer of {reserved:,} leaves in the window of {model:.60}"),
        ]
    if not found:
        return RequestBudget(None, f"neither the client nor the model {model:.60} is known")
    tokens, why = min(found, key=itemgetter(0))
    return RequestBudget(tokens, why if known else f"{why}, since the limit of this client is unknown")


def _share(tokens: int) -> int:
    """Return the three quarters that a request may have of a limit.

    Clients compact at 70 percent (Qwen Code) to 90 percent (Codex) of their limit. A compaction of ours starts at 92
    percent of the budget, which is 69 percent of the limit. More would let clients compact first, less would leave out
    messages that fit.
    """
    return tokens * 3 // 4


def _window(model: str, *, is_long: bool) -> ModelWindow | None:
    window = window_of(model, {})
    if window is None or not is_long:
        return window
    return window._replace(tokens=max(window.tokens, _LONG_WINDOW), max_input=None)
