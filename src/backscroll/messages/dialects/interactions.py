"""Gemini's Interactions API: steps with a type, in messages `{"role": "user" | "assistant", "content": [step, ...]}`.

A request takes the steps of all messages in a row, without roles. The history keeps the steps of one interaction in one
message, so that a thought stays before what it led to: its signature must come back unchanged, and no step of such a
message is edited. Sources: `Step`, `Content`, `Interaction` and `Usage` of google-genai 3.6.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.counted import Counted, count, first, within
from backscroll.messages.dialects.blocks import (
    EMPTY_RESULT,
    as_json,
    id_of,
    is_blank,
    is_text,
    opaque,
    plain,
    read_content,
    with_object,
    without_nulls,
)
from backscroll.messages.dialects.dialect import Dialect, Heal, Taken, text_block
from backscroll.messages.dialects.response_items import is_item
from backscroll.messages.parts import Block, CallId, Form, Inner, Kind, Media, Message, Part, Path, compact, kind_of

_SPOKEN = ("user_input", "model_output")
_OF_USERS = ("user_input", "function_result")
_SERVER_TOOLS = (
    "code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool", "processing", "retrieval",
    "tool_search", "url_context",
)  # fmt: skip  # one thought
_SERVER_CALLS = frozenset(f"{tool}_call" for tool in _SERVER_TOOLS)
_SERVER_RESULTS = frozenset(f"{tool}_result" for tool in _SERVER_TOOLS)
_TYPES = frozenset((*_SPOKEN, "thought", "function_call", "function_result")) | _SERVER_CALLS | _SERVER_RESULTS
_MEDIA = ("image", "audio", "video", "document")
_FREE = ("arguments", "result")
"""Keys under which a model or a tool writes any JSON, whose nulls stay."""


def is_step(value: Any) -> bool:
    """Return whether a value is a step, and no item of the Responses API of the same type."""
    return kind_of(value) in _TYPES and not is_item(value)


def _detects(message: Message) -> bool:
    content = message.get("content")
    return type(content) is list and bool(content) and is_step(content[0])


# -- read --


def _inner(block: Any, path: Path, answers: CallId | None) -> list[Part]:
    """Read a block of a step."""
    kind = kind_of(block)
    if type(block) is not dict:
        return [plain(block, path, answers)]
    if kind == "text" and type(block.get("text")) is str:
        said: Kind = "text" if answers is None else "result"
        return [Part(kind=said, path=(*path, "text"), text=block["text"], form="string", id=answers)]
    if kind not in _MEDIA:
        return [opaque(block, path, answers)]
    data = block.get("data")
    media = Media(kind, data if type(data) is str else None)
    return [Part(kind="media", path=path, text="", form=text_block, id=answers, name=None, media=media)]


def _spoken(step: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return read_content(step.get("content"), (*path, "content"), None, _inner)


def _thought(step: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    """Read the summary, and the signature of what the model does next."""
    summary = step.get("summary")
    texts = [
        Part("reasoning", (*path, "summary", number, "text"), block["text"], "string")
        for number, block in enumerate(summary if type(summary) is list else ())
        if type(block) is dict and type(block.get("text")) is str
    ]
    signature = step.get("signature")
    if type(signature) is str and signature:
        texts.append(Part("reasoning", (*path, "signature"), signature, "signature"))
    return texts


def _function_call(step: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    name, arguments = step.get("name"), step.get("arguments")
    form: Form = "mapping" if type(arguments) is dict else "fixed"
    return [
        Part(
            kind="call",
            path=(*path, "arguments"),
            text="" if arguments is None else compact(arguments),
            form=form,
            id=id_of(step.get("id")),
            name=name if type(name) is str else None,
        )
    ]


def _function_result(step: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return read_content(step.get("result"), (*path, "result"), id_of(step.get("call_id")), _inner)


def _of_server(step: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return [opaque(step, path, answers)]


def _call(block: Any) -> CallId | None:
    return id_of(block.get("id")) if kind_of(block) == "function_call" and is_step(block) else None


def _answer(block: Any) -> CallId | None:
    return id_of(block.get("call_id")) if kind_of(block) == "function_result" else None


def _server_call(block: Any) -> str | None:
    return (id_of(block.get("id")) or None) if kind_of(block) in _SERVER_CALLS and is_step(block) else None


def _server_answer(block: Any) -> str | None:
    return (id_of(block.get("call_id")) or None) if kind_of(block) in _SERVER_RESULTS else None


# -- write --


def _message(role: str, text: str) -> Message:
    """Return a message of one step. A system message is sent apart, as `system_instruction`."""
    if role not in ("user", "assistant"):
        return {"role": role, "content": text}
    kind = "user_input" if role == "user" else "model_output"
    return {"role": role, "content": [{"type": kind, "content": [text_block(text)]}]}


def _words(text: str, media: list[Any]) -> list[Any]:
    return [{"type": "user_input", "content": [text_block(text), *media]}]


def _result(step: Block, known: str, text: str) -> Block:
    return {"type": "function_result", "call_id": known, "name": step.get("name"), "result": text, "is_error": True}


# -- heal --


def _said(step: Block) -> Block | None:
    """Leave blank texts out, and a step that says nothing else, unless it names an error."""
    content = step.get("content")
    if type(content) is not list:
        return step if step.get("error") else None
    left = [block for block in content if not is_blank(block.get("text") if type(block) is dict else block)]
    if len(left) == len(content) and left:
        return step
    return {**step, "content": left} if left or step.get("error") else None


def _object_arguments(call: Block) -> Block:
    return with_object(call, "arguments")


def _said_result(step: Block) -> Block:
    result = step.get("result")
    if type(result) is not list:
        return step
    left = [block for block in result if not is_blank(block.get("text") if type(block) is dict else block)]
    return step if len(left) == len(result) else {**step, "result": left or [text_block(EMPTY_RESULT)]}


def _is_taken(result: Any) -> bool:
    return is_text(result) or type(result) is dict


def _result_as_text(step: Block) -> Block:
    return step if _is_taken(step.get("result")) else as_json(step, "result")


def _without_lone_thought(message: Message) -> Message:
    """Leave thoughts out at the end of the steps: what they led to is missing, or said nothing."""
    left = message.get("content")
    while type(left) is list and left and kind_of(left[-1]) == "thought":
        left = left[:-1]
    return message if left is message.get("content") else {**message, "content": left}


def _refused(step: Block) -> tuple[str, Any] | None:
    if kind_of(step) != "function_result" or _is_taken(step.get("result")):
        return None
    return "result", step.get("result")


# -- send --


def _sendable(step: Block) -> Block:
    left = {key: value if key in _FREE else without_nulls(value) for key, value in step.items() if value is not None}
    return step if left == step else left


# -- around messages --


def _response_message(answer: Mapping[Any, Any]) -> object:
    """Return the message of an interaction, or of a single step. Steps before the user's last are its input."""
    kind = answer.get("type")
    if kind == "thought":
        raise MessageError(
            "a thought is no message by itself: append the whole interaction, so that it stays with what it led to"
        )
    if kind in _TYPES:
        return {"role": "user" if kind in _OF_USERS else "assistant", "content": [answer]}
    if not ("status" in answer and ("steps" in answer or "output_text" in answer)) or answer.get("object") not in (
        None,
        "interaction",
    ):
        return None
    steps = answer.get("steps")
    steps = steps if isinstance(steps, list) else []
    kinds = [step.get("type") if isinstance(step, Mapping) else None for step in steps]
    begun = max((at for at, each in enumerate(kinds, 1) if each == "user_input"), default=0)
    if not set(kinds[begun:]) - {"thought"}:
        raise MessageError(
            f"the interaction holds no step but thoughts (its status is {answer.get('status')!r:.40}), so there is "
            "nothing to append: ask again without it"
        )
    return {"role": "assistant", "content": steps[begun:]}


def _count(usage: object) -> Counted | None:
    """Its input includes cached tokens, its output no thoughts. Where the server ran tools, we sent the first turn."""
    total = count(usage, "total_input_tokens")
    if total is None:
        return None
    prompt = first(count(usage, "initial_input_tokens"), total)
    said, thought = (first(count(usage, f"total_{name}_tokens")) for name in ("output", "thought"))
    return within(prompt, first(count(usage, "total_cached_tokens")), 0, said + thought)


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": schema}


INTERACTIONS = Dialect(
    name="Gemini Interactions",
    detects=_detects,
    blocks={
        **dict.fromkeys(sorted(_SERVER_CALLS | _SERVER_RESULTS), _of_server),
        **dict.fromkeys(_SPOKEN, _spoken),
        "thought": _thought,
        "function_call": _function_call,
        "function_result": _function_result,
    },
    call=_call,
    answer=_answer,
    server_call=_server_call,
    server_answer=_server_answer,
    make_message=_message,
    make_words=_words,
    make_result=_result,
    begins_with_user=True,
    system_apart=True,
    heals=(
        Heal("empty_text", _SPOKEN, _said),
        Heal("cut_arguments", ("function_call",), _object_arguments),
        Heal("empty_text", ("function_result",), _said_result),
        Heal("result_not_text", ("function_result",), _result_as_text),
        Heal("reasoning_alone", (), _without_lone_thought),
    ),
    refuses=_refused,
    sendable=_sendable,
    taken=Taken("Gemini's Interactions API", frozenset((*_SPOKEN, "thought", "function_call", "function_result"))),
    response_message=_response_message,
    count_usage=_count,
    usage_keys=("total_input_tokens",),
    response_in=("interaction",),
    response_keys=("steps", "event_type"),
    streams_count="in `interaction.completed`",
    tool_formats={"interactions": _tool},
)
