"""Arguments of calls: what the dialect takes, also where the history has half of them."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from backscroll.evaluation.dialects import Call
from backscroll.evaluation.odd_parts import shares
from backscroll.evaluation.validity_rules.case import Case, Rule

_QUOTED = 200  # characters of cut arguments that a placeholder may quote


def _made(case: Case) -> Iterator[str]:
    known = _originals(case)
    for at, message in enumerate(case.view):
        for call in message.calls:
            if call.id not in known:
                yield f"view[{at}]: call {call.id!r} was never made"


def _arguments(case: Case) -> Iterator[str]:
    """Check that arguments are JSON. Cut ones become an empty object."""
    for at, message in enumerate(case.view):
        for call in message.calls:
            if isinstance(call.arguments, str) and call.form != "object" and not _parses(call.arguments):
                yield f"view[{at}]: arguments of call {call.id!r} are not JSON"


def _types(case: Case) -> Iterator[str]:
    """Check that arguments are a text or an object, as the dialect demands, and of the same type elsewhere."""
    known = _originals(case)
    for at, message in enumerate(case.view):
        for call in message.calls:
            asked = [original.arguments for original in known.get(call.id, ())]
            types = {type(each) for each in asked}
            expected: set[type] = {str} if call.form == "text" else {dict} if call.form == "object" else types
            found = type(call.arguments)
            if call.form == "any" and call.arguments in ({}, "{}"):
                continue  # a cut text of a host's own shape
            if (
                call.form == "text"
                and call.arguments == "{}"
                and any(isinstance(each, dict) and each for each in asked)
            ):
                yield f"view[{at}]: call {call.id!r} lost its arguments"
            if types and found not in expected:
                yield f"view[{at}]: arguments of call {call.id!r} changed their type to {found.__name__}"


def _cut(case: Case) -> Iterator[str]:
    """Check that the result of a call which was cut, and has none, quotes the beginning of what was asked."""
    results = {known for message in case.history for known in message.results}
    cut = {
        known: str(made[-1].arguments)
        for known, made in _originals(case).items()
        if known not in results and len(made) == 1 and _is_cut(made[-1])
    }
    for at, message in enumerate(case.view):
        for known, content in message.answers:
            asked = cut.get(known, "").strip()
            if asked and not shares(json.dumps(content, ensure_ascii=False), asked[:_QUOTED]):
                yield f"view[{at}]: the result of the cut call {known!r} does not quote its arguments"


def _is_cut(call: Call) -> bool:
    return isinstance(call.arguments, str) and (call.form == "object" or not _parses(call.arguments))


def _originals(case: Case) -> dict[str, list[Call]]:
    known: dict[str, list[Call]] = {}
    for message in case.history:
        for call in message.calls:
            known.setdefault(call.id, []).append(call)
    return known


@lru_cache(maxsize=4096)  # successive views hold the same arguments
def _parses(arguments: Any) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


RULES = (
    Rule("made", _made),
    Rule("arguments", _arguments, ("cut_arguments",)),
    Rule("types", _types, ("cut_arguments", "result_not_text")),
    Rule("cut", _cut, ("cut_arguments",)),
)
