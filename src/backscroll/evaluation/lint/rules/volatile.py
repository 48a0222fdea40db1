"""`volatile-prefix`: dates, times and ids before the conversation, which change with every request.

Source: "Prompt caching" of Anthropic and OpenAI: a cache ends at the first character that differs.
"""

import re
from collections.abc import Iterator

from backscroll.evaluation.lint.breaks import breaks_of, volatile_kinds
from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.talk import Talk

_LABELED = (
    (
        "the time of the request",
        re.compile(
            r"\b(?:current|now|today)\b[^\n]{0,40}?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b(?:current|local) time\b[^\n]{0,20}?"
            r"\b\d{1,2}:\d\d(?::\d\d)?\b",
            re.IGNORECASE,
        ),
    ),
    (
        "an id of the session or request",
        re.compile(
            r"\b(?:session|request|conversation|run|trace|thread)[ _-]?id\b['\"`]?\s*[:=]\s*['\"`]?"
            r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b",
            re.IGNORECASE,
        ),
    ),
    (
        "the date of the request",
        re.compile(
            r"\b(?:current date|today'?s date|today is|date today)\b[^\n]{0,20}?"
            r"(?:\b\d{4}[-/]\d\d?[-/]\d\d?\b|\b[A-Z][a-z]{2,8}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b)",
            re.IGNORECASE,
        ),
    ),
)
"""What such a text looks like, the most volatile first. A date or an id without such a label may be part of a task."""


def _check(talk: Talk, costs: Costs) -> Iterator[Found]:
    yield from _seen(talk, costs) if len(talk.requests) > 1 else _suspected(talk, costs)


def _seen(talk: Talk, costs: Costs) -> Iterator[Found]:
    found: dict[str, list[tuple[Place, int, list[str]]]] = {}
    for each in breaks_of(talk, costs):
        kinds = volatile_kinds(each.old, each.new)
        if kinds:
            where = Place(each.where, each.step.after.number)
            found.setdefault(each.where, []).append((where, each.lost, kinds))
    for changes in found.values():
        kinds = list(dict.fromkeys(kind for _, _, kinds in changes for kind in kinds))
        lost = [lost for _, lost, _ in changes]
        what = (
            f"{' and '.join(kinds)} differs from the request before, in {len(changes)} of {len(talk.requests)} requests"
        )
        yield Found(
            place=changes[0][0],
            what=what,
            tokens=max(lost),
            sent=sum(lost),
            cost=costs.again(sum(lost)),
            count=len(changes),
        )


def _suspected(talk: Talk, costs: Costs) -> Iterator[Found]:
    """Look at a system prompt of which only one version is known. One that several conversations share holds nothing of
    any of them.
    """
    if talk.is_usual:
        return
    for place, text, tokens in _prompts(talk, costs):
        what = next((what for what, pattern in _LABELED if pattern.search(text)), None)
        if what is not None:
            yield Found(
                place,
                f"the system prompt holds {what}; if each request writes it again, nothing behind it is cached",
                tokens,
                severity="note",
            )


def _prompts(talk: Talk, costs: Costs) -> Iterator[tuple[Place, str, int]]:
    """Yield each system prompt with its place and its tokens."""
    for request in talk.requests:
        for at, block in enumerate(request.system):
            text = block.get("text") if isinstance(block, dict) else None
            if isinstance(text, str):
                yield Place(f"system[{at}]", request.number), text, costs.text(text)
    for said in talk.said:
        if not said.reading.is_system:
            return
        text = "\n".join(part.text for part in said.reading.parts if part.kind == "text")
        yield said.place, text, costs.message(said.message)


RULES = (
    Rule(
        "volatile-prefix",
        "warning",
        "Write dates, times and ids once, when the conversation begins, or into the newest message of the user.",
        _check,
    ),
)
