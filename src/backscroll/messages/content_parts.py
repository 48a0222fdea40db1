"""The parts of a content of Gemini's `generateContent`.

A thought signature belongs to the part that has it and must come back on it unchanged, so such a part is never edited.
Source: `Part` of google-genai 3.4, and "Thought signatures" (Gemini API).
"""

from collections.abc import Callable
from typing import Any

from backscroll.messages.contents import RESPONSES, answer_key, held, numbered_calls
from backscroll.messages.parts import Form, Media, Part, Path, compact

Held = dict[str, Any]
_SIGNATURES = ("thoughtSignature", "thought_signature")
_OUTPUTS = ("output", "result", "error")
"""Keys of a response that hold all of it, by convention."""


def read_parts(parts: Any) -> list[Part]:
    """Return the parts of a content; what is unknown is opaque."""
    if type(parts) is not list:
        return [] if parts is None else [Part("opaque", ("parts",), compact(parts), "fixed")]
    calls = {number: (key, call, known) for number, key, call, known in numbered_calls(parts)}
    found: list[Part] = []
    for number, part in enumerate(parts):
        path: Path = ("parts", number)
        if type(part) is not dict:
            found.append(Part("opaque", path, compact(part), "fixed"))
            continue
        signed = next((key for key in _SIGNATURES if type(part.get(key)) is str and part[key]), None)
        if number in calls:
            found.append(_call(path, *calls[number], fixed=signed is not None))
        else:
            found += _read(part, path, fixed=signed is not None)
        if signed is not None:
            found.append(Part("reasoning", (*path, signed), part[signed], "signature"))
    return found


def is_sealed_thought(part: Any) -> bool:
    """Return whether a part is a thought with a signature: Gemini signs what follows a thought, other providers the
    thought itself.
    """
    return type(part) is dict and part.get("thought") is True and any(part.get(key) for key in _SIGNATURES)


def _read(part: Held, path: Path, *, fixed: bool) -> list[Part]:
    for key, value in part.items():
        reader = _READERS.get(key)
        if reader is not None and value is not None:
            return reader(part, path, fixed)
    if fixed and part.get("thought") is True:  # the provider shows nothing of it
        return [Part("reasoning", path, "", "fixed")]
    left = {key: value for key, value in part.items() if key not in _SIGNATURES and value is not None}
    return [Part("opaque", path, compact(left), "fixed")] if left else []


def _call(path: Path, key: str, call: Held, known: str, *, fixed: bool) -> Part:
    name, arguments = call.get("name"), call.get("args")
    form: Form = "mapping" if type(arguments) is dict and not fixed else "fixed"
    text = "" if arguments is None else compact(arguments)
    return Part("call", (*path, key, "args"), text, form, known, name if type(name) is str else None)


def _text(part: Held, path: Path, fixed: bool) -> list[Part]:
    text = part["text"]
    if type(text) is not str:
        return [Part("opaque", path, compact(part), "fixed")]
    kind: Any = "reasoning" if part.get("thought") is True else "text"
    return [Part(kind, (*path, "text"), text, "fixed" if fixed else "string")]


def _response(part: Held, path: Path, fixed: bool) -> list[Part]:
    found = held(part, RESPONSES)
    if found is None:
        return [Part("opaque", path, compact(part), "fixed")]
    key, response = found
    return _result(response, (*path, key), fixed)


def _result(response: Held, path: Path, fixed: bool) -> list[Part]:
    answered = answer_key(response)
    media = response.get("parts")
    shown = [
        _media_of(each, (*path, "parts", number), answered, "inline")
        for number, each in enumerate(media if type(media) is list else ())
    ]
    return [_output(response.get("response"), (*path, "response"), answered, fixed), *shown]


def _output(response: Any, path: Path, answered: str, fixed: bool) -> Part:
    """Read what a function returned. What replaces it stays an object."""
    if type(response) is not dict or not response:
        return Part("result", path, "" if not response else compact(response), "fixed", answered)
    form: Form = "output"
    if len(response) == 1 and (key := next(iter(response))) in _OUTPUTS:
        path, response = (*path, key), response[key]
        form = "string" if type(response) is str else "value"
    text = response if type(response) is str else compact(response)
    return Part("result", path, text, "fixed" if fixed else form, answered)


def _media(part: Held, path: Path, fixed: bool) -> list[Part]:
    return [_media_of(part, path, None, "fixed" if fixed else "bare")]


def _media_of(part: Any, path: Path, answered: str | None, form: Form) -> Part:
    """Read media as bytes or as an address, in a content or in a response."""
    found = held(part, _MEDIA)
    blob: Held = {} if found is None else found[1]
    kind = blob.get("mimeType", blob.get("mime_type"))
    kind = kind.partition("/")[0] if type(kind) is str else ""
    data = blob.get("data")
    media = Media(kind if kind in ("image", "audio", "video") else "document", data if type(data) is str else None)
    return Part("media", path, "", form, answered, None, media)


_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_READERS: dict[str, Callable[[Held, Path, bool], list[Part]]] = {
    "text": _text,
    "functionResponse": _response,
    "function_response": _response,
    **dict.fromkeys(_MEDIA, _media),
}
