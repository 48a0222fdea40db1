"""Prices of what was judged, in tokens of uncached input: what was sent, and what it takes to fetch what is missing."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from backscroll.evaluation.compare.pricing import Tariff
from effective.judging import Bill

RESAMPLES = 2_000


class Policy(NamedTuple):
    """What the agent does about a fact that its view lacks."""

    recall: bool = True
    """It makes one recall first, where the contender ships one; else it runs the tools again at once."""
    lost: int = 0
    """Price of a miss that no tool gives, beyond a request and its text once more."""


def sent(bill: Bill, prices: Tariff) -> float:
    """Return the price of all requests, and of the summaries that a model was asked for."""
    new, kept = bill.sent_tokens - bill.kept_tokens, bill.kept_tokens
    summaries = bill.summary_input_tokens + prices.output * bill.summary_output_tokens
    return prices.input.write * new + prices.input.read * kept + summaries


def fetched(bill: Bill, prices: Tariff, policy: Policy) -> float:
    """Return the price of all that is fetched: a request more reads the view from the cache, the agent writes a call,
    and the call and its result are new input of the next request.
    """
    if not policy.recall:
        calls, results, views = bill.direct_call_tokens, bill.direct_result_tokens, bill.direct_view_tokens
        return _more(views, calls, results, prices) + policy.lost * bill.direct_said
    recalls = _more(bill.recall_view_tokens, bill.recall_call_tokens, bill.recall_answer_tokens, prices)
    again = _more(bill.again_view_tokens, bill.again_call_tokens, bill.again_result_tokens, prices)
    return recalls + again + policy.lost * bill.said


def _more(views: int, calls: int, results: int, prices: Tariff) -> float:
    return prices.input.read * views + prices.output * calls + prices.input.write * (calls + results)


def effective(bill: Bill, prices: Tariff, policy: Policy) -> float:
    """Return the price of both."""
    return sent(bill, prices) + fetched(bill, prices, policy)


def at_price(bill: Bill, prices: Tariff, miss: float) -> float:
    """Return the price of both where each miss has the same price."""
    return sent(bill, prices) + miss * bill.misses


def crossing(ours: Bill, other: Bill, prices: Tariff) -> float | None:
    """Return the price of a miss at which two cost the same per request; None where one costs less at every price."""
    more = sent(ours, prices) / ours.requests - sent(other, prices) / other.requests
    fewer = other.misses / other.requests - ours.misses / ours.requests
    if not fewer or more / fewer < 0:
        return None
    return more / fewer


class Share(NamedTuple):
    """A ratio with the range that holds 95 % of the resamples of conversations."""

    value: float
    low: float
    high: float


def ratio(above: Mapping[str, tuple[float, float]], below: Mapping[str, tuple[float, float]], seed: int = 1) -> Share:
    """Return how many times the second the first costs per request, over conversations: amounts and their requests."""
    names: Sequence[str] = sorted(above.keys() & below.keys())
    chance = random.Random(seed)
    resampled = sorted(
        _ratio(above, below, chance.choices(names, k=len(names))) for _ in range(RESAMPLES if len(names) > 1 else 1)
    )
    return Share(
        _ratio(above, below, names), resampled[int(0.025 * len(resampled))], resampled[int(0.975 * len(resampled))]
    )


def _ratio(
    above: Mapping[str, tuple[float, float]], below: Mapping[str, tuple[float, float]], names: Sequence[str]
) -> float:
    return _mean(above, names) / _mean(below, names)


def _mean(amounts: Mapping[str, tuple[float, float]], names: Sequence[str]) -> float:
    return sum(amounts[name][0] for name in names) / sum(amounts[name][1] for name in names)
