"""Amazon Bedrock's Converse, as Strands uses it: blocks without a type, each known by its only key.

Source: botocore's model of bedrock-runtime, 1.44.
"""

from collections.abc import Callable, Mapping
from typing import Any

from backscroll.messages.counted import Counted, count, first, within
from backscroll.messages.dialects.blocks import (
    id_of,
    is_text,
    opaque,
    read_call,
    read_result,
    read_text,
    texts_only,
    unless_blank,
    with_object,
    without_blank_texts,
)
from backscroll.messages.dialects.dialect import Dialect, Heal
from backscroll.messages.parts import Block, CallId, Form, Inner, Media, Message, Part, Path, Reader, compact
from backscroll.messages.same_data import without_copies

_KEYS = frozenset(("text", "toolUse", "toolResult", "image", "document", "video", "audio", "reasoningContent"))
_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")


def is_block(block: Any) -> bool:
    """Return whether a block is one of Converse."""
    return type(block) is dict and "type" not in block and not _KEYS.isdisjoint(block)


def _detects(message: Message) -> bool:
    content = message.get("content")
    return type(content) is list and any(map(is_block, content))


# -- read --


def _json(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return [
        Part(
            kind="opaque" if answers is None else "result",
            path=path,
            text=compact(block["json"]),
            form=_text,
            id=answers,
        )
    ]


def _tool_use(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    call = block["toolUse"]
    if type(call) is not dict:
        return [opaque(block, path, answers)]
    return read_call(call, (*path, "toolUse"), id_of(call.get("toolUseId")))


def _tool_result(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    result = block["toolResult"]
    if type(result) is not dict:
        return [opaque(block, path, answers)]
    return read_result(result, (*path, "toolResult", "content"), id_of(result.get("toolUseId")), inner)


def _reasoning(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    reasoning = block["reasoningContent"]
    said = reasoning.get("reasoningText") if type(reasoning) is dict else None
    if type(said) is not dict or type(said.get("text")) is not str:
        return [Part("reasoning", path, compact(block), "fixed")]
    form: Form = "fixed" if said.get("signature") else "string"
    return [Part("reasoning", (*path, "reasoningContent", "reasoningText", "text"), said["text"], form)]


def _media(kind: str) -> Reader:
    """Return a reader of blocks whose `source` holds bytes, a URL, or a document's text or blocks of text."""

    def read(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
        held = block[kind]
        source = held.get("source") if type(held) is dict else None
        source = source if type(source) is dict else {}
        text = source.get("text")
        if type(text) is str:
            here = (*path, kind, "source", "text")
            return [Part(kind="text" if answers is None else "result", path=here, text=text, form="string", id=answers)]
        if type(source.get("content")) is list:
            return [Part(kind="opaque", path=path, text=compact(source["content"]), form=_text, id=answers)]
        data = source.get("bytes")
        if type(data) is dict:  # how Strands' sessions write bytes into JSON
            data = data.get("data")
        return [
            Part(
                kind="media",
                path=path,
                text="",
                form=_text,
                id=answers,
                name=None,
                media=Media(kind, data if type(data) is str else None),
            )
        ]

    return read


def _call(block: Any) -> CallId | None:
    use = block.get("toolUse") if type(block) is dict else None
    return CallId(use.get("toolUseId") or "") if type(use) is dict else None


def _answer(block: Any) -> CallId | None:
    result = block.get("toolResult") if type(block) is dict else None
    return CallId(result.get("toolUseId") or "") if type(result) is dict else None


# -- write --


def _text(text: str) -> Block:
    return {"text": text}


def _message(role: str, text: str) -> Message:
    return {"role": role, "content": [{"text": text}]}


def _words(text: str, media: list[Any]) -> list[Any]:
    return [{"text": text}, *media]


def _result(block: Block, call: str, text: str) -> Block:
    return {"toolResult": {"toolUseId": call, "status": "error", "content": [{"text": text}]}}


def _alternates(message: Message, other: Message) -> bool:
    return _detects(message) or _detects(other)


# -- heal --


def _object_input(block: Block) -> Block:
    use = block["toolUse"]
    sound = with_object(use, "input") if type(use) is dict else use
    return block if sound is use else {**block, "toolUse": sound}


def _with_result(block: Block, heal: Callable[[Block], Block]) -> Block:
    result = block["toolResult"]
    sound = heal(result) if type(result) is dict else result
    return block if sound is result else {**block, "toolResult": sound}


def _said(block: Block) -> Block:
    return _with_result(block, lambda result: without_blank_texts(result, _text, lists=True))


def _once(block: Block) -> Block:
    return _with_result(block, lambda result: without_copies(result, _text))


def _blocks_only(block: Block) -> Block:
    return _with_result(block, lambda result: texts_only(result, _text, lists=True))


def _refused(block: Block) -> tuple[str, Any] | None:
    result = block.get("toolResult")
    if type(result) is not dict or "content" not in result:
        return None
    content = result["content"]
    return None if type(content) is list and is_text(content) else ("content", content)


# -- around messages --


def _response_message(answer: Mapping[Any, Any]) -> object:
    inner = answer.get("output", answer)
    if isinstance(inner, Mapping) and isinstance(inner.get("message"), Mapping):
        return inner["message"]
    return None


def _count(usage: object) -> Counted | None:
    """Its input excludes cached tokens. Other providers in its shape may include them: the total decides, since it is
    the sum of all.
    """
    taken = count(usage, "inputTokens")
    if taken is None:
        return None
    read, written = (first(count(usage, f"cache{name}InputTokens")) for name in ("Read", "Write"))
    answer = first(count(usage, "outputTokens"))
    if count(usage, "totalTokens") == taken + answer:
        return within(taken, read, written, answer)
    return Counted(taken, read, written, answer)


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"json": schema}}


BEDROCK = Dialect(
    name="Bedrock Converse",
    typed=False,
    detects=_detects,
    blocks={
        "text": read_text,
        "toolUse": _tool_use,
        "toolResult": _tool_result,
        "reasoningContent": _reasoning,
        "image": _media("image"),
        "document": _media("document"),
        "video": _media("video"),
        "audio": _media("audio"),
        "json": _json,
    },
    call=_call,
    answer=_answer,
    reasoning=frozenset(("reasoningContent",)),
    make_message=_message,
    make_words=_words,
    make_result=_result,
    markable=frozenset(("text", "image", "document", "video", "toolUse", "toolResult")),
    alternates=_alternates,
    heals=(
        Heal("empty_text", ("text",), unless_blank),
        Heal("cut_arguments", ("toolUse",), _object_input),
        Heal("empty_text", ("toolResult",), _said),
        Heal("data_twice", ("toolResult",), _once),
        Heal("result_not_text", ("toolResult",), _blocks_only),
    ),
    refuses=_refused,
    response_message=_response_message,
    count_usage=_count,
    usage_keys=("inputTokens", "outputTokens"),
    response_in=("metadata",),
    response_keys=("stopReason", *_EVENTS),
    streams_count="in the event `metadata`",
    tool_formats={"strands": _tool},
)
