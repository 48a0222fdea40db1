"""The ids by which calls and results find each other, and how Gemini's calls are answered.

A response of Gemini names its call by `id`, and where it has none, by the function's name: the calls of one name are
then answered in their order. Source: `FunctionResponse` of google-genai 3.4.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def call_key(call: Mapping[str, Any], number: int) -> str:
    """Return the id by which the core knows a call. `number`: how many calls without an id and of the same name precede
    it in its message.
    """
    return f"function:{_text(call, 'name')} {_text(call, 'id') or f'#{number}'}"


def answer_key(response: Mapping[str, Any]) -> str:
    """Return what a response names: the `id` of its call, or the name of its function. `matched` finds the call."""
    known = _text(response, "id")
    return f"function: {known}" if known else f"function:{_text(response, 'name')}"


def may_answer(answer: str, call: str) -> bool:
    """Return whether a result answers a call: by the same id, and a response of Gemini without one by its function."""
    if answer == call or not answer.startswith("function:"):
        return answer == call
    (wanted, _, known), (name, _, own) = answer.partition(" "), call.partition(" ")
    return known == own if known else wanted == name


def names_of(call: str) -> tuple[str, ...]:
    """Return every id by which a result may name a call: its own, and for Gemini what a response names."""
    name, space, known = call.partition(" ")
    return (call, name, f"function: {known}") if space and name.startswith("function:") else (call,)


def call_names(call: str) -> tuple[str, str]:
    """Return the function and the id by which a model knows a call; either may be empty."""
    if not call.startswith("function:"):
        return "", call
    name, _, known = call.removeprefix("function:").partition(" ")
    return name, "" if known.startswith("#") else known


def matched(answers: Sequence[str], waiting: Iterable[tuple[tuple[int, int], str]]) -> list[str]:
    """Return for each response the id of the call that it answers; its own where no call fits.

    Args:
        answers: What the responses of one message name.
        waiting: Calls without a response, each with its place: the lowest is answered first.
    """
    rest = sorted(waiting)
    found = list(answers)
    for number in sorted(range(len(found)), key=lambda number: " " not in found[number]):  # those with an id first
        at = next((at for at, (_, call) in enumerate(rest) if may_answer(found[number], call)), None)
        found[number] = found[number] if at is None else rest.pop(at)[1]
    return found


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if type(value) is str else ""
