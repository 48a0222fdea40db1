"""The shapes of content blocks and tool calls: one small reader for each.

Typed blocks (OpenAI, Anthropic, Amplifier) are detected by their `type`, Bedrock Converse blocks by their only key.
Items of the Responses API are read in `item_parts.py`. Sources: the public API references of the dialects, and
amplifier-core 2.0's message models.
"""

from collections.abc import Callable, Container
from typing import Any

from backscroll.messages.item_parts import read_item
from backscroll.messages.items import is_item
from backscroll.messages.parts import Form, Kind, Media, Part, Path, compact

Block = dict[str, Any]


def read_blocks(content: list[Any], answers: str | None, listed: Container[str | None]) -> list[Part]:
    """Return the parts of a content list.

    Args:
        content: The blocks.
        answers: Id of the call that the whole message answers. `None`: it answers none.
        listed: Ids of calls that `tool_calls` of the same message lists.
    """
    parts: list[Part] = []
    for number, block in enumerate(content):
        path: Path = ("content", number)
        if type(block) is not dict:
            parts.append(_plain(block, path, answers))
        elif _listed(block, listed):
            continue  # Amplifier and LangChain write each call twice: count it once, where `tool_calls` has it
        else:
            parts += _read_block(block, path, answers)
    return parts


def _listed(block: Block, listed: Container[str | None]) -> bool:
    kind = block.get("type")
    if kind in ("tool_call", "tool_use"):
        return _id(block.get("id")) in listed
    return kind in ("function_call", "custom_tool_call") and _id(block.get("call_id")) in listed


def _plain(value: Any, path: Path, answers: str | None) -> Part:
    kind: Kind = "text" if answers is None else "result"
    if type(value) is str:
        return Part(kind, path, value, "string", answers)
    return Part("opaque" if answers is None else "result", path, compact(value), "value", answers)


def _read_block(block: Block, path: Path, answers: str | None) -> list[Part]:
    kind = block.get("type")
    if type(kind) is str:
        if reader := _TYPED.get(kind):
            return reader(block, path, answers)
        found = read_item(block, path, _read_inner) if is_item(block) else None
        return [_opaque(block, path, None if is_item(block) else answers)] if found is None else found
    for key, bedrock in _BEDROCK.items():
        if key in block:
            return bedrock(block, path, answers)
    return [_opaque(block, path, answers)]


def _read_inner(block: Any, path: Path, answers: str | None) -> list[Part]:
    return _read_block(block, path, answers) if type(block) is dict else [_plain(block, path, answers)]


def _opaque(block: Block, path: Path, answers: str | None) -> Part:
    if set(block) <= {"cachePoint", "cache_control", "type"}:
        return Part("opaque", path, "", "fixed", answers)  # a marker for the provider: no tokens
    return Part("opaque", path, compact(block), "fixed", answers)


def _text(block: Block, path: Path, answers: str | None) -> list[Part]:
    text = block.get("text")
    if type(text) is not str:
        return [_opaque(block, path, answers)]
    return [Part("text" if answers is None else "result", (*path, "text"), text, "string", answers)]


def _refusal(block: Block, path: Path, answers: str | None) -> list[Part]:
    text = block.get("refusal")
    if type(text) is not str:
        return [_opaque(block, path, answers)]
    return [Part("text", (*path, "refusal"), text, "string", answers)]


def _thinking(block: Block, path: Path, answers: str | None) -> list[Part]:
    text = block.get("thinking")
    form: Form = "fixed" if block.get("signature") or block.get("content") else "string"
    if type(text) is not str:
        return [Part("reasoning", path, compact(block), "fixed")]
    return [Part("reasoning", (*path, "thinking"), text, form)]


def _sealed_reasoning(block: Block, path: Path, answers: str | None) -> list[Part]:
    """Read redacted or encrypted reasoning, which the provider accepts unchanged or not at all."""
    return [Part("reasoning", path, compact(block), "fixed")]


def _tool_use(block: Block, path: Path, answers: str | None) -> list[Part]:
    name, arguments = block.get("name"), block.get("input")
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    text = "" if arguments is None else compact(arguments)
    return [Part("call", (*path, "input"), text, form, _id(block.get("id")), name if type(name) is str else None)]


def _tool_result(block: Block, path: Path, answers: str | None) -> list[Part]:
    """Read Anthropic's `tool_use_id` + `content`, and Amplifier's `tool_call_id` + `output`."""
    answered = _id(block.get("tool_use_id", block.get("tool_call_id")))
    if "output" in block and "content" not in block:
        output = block["output"]
        text = output if type(output) is str else compact(output)
        return [Part("result", (*path, "output"), text, "value", answered)]
    return _result_content(block, (*path, "content"), answered)


def _result_content(block: Block, path: Path, answered: str) -> list[Part]:
    content = block.get("content")
    if type(content) is str:
        return [Part("result", path, content, "string", answered)]
    if content is None or content == []:
        return [Part("result", path, "", "fixed", answered)]
    if type(content) is not list:
        return [Part("result", path, compact(content), "value", answered)]
    parts: list[Part] = []
    for number, inner in enumerate(content):
        parts += _read_inner(inner, (*path, number), answered)
    return parts


def _image_url(block: Block, path: Path, answers: str | None) -> list[Part]:
    target = block.get("image_url")
    url = target.get("url") if type(target) is dict else target
    data = url if type(url) is str and url.startswith("data:") else None
    form: Form = "input" if block["type"] == "input_image" else "typed"
    return [Part("media", path, "", form, answers, None, Media("image", data))]


def _input_audio(block: Block, path: Path, answers: str | None) -> list[Part]:
    audio = block.get("input_audio")
    data = audio.get("data") if type(audio) is dict else None
    return [Part("media", path, "", "typed", answers, None, Media("audio", data if type(data) is str else None))]


def _file(block: Block, path: Path, answers: str | None) -> list[Part]:
    file = block.get("file")
    data = file.get("file_data") if type(file) is dict else block.get("file_data")
    form: Form = "input" if block["type"] == "input_file" else "typed"
    return [Part("media", path, "", form, answers, None, Media("document", data if type(data) is str else None))]


def _sourced(kind: str) -> Callable[[Block, Path, str | None], list[Part]]:
    """Return a reader of Anthropic's images and documents: `source` is base64 data, a URL, a file id or plain text."""

    def read(block: Block, path: Path, answers: str | None) -> list[Part]:
        source = block.get("source")
        if type(source) is not dict:
            return [Part("media", path, "", "typed", answers, None, Media(kind, None))]
        data = source.get("data")
        if source.get("type") == "text" and type(data) is str:
            return [Part("text" if answers is None else "result", (*path, "source", "data"), data, "string", answers)]
        if source.get("type") == "content":
            return [Part("opaque", path, compact(source.get("content")), "typed", answers)]
        return [Part("media", path, "", "typed", answers, None, Media(kind, data if type(data) is str else None))]

    return read


def _bedrock_text(block: Block, path: Path, answers: str | None) -> list[Part]:
    return _text(block, path, answers)


def _bedrock_json(block: Block, path: Path, answers: str | None) -> list[Part]:
    return [Part("opaque" if answers is None else "result", path, compact(block["json"]), "bare", answers)]


def _bedrock_call(block: Block, path: Path, answers: str | None) -> list[Part]:
    call = block["toolUse"]
    if type(call) is not dict:
        return [_opaque(block, path, answers)]
    name, arguments = call.get("name"), call.get("input")
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    text = "" if arguments is None else compact(arguments)
    here = (*path, "toolUse", "input")
    return [Part("call", here, text, form, _id(call.get("toolUseId")), name if type(name) is str else None)]


def _bedrock_result(block: Block, path: Path, answers: str | None) -> list[Part]:
    result = block["toolResult"]
    if type(result) is not dict:
        return [_opaque(block, path, answers)]
    return _result_content(result, (*path, "toolResult", "content"), _id(result.get("toolUseId")))


def _bedrock_reasoning(block: Block, path: Path, answers: str | None) -> list[Part]:
    reasoning = block["reasoningContent"]
    inner = reasoning.get("reasoningText") if type(reasoning) is dict else None
    if type(inner) is not dict or type(inner.get("text")) is not str:
        return [Part("reasoning", path, compact(block), "fixed")]
    form: Form = "fixed" if inner.get("signature") else "string"
    return [Part("reasoning", (*path, "reasoningContent", "reasoningText", "text"), inner["text"], form)]


def _bedrock_media(kind: str) -> Callable[[Block, Path, str | None], list[Part]]:
    """Return a reader of blocks whose `source` holds bytes, a URL, or a document's text or blocks of text."""

    def read(block: Block, path: Path, answers: str | None) -> list[Part]:
        held = block[kind]
        source = held.get("source") if type(held) is dict else None
        source = source if type(source) is dict else {}
        text = source.get("text")
        if type(text) is str:
            here = (*path, kind, "source", "text")
            return [Part("text" if answers is None else "result", here, text, "string", answers)]
        if type(source.get("content")) is list:
            return [Part("opaque", path, compact(source["content"]), "bare", answers)]
        data = source.get("bytes")
        if type(data) is dict:  # how Strands' sessions write bytes into JSON
            data = data.get("data")
        return [Part("media", path, "", "bare", answers, None, Media(kind, data if type(data) is str else None))]

    return read


def _id(value: Any) -> str:
    return value if type(value) is str else ""


def read_calls(message: dict[str, Any]) -> list[Part]:
    """Read calls outside the content: OpenAI's and Amplifier's `tool_calls`, and the older `function_call`."""
    parts: list[Part] = []
    listed = message.get("tool_calls")
    for number, call in enumerate(listed if type(listed) is list else ()):
        path: Path = ("tool_calls", number)
        if type(call) is not dict:
            parts.append(Part("opaque", path, compact(call), "fixed"))
            continue
        inner = next((key for key in ("function", "custom") if type(call.get(key)) is dict), None)
        holder = call[inner] if inner else call
        parts.append(_call(holder, (*path, inner) if inner else path, _id(call.get("id"))))
    legacy = message.get("function_call")
    if type(legacy) is dict:
        parts.append(_call(legacy, ("function_call",), f"function:{legacy.get('name') or ''}"))
    return parts


def _call(holder: Block, path: Path, call_id: str) -> Part:
    name = holder.get("name") or holder.get("tool")
    key = "input" if "input" in holder and "arguments" not in holder else "arguments"
    arguments = holder.get(key)
    name = name if type(name) is str else None
    if type(arguments) is str:
        # a custom tool's input is free text and not JSON; a cut text is still valid there
        return Part("call", (*path, key), arguments, "string" if path[-1] == "custom" else "arguments", call_id, name)
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    return Part("call", (*path, key), "" if arguments is None else compact(arguments), form, call_id, name)


def read_outside_content(message: dict[str, Any]) -> list[Part]:
    """Read reasoning and refusals outside the content."""
    parts: list[Part] = []
    block = message.get("thinking_block")
    if type(block) is dict:
        parts.append(Part("reasoning", ("thinking_block",), compact(block), "fixed"))
    reasoning = message.get("reasoning_content")
    if type(reasoning) is str and reasoning:
        parts.append(Part("reasoning", ("reasoning_content",), reasoning, "string"))
    refusal = message.get("refusal")
    if type(refusal) is str and refusal:
        parts.append(Part("text", ("refusal",), refusal, "string"))
    return parts


_TYPED: dict[str, Callable[[Block, Path, str | None], list[Part]]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "redacted_thinking": _sealed_reasoning,
    "reasoning": _sealed_reasoning,
    "tool_use": _tool_use,
    "tool_call": _tool_use,
    "tool_result": _tool_result,
    "image": _sourced("image"),
    "document": _sourced("document"),
    "image_url": _image_url,
    "input_image": _image_url,
    "input_audio": _input_audio,
    "file": _file,
    "input_file": _file,
}

_BEDROCK: dict[str, Callable[[Block, Path, str | None], list[Part]]] = {
    "text": _bedrock_text,
    "toolUse": _bedrock_call,
    "toolResult": _bedrock_result,
    "reasoningContent": _bedrock_reasoning,
    "image": _bedrock_media("image"),
    "document": _bedrock_media("document"),
    "video": _bedrock_media("video"),
    "audio": _bedrock_media("audio"),
    "json": _bedrock_json,
}
