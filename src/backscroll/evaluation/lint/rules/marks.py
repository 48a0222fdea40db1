"""`too-many-marks`, `mark-order`, `mark-misplaced` and `no-marks`: Anthropic's marks for its prompt cache.

Source: "Prompt caching" of Anthropic: at most four marks, the automatic one included; marks of an hour before those of
five minutes; none on thinking or on empty text; without a mark nothing is cached.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from backscroll.evaluation.lint.breaks import cache_minimum
from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.same import MARK, blocks_of
from backscroll.evaluation.lint.talk import Talk

_MOST = 4
_THINKING = ("thinking", "redacted_thinking")
_BEARERS = re.compile(r"[a-z]+\[(\d+)\](?:\.content\[(\d+)\])?")


def _many(talk: Talk, costs: Costs) -> Iterator[Found]:
    over = [each for each in talk.requests if each.vendor == "anthropic" and len(each.marks) > _MOST]
    if over:
        what = f"{len(over[0].marks)} marks, and Anthropic accepts {_MOST}"
        yield Found(Place(over[0].marks[_MOST][0], over[0].number), what, count=len(over))


def _order(talk: Talk, costs: Costs) -> Iterator[Found]:
    wrong = [
        (request, where) for request in talk.requests if request.vendor == "anthropic" for where in _late_hour(request)
    ]
    if wrong:
        request, where = wrong[0]
        yield Found(Place(where, request.number), "a mark of 1h comes after one of 5m", count=len(wrong))


def _late_hour(request: Request) -> Iterator[str]:
    """Yield the first mark of an hour behind one of five minutes."""
    short = False
    for where, mark in request.marks:
        if mark.get("ttl") == "1h" and short:
            yield where
            return
        short = short or mark.get("ttl", "5m") == "5m"


def _misplaced(talk: Talk, costs: Costs) -> Iterator[Found]:
    wrong: list[tuple[Place, str]] = []
    for request in talk.requests:
        for where, block in _marked(request) if request.vendor == "anthropic" else ():
            if block.get("type") in _THINKING:
                wrong.append((Place(where, request.number), "thinking"))
            elif block.get("type") == "text" and not block.get("text"):
                wrong.append((Place(where, request.number), "an empty text"))
    if wrong:
        place, what = wrong[0]
        yield Found(place, f"a mark on {what}, which cannot bear one", count=len({place for place, _ in wrong}))


def _marked(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the marked blocks of the system prompt and the messages."""
    places = [(f"system[{at}]", block) for at, block in enumerate(request.system)]
    for at, message in enumerate(request.messages):
        inner = enumerate(blocks_of(message.get("content")))
        places += [(f"{request.list_name}[{at}].content[{number}]", block) for number, block in inner]
    return ((where, block) for where, block in places if isinstance(block, dict) and block.get(MARK) is not None)


def _none(talk: Talk, costs: Costs) -> Iterator[Found]:
    """Report what requests without a mark could have read, if none of the conversation has one."""
    if any(request.marks or not request.takes_marks for request in talk.requests) or not talk.steps:
        return
    found: list[tuple[int, int]] = []
    for step in talk.steps:
        if step.appends and not step.after.begins_elsewhere:
            head = sum(map(costs.text, step.before.tool_keys)) + sum(map(costs.value, step.before.system))
            shared = head + costs.messages(step.before.messages)
            if shared >= cache_minimum(step.after):
                found.append((step.after.number, shared))
    if found:
        most, total = max(shared for _, shared in found), sum(shared for _, shared in found)
        what = f"no mark in any request, so that {len(found)} of {len(talk.requests)} paid again for what they repeat"
        yield Found(
            place=Place("messages", found[0][0]),
            what=what,
            tokens=most,
            sent=total,
            cost=total * max(0.0, 1 - costs.read),
            count=len(found),
        )


RULES = (
    Rule("too-many-marks", "error", "Keep one mark at the end of `system` and one at the newest message.", _many),
    Rule("mark-order", "error", "Put marks of 1h before those of 5m: tools, then system, then messages.", _order),
    Rule("mark-misplaced", "error", "Move the mark to the block before, or to the next one with content.", _misplaced),
    Rule(
        "no-marks",
        "warning",
        "Mark the end of `system` and the newest message with `cache_control`, or set it at the top level.",
        _none,
    ),
)
