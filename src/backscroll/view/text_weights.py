"""Weights of the texts that a view adds, kept with its plan: a session is reopened without a count of them."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from backscroll.history.plan import Plan, TextWeight
from backscroll.tokens.model_profiles import counting_of
from backscroll.tokens.usage import Estimate
from backscroll.view.context import RenderContext

_KEY = 16  # hexadecimal digits, enough for the few texts of a view


def with_weights(plan: Plan, added: Mapping[str, Estimate], around: RenderContext) -> Plan:
    """Return the plan with what these texts weigh in its view."""
    if around.tokenizer is None:
        return plan
    name = around.tokenizer.name
    weights = [TextWeight(_key(text, around, name), *weight) for text, weight in added.items()]
    return replace(plan, text_weights=tuple(weights))


def weight_in(plan: Plan, text: str, around: RenderContext) -> Estimate | None:
    """Return what the plan says that a text weighs. `None`: it says nothing, or it was counted otherwise."""
    if around.tokenizer is None:
        return None
    key = _key(text, around, around.tokenizer.name)
    return next((Estimate(each.expected, each.upper) for each in plan.text_weights if each.key == key), None)


def _key(text: str, around: RenderContext, counted_by: str) -> str:
    """Digest a text with all that its weight follows from, so that a change of any of them is noticed."""
    way = repr((counted_by, counting_of(around.family), text))
    return sha256(way.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY]
