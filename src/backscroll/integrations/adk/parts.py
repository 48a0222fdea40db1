"""The parts of a content that a view changed: given objects where nothing changed, else changed copies."""

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any

from google.genai import types

Held = dict[str, Any]


def to_parts(shown: Sequence[Held], parts: Sequence[types.Part], own: Sequence[Held]) -> list[types.Part]:
    """Return the parts of a content that a view changed.

    Args:
        shown: The parts in the view.
        parts: The parts that the content had. They are not changed.
        own: The dict of each of these.
    """
    waiting = dict(enumerate(own))
    unchanged = [_taken(waiting, part, _whole) for part in shown]
    found: list[types.Part] = []
    for part, same in zip(shown, unchanged, strict=True):
        if same is not None:
            found.append(parts[same])
        elif (at := _taken(waiting, part, _place)) is not None:
            found.append(_changed(parts[at], part))
        else:
            found.append(types.Part.model_validate(part))
    return found


def _taken(waiting: dict[int, Held], wanted: Held, key: Callable[[Held], object]) -> int | None:
    """Take the first part that has the key of the wanted one; return its index."""
    at = next((at for at, part in waiting.items() if key(part) == key(wanted)), None)
    if at is not None:
        del waiting[at]
    return at


def _whole(part: Held) -> Held:
    return part


def _place(part: Held) -> object:
    """Return what a view never changes of a part: the call that it is or answers, or its kind."""
    for key in ("function_call", "function_response"):
        if key in part:
            return key, part[key].get("id"), part[key].get("name")
    return sorted(part.keys() - {"thought_signature"})


def _changed(part: types.Part, shown: Held) -> types.Part:
    made = part.model_copy()
    if "thought_signature" not in shown:
        made.thought_signature = None
    if made.function_call is not None:
        made.function_call = made.function_call.model_copy(update={"args": shown["function_call"].get("args")})
    elif made.function_response is not None:
        made.function_response = _response(made.function_response, shown["function_response"])
    elif "text" in shown:
        made.text = shown["text"]
    return made


def _response(response: types.FunctionResponse, shown: Held) -> types.FunctionResponse:
    media = [
        part if part.inline_data is None else _media(part, held.get("inline_data", held.get("inlineData", {})))
        for part, held in zip(response.parts or (), shown.get("parts", ()), strict=True)
    ]
    return response.model_copy(update={"response": shown.get("response"), "parts": media or response.parts})


def _media(part: types.FunctionResponsePart, held: Held) -> types.FunctionResponsePart:
    """Return the text that replaces a picture within a response, or the picture."""
    if held.get("mimeType") is None:
        return part
    blob = types.FunctionResponseBlob(mime_type=held["mimeType"], data=b64decode(held["data"]))
    return types.FunctionResponsePart(inline_data=blob)
