"""OpenAI's chat completions, which most other providers and hosts take as well.

A message has a text or blocks, its calls are under `tool_calls`, and a message of the role `tool` answers one. Older
requests have one `function_call`, and a message of the role `function`; the function's name is the call's id then.
Sources: the request and response types of openai 3.54.
"""

from collections.abc import Callable, Mapping
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.counted import Counted, count, first, get, within
from backscroll.messages.dialects.blocks import (
    NULLABLE,
    arguments_as_json,
    arguments_as_object,
    cleaned,
    differs,
    document,
    id_of,
    is_json,
    opaque,
    picture,
    read_text,
    unless_blank,
)
from backscroll.messages.dialects.dialect import Dialect, Heal, Taken, text_block, unchanged
from backscroll.messages.parts import Block, CallId, Form, Inner, Media, Message, Part, Path, compact

_IN_CHAT = (("function", "arguments"), ("function_call", "arguments"))
"""Where a call's arguments are, which are a text here."""
ANSWERING = ("tool", "function")
"""Roles of the messages that answer a call as a whole; `function` is the older one."""
OF_ANSWERS = frozenset(("annotations", "parsed"))
"""Fields that OpenAI's client adds to a message, with or without a value, and a request rejects."""
_OF_CALLS = frozenset(("index", "parsed_arguments"))


# -- read --


def is_in_chat(call: Part) -> bool:
    """Return whether a call has the shape of chat completions."""
    return call.path[-2:] in _IN_CHAT


def answered_by(message: Message, role: str) -> CallId:
    """Return the id of the call that a whole message answers. `role`: one of `ANSWERING`."""
    if role == "tool":
        return id_of(message.get("tool_call_id"))
    return CallId.of_function(str(message.get("name") or ""))


def read_calls(message: Message) -> list[Part]:
    """Read calls outside the content, as also Amplifier and LangChain write them."""
    parts: list[Part] = []
    listed = message.get("tool_calls")
    for number, call in enumerate(listed if type(listed) is list else ()):
        path: Path = ("tool_calls", number)
        if type(call) is not dict:
            parts.append(Part("opaque", path, compact(call), "fixed"))
            continue
        inner = next((key for key in ("function", "custom") if type(call.get(key)) is dict), None)
        holder = call[inner] if inner else call
        parts.append(_call(holder, (*path, inner) if inner else path, id_of(call.get("id"))))
    legacy = message.get("function_call")
    if type(legacy) is dict:
        parts.append(_call(legacy, ("function_call",), CallId.of_function(str(legacy.get("name") or ""))))
    return parts


def _call(holder: Block, path: Path, call_id: CallId) -> Part:
    name = holder.get("name") or holder.get("tool")
    key = "input" if "input" in holder and "arguments" not in holder else "arguments"
    arguments = holder.get(key)
    name = name if type(name) is str else None
    if type(arguments) is str:
        # a custom tool's input is free text and not JSON; a cut text is still valid there
        return Part(
            kind="call",
            path=(*path, key),
            text=arguments,
            form="string" if path[-1] == "custom" else "arguments",
            id=call_id,
            name=name,
        )
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    return Part(
        kind="call",
        path=(*path, key),
        text="" if arguments is None else compact(arguments),
        form=form,
        id=call_id,
        name=name,
    )


def _refusal(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    text = block.get("refusal")
    if type(text) is not str:
        return [opaque(block, path, answers)]
    return [Part(kind="text", path=(*path, "refusal"), text=text, form="string", id=answers)]


def _input_audio(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    audio = block.get("input_audio")
    data = audio.get("data") if type(audio) is dict else None
    return [
        Part(
            kind="media",
            path=path,
            text="",
            form=text_block,
            id=answers,
            name=None,
            media=Media("audio", data if type(data) is str else None),
        )
    ]


def _reasoning_content(text: Any) -> list[Part]:
    return [Part("reasoning", ("reasoning_content",), text, "string")] if type(text) is str and text else []


def _refusal_outside(text: Any) -> list[Part]:
    return [Part("text", ("refusal",), text, "string")] if type(text) is str and text else []


# -- write --


def result_message(call: Part, text: str) -> Message:
    """Return the message that answers a call outside the content."""
    if call.path[0] == "function_call":
        # The name within the id: older versions stored a call with its name under `tool`, which its id lacks.
        return {"role": "function", "name": "" if call.id is None else call.id.function, "content": text}
    return {"role": "tool", "tool_call_id": str(call.id or ""), "content": text}


# -- heal --


def _healed_calls(message: Message, heal: Callable[[Block], Block], of_host: Callable[[Block], Block]) -> Message:
    """Return a message with sound calls outside the content. `of_host`: heals a call in the shape of a host."""
    calls, legacy = message.get("tool_calls"), message.get("function_call")
    if type(calls) is list:
        sound = [_healed_call(call, heal, of_host) if type(call) is dict else call for call in calls]
        if any(one is not other for one, other in zip(sound, calls, strict=True)):
            message = {**message, "tool_calls": sound}
    if type(legacy) is dict and (sound_call := heal(legacy)) is not legacy:
        message = {**message, "function_call": sound_call}
    return message


def _healed_call(call: Block, heal: Callable[[Block], Block], of_host: Callable[[Block], Block]) -> Block:
    if type(inner := call.get("function")) is dict:
        sound = heal(inner)
        return call if sound is inner else {**call, "function": sound}
    return of_host(call)


def _as_json(message: Message) -> Message:
    return _healed_calls(message, arguments_as_json, unchanged)  # hosts keep objects


def _as_object(message: Message) -> Message:
    return _healed_calls(message, arguments_as_object, _host_call)


def _host_call(call: Block) -> Block:
    arguments = call.get("arguments")
    if "custom" not in call and type(arguments) is str and not is_json(arguments.strip()):
        return {**call, "arguments": {} if "tool" in call else "{}"}  # Amplifier's calls hold objects
    return call


# -- send --


def sendable_call(call: Block) -> Block:
    """Return a call without what only responses have."""
    left = {
        key: sendable_call(value) if key == "function" and type(value) is dict else value
        for key, value in call.items()
        if key not in _OF_CALLS and (value is not None or key in NULLABLE)
    }
    return left if differs(left, call) else call


# -- around messages --


def _response_message(answer: Mapping[Any, Any]) -> object:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
        return None
    if len(choices) != 1:
        number = len(choices) or "no"
        raise MessageError(
            f"a response with {number} choices is no message: append one, such as response.choices[0].message"
        )
    if "message" not in choices[0]:
        raise MessageError("a chunk of a stream is no message: append the whole message once the stream has ended")
    return choices[0]["message"]


def _count(usage: object) -> Counted | None:
    """Its prompt includes cached tokens. DeepSeek and Moonshot report these in fields of their own."""
    prompt = count(usage, "prompt_tokens")
    if prompt is None:
        return None
    details = get(usage, "prompt_tokens_details")
    read = first(count(details, "cached_tokens"), count(usage, "prompt_cache_hit_tokens", "cached_tokens"))
    return within(prompt, read, first(count(details, "cache_write_tokens")), count(usage, "completion_tokens"))


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


OPENAI_CHAT = Dialect(
    name="OpenAI chat",
    roles={"function": "tool"},
    blocks={
        "text": read_text,
        "refusal": _refusal,
        "image_url": picture(text_block),
        "input_audio": _input_audio,
        "file": document(text_block),
    },
    fields={"reasoning_content": _reasoning_content, "refusal": _refusal_outside},
    carriers=("tool_calls", "function_call", "refusal", "reasoning_content", "audio"),
    reasoning_fields=frozenset(("reasoning_content",)),
    heals=(
        Heal("empty_text", ("text",), unless_blank),
        Heal("result_not_text", (), _as_json),
        Heal("cut_arguments", (), _as_object),
    ),
    sendable=cleaned,
    taken=Taken(
        "OpenAI's chat completions",
        blocks=frozenset(("text", "refusal", "image_url", "input_audio", "file")),
        keys=frozenset(("tool_calls", "function_call")),
        roles=frozenset(ANSWERING),
    ),
    response_message=_response_message,
    count_usage=_count,
    usage_keys=("prompt_tokens", "completion_tokens"),
    response_keys=("choices",),
    streams_count='in the last chunk, with `stream_options={"include_usage": True}`',
    tool_formats={"openai": _tool},
)
