"""What blocks of several dialects have in common: how they are read, and what is healed in them."""

import json
from collections.abc import Callable
from operator import is_
from typing import Any

from backscroll.messages.parts import Block, CallId, Form, Inner, Kind, Media, Part, Path, Reader, compact

EMPTY_RESULT = "[empty result]"


def id_of(value: Any) -> CallId:
    """Return the id of a call; empty where it is no text."""
    return CallId(value if type(value) is str else "")


# -- send --

NULLABLE = frozenset(("content", "input", "arguments"))
"""Keys whose null has a meaning."""
_OF_RESPONSES = frozenset(("parsed_output", "parsed"))
"""Values that a client parsed."""
_WRITTEN = frozenset(("input_schema", "input_examples"))
"""JSON written by the caller, whose nulls stay."""


def cleaned(block: Block) -> Block:
    """Return a block with a type without nulls, and without what a client parsed."""
    left: Block = {}
    for key, value in block.items():
        if key in _OF_RESPONSES or (value is None and key not in NULLABLE):
            continue
        if key == "citations" and type(value) is list:
            left[key] = each(value, _citation)
        elif key == "tool_changes":
            left[key] = without_nulls(value)
        else:
            left["from" if key == "from_" else key] = value  # no identifier of Python may be `from`
    return left if differs(left, block) else block


def _citation(citation: Block) -> Block:
    return {key: value for key, value in citation.items() if key != "file_id"} if "file_id" in citation else citation


def without_nulls(value: Any) -> Any:
    """Return a JSON value without nulls, at any depth."""
    if type(value) is list:
        return [without_nulls(item) for item in value]
    if type(value) is not dict:
        return value
    return {key: item if key in _WRITTEN else without_nulls(item) for key, item in value.items() if item is not None}


def each(values: list[Any], of: Callable[[Block], Block]) -> list[Any]:
    """Return the list with each object in it changed; the given list if none was."""
    left = [of(value) if type(value) is dict else value for value in values]
    return values if all(map(is_, left, values)) else left


def differs(left: Block, given: Block) -> bool:
    """Return whether an object has other keys, or other values."""
    return left.keys() != given.keys() or not all(map(is_, left.values(), given.values()))


# -- read --


def plain(value: Any, path: Path, answers: CallId | None) -> Part:
    """Read what is no block."""
    kind: Kind = "text" if answers is None else "result"
    if type(value) is str:
        return Part(kind=kind, path=path, text=value, form="string", id=answers)
    return Part(
        kind="opaque" if answers is None else "result", path=path, text=compact(value), form="value", id=answers
    )


def opaque(block: Block, path: Path, answers: CallId | None) -> Part:
    """Read a block that no dialect knows."""
    if set(block) <= {"cachePoint", "cache_control", "type"}:
        return Part(kind="opaque", path=path, text="", form="fixed", id=answers)  # a marker for the provider: no tokens
    return Part(kind="opaque", path=path, text=compact(block), form="fixed", id=answers)


def read_text(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    """Read a block of text."""
    text = block.get("text")
    if type(text) is not str:
        return [opaque(block, path, answers)]
    return [
        Part(kind="text" if answers is None else "result", path=(*path, "text"), text=text, form="string", id=answers)
    ]


def read_sealed_reasoning(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    """Read redacted or encrypted reasoning, which the provider accepts unchanged or not at all."""
    return [Part("reasoning", path, compact(block), "fixed")]


def read_call(call: Block, path: Path, known: CallId) -> list[Part]:
    """Read a call whose `input` is an object. `path`: that of the call."""
    name, arguments = call.get("name"), call.get("input")
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    text = "" if arguments is None else compact(arguments)
    return [
        Part(
            kind="call", path=(*path, "input"), text=text, form=form, id=known, name=name if type(name) is str else None
        )
    ]


def read_result(block: Block, path: Path, answered: CallId, inner: Inner) -> list[Part]:
    """Read the content of a result. `path`: that of the content."""
    content = block.get("content")
    if type(content) is str:
        return [Part(kind="result", path=path, text=content, form="string", id=answered)]
    if content is None or content == []:
        return [Part(kind="result", path=path, text="", form="fixed", id=answered)]
    if type(content) is not list:
        return [Part(kind="result", path=path, text=compact(content), form="value", id=answered)]
    parts: list[Part] = []
    for number, block_inside in enumerate(content):
        parts += inner(block_inside, (*path, number), answered)
    return parts


def read_content(content: Any, path: Path, call: CallId | None, inner: Inner) -> list[Part]:
    """Read a text, a list of blocks, or any other value."""
    kind: Kind = "text" if call is None else "result"
    if type(content) is str:
        return [Part(kind=kind, path=path, text=content, form="string", id=call)]
    if type(content) is list and content:
        return [part for number, block in enumerate(content) for part in inner(block, (*path, number), call)]
    if content is None or content == []:
        return [] if call is None else [Part(kind="result", path=path, text="", form="fixed", id=call)]
    return [Part(kind="opaque" if call is None else "result", path=path, text=compact(content), form="value", id=call)]


def picture(form: Form) -> Reader:
    """Return a reader of OpenAI's images: a URL, by itself or in an object."""

    def read(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
        target = block.get("image_url")
        url = target.get("url") if type(target) is dict else target
        data = url if type(url) is str and url.startswith("data:") else None
        return [Part(kind="media", path=path, text="", form=form, id=answers, name=None, media=Media("image", data))]

    return read


def document(form: Form) -> Reader:
    """Return a reader of OpenAI's files: their data, by itself or in an object."""

    def read(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
        file = block.get("file")
        data = file.get("file_data") if type(file) is dict else block.get("file_data")
        return [
            Part(
                kind="media",
                path=path,
                text="",
                form=form,
                id=answers,
                name=None,
                media=Media("document", data if type(data) is str else None),
            )
        ]

    return read


# -- heal --


def is_blank(text: Any) -> bool:
    """Return whether a value is a text that says nothing."""
    return type(text) is str and (not text or text.isspace())


def described(value: Any) -> str:
    """Return a value that is no block in a few words, for an error."""
    if type(value) is dict:
        return f"a mapping with {', '.join(sorted(map(repr, value)))[:120] or 'no keys'}"
    return f"{value!r:.60}"


def is_text(value: Any) -> bool:
    """Return whether a value is a text, or a list of blocks."""
    return type(value) is str or (type(value) is list and all(type(block) is dict for block in value))


_scan = json.JSONDecoder().raw_decode
"""Made once, and without the steps of `json.loads` around it, which take twice as long for most arguments."""


def is_json(text: str) -> bool:
    """Return whether a text without blanks around it is JSON."""
    try:
        return _scan(text)[1] == len(text)
    except (ValueError, RecursionError):
        return False


def is_object(text: str) -> bool:
    """Return whether a text is the JSON of an object."""
    text = text.strip()
    return text.startswith("{") and text.endswith("}") and is_json(text)


def unless_blank(block: Block) -> Block | None:
    """Leave a block out whose text is blank."""
    return None if is_blank(block.get("text")) else block


def with_object(call: Block, key: str) -> Block:
    """Return a call with an object under a key: an empty one in place of anything else."""
    return call if type(call.get(key)) is dict else {**call, key: {}}


def as_json(holder: Block, key: str) -> Block:
    """Return a mapping with the JSON text of the value under a key."""
    value = holder.get(key)
    return {**holder, key: "" if value is None else compact(value)}


def arguments_as_json(call: Block) -> Block:
    """Return a call whose arguments are a text, where they were an object."""
    return as_json(call, "arguments") if type(call.get("arguments")) is dict else call


def arguments_as_object(call: Block) -> Block:
    """Return a call whose arguments are the JSON text of an object: an empty one in place of anything else."""
    arguments = call.get("arguments")
    return call if type(arguments) is str and is_object(arguments) else {**call, "arguments": "{}"}


def texts_only(result: Block, text_of: Callable[[str], Block], *, lists: bool) -> Block:
    """Return a result whose content are blocks, or a text where `lists` does not demand blocks."""
    content = result.get("content")
    if content is None or (type(content) is str and not lists):
        return result
    if type(content) is not list:
        text = content if type(content) is str else compact(content)
        return {**result, "content": [text_of(text)] if lists else text}
    if all(type(block) is dict for block in content):
        return result
    texts = (block if type(block) is dict else block if type(block) is str else compact(block) for block in content)
    return {**result, "content": [text_of(each) if type(each) is str else each for each in texts]}


def without_blank_texts(result: Block, text_of: Callable[[str], Block], *, lists: bool) -> Block:
    """Return a result without blocks of blank text; one without content has a marker where `lists` demands blocks."""
    content = result.get("content")
    if content is None and lists:
        return {**result, "content": [text_of(EMPTY_RESULT)]}
    if type(content) is not list:
        return result
    left = [block for block in content if not is_blank(block.get("text", " x") if type(block) is dict else block)]
    return result if len(left) == len(content) else {**result, "content": left or [text_of(EMPTY_RESULT)]}


def value_in_result(result: Block) -> tuple[str, Any] | None:
    """Return the content of a result that is neither a text nor blocks."""
    content = result.get("content")
    return None if content is None or is_text(content) else ("content", content)
