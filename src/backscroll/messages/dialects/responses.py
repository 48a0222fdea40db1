"""OpenAI's Responses API: what each of its items says, asks for or answers, and how it is sent.

`response_items.py` says what an item is. Sealed items (reasoning, a compaction) and those that hold their own answer
have no parts here. Sources: `ResponseInputItemParam` and the response types of openai 3.54.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.errors import MessageError
from backscroll.messages.counted import Counted, count, first, get, within
from backscroll.messages.dialects.blocks import (
    arguments_as_json,
    arguments_as_object,
    as_json,
    cleaned,
    differs,
    document,
    each,
    is_blank,
    is_text,
    picture,
    read_content,
    read_sealed_reasoning,
    read_text,
    unless_blank,
    without_nulls,
)
from backscroll.messages.dialects.dialect import Dialect, Heal, Taken
from backscroll.messages.dialects.response_items import (
    OF_AGENTS,
    OUTPUTS,
    PAIRS,
    Item,
    call_id,
    is_envelope,
    is_item,
)
from backscroll.messages.parts import Block, CallId, Form, Inner, Media, Message, Part, Path, compact, kind_of

_OF_ITEMS = frozenset(("created_by", "parsed_arguments"))
_NULLABLE_OF = {"image_generation_call": ("result",), "code_interpreter_call": ("code", "outputs")}
"""Keys of items that a request requires, also with a null."""
_TAKEN = frozenset(
    (
        "input_text", "output_text", "refusal", "input_image", "input_file", "function_call", "function_call_output",
        "custom_tool_call", "custom_tool_call_output", "reasoning", "item_reference",
    )
)  # fmt: skip  # one thought
_WRITTEN = frozenset(("arguments", "input", "tools", "error"))
"""JSON written by a model or the caller, and errors, whose nulls a request requires."""
_GIVEN_AS: dict[str, tuple[str, Form]] = {
    "function_call": ("arguments", "arguments"),
    "custom_tool_call": ("input", "string"),
}
"""Where the calls of the caller's own tools have their text, and its form."""
_TEXT_OF = {
    "local_shell_call": ("action", "local_shell"),
    "shell_call": ("action", "shell"),
    "computer_call": ("action", "computer"),
    "apply_patch_call": ("operation", "apply_patch"),
    "tool_search_call": ("arguments", "tool_search"),
    "program": ("code", "program"),
}
"""The key that holds what a call asks for, and the name of the tool."""


def read_item(item: Item, path: Path, inner: Inner) -> list[Part] | None:
    """Return the parts of an item; `None` if it is sealed, unknown, or answered by itself."""
    kind = item["type"]
    if kind in ("message", OF_AGENTS):
        return read_content(item.get("content"), (*path, "content"), None, inner)
    if kind == "image_generation_call":
        made = item.get("result")
        return [
            Part(
                kind="media",
                path=path,
                text="",
                form="fixed",
                id=None,
                name=None,
                media=Media("image", made if type(made) is str else None),
            )
        ]
    call = call_id(item)
    if kind in PAIRS and (call or kind in ("function_call", "custom_tool_call")):
        return [_call(item, path, call)]
    if kind in OUTPUTS and call:
        return _output(item, path, call, inner)
    return None


def _call(item: Item, path: Path, call: CallId) -> Part:
    kind, name = item["type"], item.get("name")
    name = name if type(name) is str else None
    if kind in _GIVEN_AS:
        key, form = _GIVEN_AS[kind]
        value = item.get(key)
        if type(value) is not str:
            value, form = "" if value is None else compact(value), "fixed"
        return Part(kind="call", path=(*path, key), text=value, form=form, id=call, name=name)
    key, tool = _TEXT_OF.get(kind, ("arguments", name))
    key = "actions" if kind == "computer_call" and item.get("actions") else key
    asked = item.get(key)
    return Part(
        kind="call",
        path=(*path, key),
        text=asked if type(asked) is str else compact(asked),
        form="fixed",
        id=call,
        name=tool,
    )


def _output(item: Item, path: Path, call: CallId, inner: Inner) -> list[Part]:
    kind = item["type"]
    if kind == "computer_call_output":
        shown = item.get("output")
        url = shown.get("image_url") if type(shown) is dict else None
        data = url if type(url) is str and url.startswith("data:") else None
        return [
            Part(
                kind="media",
                path=(*path, "output"),
                text="",
                form="fixed",
                id=call,
                name=None,
                media=Media("image", data),
            )
        ]
    if kind == "shell_call_output" and type(item.get("output")) is list:
        return _streams(item["output"], (*path, "output"), call)
    if kind in ("tool_search_output", "program_output", "mcp_approval_response"):
        rest = {key: value for key, value in item.items() if key in ("tools", "result", "approve", "reason")}
        return [Part(kind="result", path=path, text=compact(rest), form="fixed", id=call)]
    return read_content(item.get("output"), (*path, "output"), call, inner)


def _streams(chunks: list[Any], path: Path, call: CallId) -> list[Part]:
    """Read what a shell printed: `stdout` and `stderr` of each command."""
    found = [
        Part(kind="result", path=(*path, number, key), text=chunk[key], form="string", id=call)
        for number, chunk in enumerate(chunks)
        for key in ("stdout", "stderr")
        if type(chunk) is dict and type(chunk.get(key)) is str and chunk[key]
    ]
    return found or [Part(kind="result", path=path, text="", form="fixed", id=call)]


def _call_of(block: Any) -> CallId | None:
    return call_id(block) if kind_of(block) in PAIRS and is_item(block) else None


def _answer_of(block: Any) -> CallId | None:
    return call_id(block) if kind_of(block) in OUTPUTS else None


def _check(message: Message) -> None:
    if "compaction_trigger" in map(kind_of, message["content"]):
        raise MessageError(
            "the item `compaction_trigger` belongs to one request, as its last item: add it to the view, not to the "
            "history"
        )


# -- write --


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNgYGBgAAAABQABXvMqOgAAAABJRU5ErkJg"
    "gg=="
)
"""The smallest picture: the API takes nothing else as the answer of a `computer_call`."""


def _input_text(text: str) -> Block:
    return {"type": "input_text", "text": text}


def _words(text: str, media: list[Any]) -> list[Any]:
    return [{"type": "message", "role": "user", "content": [_input_text(text), *media]}]


def _result(call: Item, known: str, text: str) -> Message:
    """Return the envelope of an output that answers a call with this text, in the shape that its type demands."""
    kind = call["type"]
    answers: dict[str, Item] = {
        "local_shell_call": {"id": known, "output": text},
        "shell_call": {
            "call_id": known,
            "output": [{"stdout": "", "stderr": text, "outcome": {"type": "exit", "exit_code": 1}}],
        },
        "computer_call": {"call_id": known, "output": {"type": "computer_screenshot", "image_url": PIXEL}},
        "apply_patch_call": {"call_id": known, "status": "failed", "output": text},
        "tool_search_call": {"call_id": known, "tools": [], "execution": "client", "status": "incomplete"},
        "program": {"id": f"{known}_output", "call_id": known, "result": text, "status": "incomplete"},
        "mcp_approval_request": {"approval_request_id": known, "approve": False, "reason": text},
    }
    output = {"type": PAIRS[kind], **answers.get(kind, {"call_id": known, "output": text})}
    if type(call.get("caller")) is dict:
        output["caller"] = call["caller"]
    return {"role": "tool", "content": [output]}


# -- heal --


def _unless_empty(item: Item) -> Item | None:
    """Leave a message out that says nothing. Its blocks are healed before."""
    content = item.get("content")
    return None if content in ([], None) or is_blank(content) else item


def _text_output(item: Item) -> Item:
    return item if is_text(item.get("output")) else as_json(item, "output")


def _without_lone_reasoning(message: Message) -> Message:
    """Leave reasoning out at the end of the items: what followed it is missing."""
    left = message.get("content")
    while type(left) is list and left and kind_of(left[-1]) == "reasoning" and is_envelope({"content": left}):
        left = left[:-1]
    return message if left is message.get("content") else {**message, "content": left}


def _refused(block: Block) -> tuple[str, Any] | None:
    kind = kind_of(block)
    if kind == "function_call" and is_item(block):
        return ("arguments", block.get("arguments")) if type(block.get("arguments")) is dict else None
    if kind == "function_call_output":
        return None if is_text(block.get("output")) else ("output", block.get("output"))
    return None


# -- send --


def _sendable(item: Item) -> Item:
    """Clean an item. No identifier of Python may be `async`, so its client writes `async_`."""
    nullable = _NULLABLE_OF.get(item["type"], ())
    left = {
        "async" if key == "async_" else key: _value_of_item(key, value)
        for key, value in item.items()
        if key not in _OF_ITEMS and (value is not None or key in nullable)
    }
    return left if differs(left, item) else item


def _value_of_item(key: str, value: Any) -> Any:
    if key == "content" and type(value) is list:
        return each(value, _block_of_item)
    clean = value if key in _WRITTEN else without_nulls(value)
    return value if clean == value else clean


def _block_of_item(block: Block) -> Block:
    return block if "type" not in block else _sendable(block) if is_item(block) else cleaned(block)


# -- around messages --


def _response_message(answer: Mapping[Any, Any]) -> object:
    """Return all items of a response as one message."""
    if answer.get("object") == "response.compaction":
        raise MessageError(
            "a compacted response holds several messages: append its items, context.append(*compacted.output)"
        )
    if answer.get("object") != "response":
        return None
    items = answer.get("output")
    if not isinstance(items, list) or all(
        isinstance(item, Mapping) and item.get("type") == "reasoning" for item in items
    ):
        held = "only reasoning" if items else "no items"
        raise MessageError(
            f"the response holds {held} (its status is {answer.get('status')!r:.40}), so there is nothing to append: "
            "ask again without it"
        )
    return {"role": "assistant", "content": items}


def _count(usage: object) -> Counted | None:
    """Its prompt includes cached tokens, which its details list. Anthropic's interface has no such details."""
    prompt, details = count(usage, "input_tokens"), get(usage, "input_tokens_details")
    if prompt is None or details is None:
        return None
    read, written = (first(count(details, name)) for name in ("cached_tokens", "cache_write_tokens"))
    return within(prompt, read, written, count(usage, "output_tokens"))


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


RESPONSES = Dialect(
    name="OpenAI Responses",
    detects=is_envelope,
    check=_check,
    blocks={
        "input_text": read_text,
        "output_text": read_text,
        "input_image": picture(_input_text),
        "input_file": document(_input_text),
        "reasoning": read_sealed_reasoning,
    },
    call=_call_of,
    answer=_answer_of,
    reasoning=frozenset(("reasoning",)),
    tool_changes=frozenset(("tool_search_output", "mcp_list_tools")),
    make_words=_words,
    make_result=_result,
    reasons_in_turn=True,
    others_answer=frozenset(("mcp_approval_request", "program")),
    heals=(
        Heal("empty_text", ("input_text", "output_text"), unless_blank),
        Heal("empty_text", ("message",), _unless_empty),
        Heal("result_not_text", ("function_call",), arguments_as_json),
        Heal("cut_arguments", ("function_call",), arguments_as_object),
        Heal("result_not_text", ("function_call_output", "custom_tool_call_output"), _text_output),
        Heal("reasoning_alone", (), _without_lone_reasoning),
    ),
    refuses=_refused,
    sendable=_sendable,
    taken=Taken("OpenAI's Responses API", _TAKEN),
    response_message=_response_message,
    count_usage=_count,
    usage_keys=("input_tokens", "output_tokens"),
    response_in=("response",),
    response_keys=("output",),
    streams_count="in `response.completed`",
    tool_formats={"responses": _tool},
)
