"""Gemini's `generateContent`: `{"role": "user" | "model", "parts": [...]}`, each part known by its key.

Keys are the wire's camelCase, or snake_case as google-genai dumps its objects. A thought signature belongs to the part
that has it and must come back on it unchanged, so such a part is never edited. Sources: `Content`, `Part` and
`FunctionResponse` of google-genai 3.4, and "Thought signatures" (Gemini API).
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.counted import Counted, count, first, within
from backscroll.messages.dialects.blocks import described, differs, each, id_of, is_blank
from backscroll.messages.dialects.dialect import Dialect, Heal, Taken
from backscroll.messages.parts import Block, CallId, Form, Media, Message, Part, Path, compact

MODEL = "model"
"""The role of the model's contents; other dialects write `assistant`."""
_ROLES = ("user", MODEL, "system")
"""Roles of messages with `parts`. A system message is sent apart, as `systemInstruction`."""
CALLS = ("functionCall", "function_call")
RESPONSES = ("functionResponse", "function_response")
_SIGNATURES = ("thoughtSignature", "thought_signature")
_OUTPUTS = ("output", "result", "error")
"""Keys of a response that hold all of it, by convention."""


def is_content(message: Mapping[Any, Any]) -> bool:
    """Return whether a message has Gemini's shape."""
    return "parts" in message and "content" not in message


def held(part: Any, keys: Sequence[str]) -> tuple[str, Block] | None:
    """Return what a part holds under one of these keys, with that key; `None` if it is no object."""
    if type(part) is not dict:
        return None
    return next(((key, part[key]) for key in keys if type(part.get(key)) is dict), None)


def _check(message: Message) -> None:
    role, parts = message["role"], message["parts"]
    if role not in _ROLES:
        allowed = ", ".join(_ROLES)
        raise MessageError(f"the message with `parts` has the role {role!r:.40}; contents of Gemini have {allowed}")
    if type(parts) is not list or not parts:
        raise MessageError(f"the {role} message has no `parts`, which Gemini refuses: {described(parts)}")
    for number, part in enumerate(parts):
        if type(part) is not dict or all(value is None for value in part.values()):
            raise MessageError(
                f"parts[{number}] is {described(part)}: give an object with a text, a call or other data"
            )
        if "type" in part:
            raise MessageError(f"parts[{number}] has a `type`, which no part of Gemini has: use `content` for blocks")
        found = held(part, RESPONSES)
        if found is not None and not found[1].get("name"):
            raise MessageError(f"the response at parts[{number}] has no `name`: give the name of the called function")


# -- read --


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


def _read(part: Block, path: Path, *, fixed: bool) -> list[Part]:
    for key, value in part.items():
        reader = _READERS.get(key)
        if reader is not None and value is not None:
            return reader(part, path, fixed)
    if fixed and part.get("thought") is True:  # the provider shows nothing of it
        return [Part("reasoning", path, "", "fixed")]
    left = {key: value for key, value in part.items() if key not in _SIGNATURES and value is not None}
    return [Part("opaque", path, compact(left), "fixed")] if left else []


def _call(path: Path, key: str, call: Block, known: CallId, *, fixed: bool) -> Part:
    name, arguments = call.get("name"), call.get("args")
    form: Form = "mapping" if type(arguments) is dict and not fixed else "fixed"
    text = "" if arguments is None else compact(arguments)
    return Part(
        kind="call", path=(*path, key, "args"), text=text, form=form, id=known, name=name if type(name) is str else None
    )


def _text(part: Block, path: Path, fixed: bool) -> list[Part]:
    text = part["text"]
    if type(text) is not str:
        return [Part("opaque", path, compact(part), "fixed")]
    kind: Any = "reasoning" if part.get("thought") is True else "text"
    return [Part(kind, (*path, "text"), text, "fixed" if fixed else "string")]


def _response(part: Block, path: Path, fixed: bool) -> list[Part]:
    found = held(part, RESPONSES)
    if found is None:
        return [Part("opaque", path, compact(part), "fixed")]
    key, response = found
    return _result(response, (*path, key), fixed)


def _result(response: Block, path: Path, fixed: bool) -> list[Part]:
    answered = _answered(response)
    media = response.get("parts")
    shown = [
        _media_of(each, (*path, "parts", number), answered, _inline_text)
        for number, each in enumerate(media if type(media) is list else ())
    ]
    return [_output(response.get("response"), (*path, "response"), answered, fixed), *shown]


def _output(response: Any, path: Path, answered: CallId, fixed: bool) -> Part:
    """Read what a function returned. What replaces it stays an object."""
    if type(response) is not dict or not response:
        return Part(kind="result", path=path, text="" if not response else compact(response), form="fixed", id=answered)
    form: Form = _output_text
    if len(response) == 1 and (key := next(iter(response))) in _OUTPUTS:
        path, response = (*path, key), response[key]
        form = "string" if type(response) is str else "value"
    text = response if type(response) is str else compact(response)
    return Part(kind="result", path=path, text=text, form="fixed" if fixed else form, id=answered)


def _media(part: Block, path: Path, fixed: bool) -> list[Part]:
    return [_media_of(part, path, None, "fixed" if fixed else _text_part)]


def _media_of(part: Any, path: Path, answered: CallId | None, form: Form) -> Part:
    """Read media as bytes or as an address, in a content or in a response."""
    found = held(part, _MEDIA)
    blob: Block = {} if found is None else found[1]
    kind = blob.get("mimeType", blob.get("mime_type"))
    kind = kind.partition("/")[0] if type(kind) is str else ""
    data = blob.get("data")
    media = Media(kind if kind in ("image", "audio", "video") else "document", data if type(data) is str else None)
    return Part(kind="media", path=path, text="", form=form, id=answered, name=None, media=media)


_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_READERS: dict[str, Callable[[Block, Path, bool], list[Part]]] = {
    "text": _text,
    "functionResponse": _response,
    "function_response": _response,
    **dict.fromkeys(_MEDIA, _media),
}


def numbered_calls(parts: Any) -> Iterator[tuple[int, str, Block, CallId]]:
    """Yield the calls of a content: the number of the part, its key, the call and the call's id."""
    named: dict[str, int] = {}
    for number, part in enumerate(parts if type(parts) is list else ()):
        found = held(part, CALLS)
        if found is None:
            continue
        key, call = found
        name, known = str(id_of(call.get("name"))), id_of(call.get("id"))
        if known:
            yield number, key, call, CallId.of_function(name, known)
            continue
        yield number, key, call, CallId.of_function(name, number=named.get(name, 0))
        named[name] = named.get(name, 0) + 1


def _answer(part: Any) -> CallId | None:
    """Return the id of the call that a part answers; `None` if it is no response."""
    found = held(part, RESPONSES)
    return None if found is None else _answered(found[1])


def _answered(response: Block) -> CallId:
    """Return what a response names: the `id` of its call, or its function alone."""
    return CallId.of_function(str(id_of(response.get("name"))), id_of(response.get("id")))


def _server_call(part: Any) -> str | None:
    return _of_server(part, ("toolCall", "tool_call"))


def _server_answer(part: Any) -> str | None:
    return _of_server(part, ("toolResponse", "tool_response"))


def _of_server(part: Any, keys: tuple[str, str]) -> str | None:
    if type(part) is not dict or "type" in part:
        return None
    made = part.get(keys[0], part.get(keys[1]))
    return (id_of(made.get("id")) or None) if type(made) is dict else None


# -- write --


def _text_part(text: str) -> Block:
    return {"text": text}


def _message(role: str, text: str) -> Message:
    return {"role": MODEL if role == "assistant" else role, "parts": [{"text": text}]}


def _words(text: str, media: list[Any]) -> list[Any]:
    return [{"text": text}, *media]


def _output_text(text: str) -> Block:
    return {"output": text}


def _inline_text(text: str) -> Block:
    """Return a text as media: a response holds media next to its object, and no text."""
    return {"inlineData": {"mimeType": "text/plain", "data": b64encode(text.encode("utf-8", "replace")).decode()}}


def _result_to(part: Block, known: str, text: str) -> Block:
    """Return the part that answers a call with an error."""
    found = held(part, CALLS)
    call = {} if found is None else found[1]
    named = {key: call[key] for key in ("id", "name") if call.get(key) is not None}
    return {"functionResponse": {**named, "response": {"error": text}}}


def _alternates(message: Message, other: Message) -> bool:
    return is_content(message) and is_content(other) and message["role"] == MODEL == other["role"]


# -- heal --


def _unless_blank(part: Block) -> Block | None:
    """Leave an empty text out, unless it carries a signature."""
    return None if is_blank(part["text"]) and not any(part.get(key) for key in _SIGNATURES) else part


def _object_arguments(part: Block) -> Block:
    found = held(part, CALLS)
    if found is None or type(found[1].get("args")) in (dict, type(None)):
        return part
    return {**part, found[0]: {**found[1], "args": {}}}


def _object_response(part: Block) -> Block:
    found = held(part, RESPONSES)
    if found is None or type(found[1].get("response")) is dict:
        return part
    return {**part, found[0]: {**found[1], "response": {"result": found[1].get("response")}}}


# -- send --

_FREE = frozenset(("args", "response"))
"""Keys of calls and responses under which a model or a tool writes any JSON."""


def sendable_content(message: Message) -> Message:
    """Leave out the nulls that google-genai dumps, in any role. JSON of the model and of tools stays as it is."""
    parts = message["parts"]
    if type(parts) is not list:
        return message
    left = {
        key: each(parts, _sendable) if key == "parts" else value for key, value in message.items() if value is not None
    }
    return left if differs(left, message) else message


def _sendable(part: Block) -> Block:
    left = {
        key: _sendable(value)
        if type(value) is dict and key not in _FREE
        else each(value, _sendable)
        if key == "parts"
        else value
        for key, value in part.items()
        if value is not None
    }
    return left if differs(left, part) else part


# -- around messages --


def _response_message(answer: Mapping[Any, Any]) -> object:
    """Return the content of a response or of a candidate. Without a role, a content alone is the user's."""
    if not any(key in answer for key in ("candidates", "parts", "content")):
        return None
    if is_content(answer):
        return {**answer, "role": "user"}
    candidates = answer.get("candidates", [answer])
    if not isinstance(candidates, list) or len(candidates) != 1:
        number = len(candidates) if isinstance(candidates, list) else "no"
        raise MessageError(
            f"a response with {number or 'no'} candidates is no message: append one, such as "
            "response.candidates[0].content"
        )
    content = candidates[0].get("content") if isinstance(candidates[0], Mapping) else None
    if not isinstance(content, Mapping) or not is_content(content):
        if "candidates" not in answer:
            return answer
        reason = candidates[0].get("finishReason", candidates[0].get("finish_reason"))
        raise MessageError(
            f"the response has no content (it finished with {reason!r:.60}), so there is nothing to append"
        )
    return {**content, "role": content.get("role") or MODEL}


def _count(usage: object) -> Counted | None:
    """Its prompt includes cached tokens; its thoughts are not part of its candidates."""
    prompt = count(usage, "prompt_token_count", "promptTokenCount")
    if prompt is None:
        return None
    read = first(count(usage, "cached_content_token_count", "cachedContentTokenCount"))
    said = count(usage, "candidates_token_count", "candidatesTokenCount", "response_token_count", "responseTokenCount")
    return within(prompt, read, 0, first(said) + first(count(usage, "thoughts_token_count", "thoughtsTokenCount")))


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return one of `functionDeclarations`."""
    return {"name": name, "description": description, "parametersJsonSchema": schema}


GEMINI = Dialect(
    name="Gemini",
    typed=False,
    roles={MODEL: "assistant"},
    detects=is_content,
    check=_check,
    answer=_answer,
    server_call=_server_call,
    server_answer=_server_answer,
    make_message=_message,
    make_words=_words,
    make_result=_result_to,
    begins_with_user=True,
    system_apart=True,
    alternates=_alternates,
    heals=(
        Heal("empty_text", ("text",), _unless_blank),
        Heal("cut_arguments", CALLS, _object_arguments),
        Heal("result_not_text", RESPONSES, _object_response),
    ),
    sendable=_sendable,
    taken=Taken("Gemini's generateContent", keys=frozenset(("parts",))),
    response_message=_response_message,
    count_usage=_count,
    usage_keys=("prompt_token_count", "promptTokenCount", "total_token_count", "totalTokenCount"),
    usage_in=("usage_metadata", "usageMetadata"),
    response_keys=("candidates",),
    streams_count="in the last chunk",
    tool_formats={"gemini": _tool},
)
