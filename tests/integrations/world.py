"""The same work for the agents of every framework: what a scripted model calls, and what the tools answer.

A model that follows it makes 60 requests in turns of 20: one call at a time, three times two at once, and in each turn
one call of `recall` for something that views left out by then. Each result has about 300 tokens, so at a budget of
3,000 there are compactions. Adapters translate `Called` into their framework's calls.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from backscroll.evaluation.validity import problems
from tests.builders import PNG as PNG

STEPS = 60
"""Requests of one agent; the last of each turn is answered by a text."""
TURN = 20
BUDGET = 3_000
SYSTEM = "You answer for the shop. Be brief."


class Called(NamedTuple):
    """A call of a scripted model."""

    id: str
    name: str
    arguments: dict[str, Any]


def asked(turn: int) -> str:
    """What the user says at the beginning of a turn."""
    return f"Turn {turn}: look up all orders of customer {turn * 31 + 7} and sum them up."


def calls_at(step: int) -> list[Called]:
    """The calls that answer a request; empty where the model answers with `text_at`."""
    at = step % TURN
    if at == TURN - 1:
        return []
    if at == 15:
        return [Called(f"call_{step}", "recall", {"ref": "2"})]
    if at % 6 == 3:
        return [Called(f"call_{step}_{n}", "order", {"number": step * 10 + n}) for n in range(2)]
    return [Called(f"call_{step}", "order", {"number": step * 10})]


def text_at(step: int) -> str:
    """The text of an answer."""
    return f"Step {step}: done so far."


def order(number: int) -> str:
    """What the tool `order` answers: about 300 tokens."""
    lines = [f"item {number}-{at}: {(number * 7919 + at * 104729) % 10_000} cents, shelf {at % 9}" for at in range(20)]
    return "\n".join([f"order {number} of customer {number % 97}", *lines])


def faults(seen: Iterable[tuple[list[dict[str, Any]], list[dict[str, Any]]]]) -> list[str]:
    """Faults of requests, each each with the history that it represents, in a dialect that our judge reads."""
    return [
        f"request {number}: {problem}"
        for number, (request, history) in enumerate(seen)
        for problem in problems(request, history)
    ]


def broken_prefixes(requests: Sequence[Sequence[Any]]) -> int:
    """How many requests do not begin with the whole request before them: one for each compaction."""
    texts = [[json.dumps(message, sort_keys=True, default=str) for message in request] for request in requests]
    return sum(later[: len(earlier)] != earlier for earlier, later in pairwise(texts))
