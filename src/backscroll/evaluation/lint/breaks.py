"""Where a request changes what the one before it began with, so that the provider's cache ends there.

Sources: "Prompt caching" of Anthropic (order: tools, system, messages) and of OpenAI (tools, instructions, input).
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.same import bare, first_difference, key
from backscroll.evaluation.lint.talk import Step, Talk
from backscroll.tokens.known_models import binds_reasoning, find_model

SHORTEST = 1_024
"""Tokens of the shortest prefix that a provider caches, where the model's own figure is unknown."""


class Break(NamedTuple):
    """One change of what was sent before."""

    kind: Literal["tools", "system", "message"]
    step: Step
    where: str
    """The place in the later request."""
    old: str
    new: str
    """What was there before, and what is there now, as JSON."""
    lost: int
    """Tokens behind the change that both requests hold; 0 if an earlier change of the same step has them, or if the
    earlier request has no mark and so made no cache.
    """


def breaks_of(talk: Talk, costs: Costs) -> Iterator[Break]:
    """Yield the changes of a conversation that cost at least the shortest prefix a provider caches."""
    for step in talk.steps:
        if step.after.begins_elsewhere or step.before.begins_elsewhere or step.appends:
            continue
        found = list(_changes(step, costs))
        if found and found[0].lost >= cache_minimum(step.after):
            unmarked = step.before.takes_marks and not step.before.marks
            yield found[0]._replace(lost=0) if unmarked else found[0]
            yield from (each._replace(lost=0) for each in found[1:])


def cache_minimum(request: Request) -> int:
    """Return the tokens of the shortest prefix that is cached."""
    row = find_model(request.model)
    return (row.cache_minimum if row else None) or SHORTEST


def _changes(step: Step, costs: Costs) -> Iterator[Break]:
    before, after = step.before, step.after
    behind = costs.messages(step.repeated)
    in_messages = costs.messages(after.messages[: step.shared]) + behind
    if before.tool_keys != after.tool_keys:
        at = first_difference(before.tool_keys, after.tool_keys)
        rest = sum(map(costs.text, after.tool_keys[at:]))
        lost = rest + sum(map(costs.value, after.system)) + in_messages
        old, new = key(before.tools), key(after.tools)
        yield Break(kind="tools", step=step, where="tools", old=old, new=new, lost=lost)
    if before.system_key != after.system_key and not _ends_with_instructions(after):
        yield Break(
            kind="system",
            step=step,
            where="system",
            old=before.system_key,
            new=after.system_key,
            lost=_system(step, costs) + in_messages,
        )
    if step.shared < min(len(before.messages), len(after.messages)):
        old, new = (request.message_keys[step.shared] for request in (before, after))
        # of a message that is the same but for a date, the rest would have been read as well
        own = costs.message(after.messages[step.shared]) if volatile_kinds(old, new) else 0
        if behind + own:
            yield Break(
                kind="message",
                step=step,
                where=f"{after.list_name}[{step.shared}]",
                old=old,
                new=new,
                lost=behind + own,
            )


def _ends_with_instructions(request: Request) -> bool:
    """Return whether the provider puts `instructions` behind the input, as OpenAI does from gpt-6.2."""
    return request.shape == "responses" and bool(binds_reasoning(request.model))


def _system(step: Step, costs: Costs) -> int:
    """Return the tokens of the system prompt from the change on: whole blocks where blocks are cached."""
    olds, news = ([key(block) for block in bare(request.system)] for request in (step.before, step.after))
    at = first_difference(olds, news)
    if step.after.shape in ("anthropic", "bedrock") or at >= len(news):
        return sum(map(costs.value, step.after.system[at:]))
    start = first_difference(olds[at] if at < len(olds) else "", news[at])
    return costs.text(news[at][start:]) + sum(map(costs.text, news[at + 1 :]))


_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_VOLATILE = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    rf"|(?P<date>\b\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?=T|\b)|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}\.? {_MONTH}\b"
    r"|\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b)"
    r"|(?P<time>(?:T|\b)\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?(?: ?[AaPp]\.?[Mm]\b)?)"
    r"|(?P<id>\b(?=[A-Za-z_-]{0,40}\d)(?=[\d_-]{0,40}[A-Za-z])[A-Za-z0-9_-]{8,80}\b)"
    r"|(?P<number>\d+(?:\.\d+)?)"
)
_NAMES = {"uuid": "a UUID", "date": "a date", "time": "a time", "id": "an id", "number": "a number"}


def volatile_kinds(old: str, new: str) -> list[str]:
    """Return which kinds of volatile values differ between two texts that are equal otherwise, in words; empty if
    anything else differs.
    """
    if _VOLATILE.sub(_masked, old) != _VOLATILE.sub(_masked, new):
        return []
    pairs = zip(_VOLATILE.finditer(old), _VOLATILE.finditer(new), strict=True)
    return list(dict.fromkeys(_NAMES[str(a.lastgroup)] for a, b in pairs if a[0] != b[0]))


def _masked(found: re.Match[str]) -> str:
    return f"\0{found.lastgroup}\0"
