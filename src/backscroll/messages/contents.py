"""Contents of Gemini's `generateContent`: `{"role": "user" | "model", "parts": [...]}`, and how its calls are answered.

Keys are the wire's camelCase, or snake_case as google-genai dumps its objects. A response names its call by `id`, and
where it has none, by the function's name: the calls of one name are then answered in their order. Source: `Content`,
`Part` and `FunctionResponse` of google-genai 3.4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]

MODEL = "model"
"""The role of the model's contents; other dialects write `assistant`."""
ROLES = ("user", MODEL, "system")
"""Roles of messages with `parts`. A system message is sent apart, as `systemInstruction`."""
CALLS = ("functionCall", "function_call")
RESPONSES = ("functionResponse", "function_response")


def is_content(message: Mapping[Any, Any]) -> bool:
    """Return whether a message has Gemini's shape."""
    return "parts" in message and "content" not in message


def speaker(message: Message) -> str:
    """Return the role of a message, `assistant` for Gemini's `model`."""
    role: str = message["role"]
    return "assistant" if role == MODEL else role


def content_of(role: str, text: str) -> Message:
    """Return a message of one text."""
    return {"role": MODEL if role == "assistant" else role, "parts": [{"text": text}]}


def held(part: Any, keys: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Return what a part holds under one of these keys, with that key; `None` if it is no object."""
    if type(part) is not dict:
        return None
    return next(((key, part[key]) for key in keys if type(part.get(key)) is dict), None)


# -- which response answers which call --


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


def numbered_calls(parts: Any) -> Iterator[tuple[int, str, dict[str, Any], str]]:
    """Yield the calls of a content: the number of the part, its key, the call and the call's id."""
    named: dict[str, int] = {}
    for number, part in enumerate(parts if type(parts) is list else ()):
        found = held(part, CALLS)
        if found is None:
            continue
        key, call = found
        same = 0
        if not _text(call, "id"):
            name = _text(call, "name")
            same, named[name] = named.get(name, 0), named.get(name, 0) + 1
        yield number, key, call, call_key(call, same)


def answers_in(part: Any) -> str | None:
    """Return the id of the call that a part answers; `None` if it is no response."""
    found = held(part, RESPONSES)
    return None if found is None else answer_key(found[1])


def response_to(call: Mapping[str, Any], error: str) -> Message:
    """Return the part that answers a call with an error."""
    named = {key: call[key] for key in ("id", "name") if call.get(key) is not None}
    return {"functionResponse": {**named, "response": {"error": error}}}


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if type(value) is str else ""
