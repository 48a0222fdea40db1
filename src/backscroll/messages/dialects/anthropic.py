"""Anthropic's Messages API: every content is blocks with a type, and a user's message holds the results.

Sources: "Server tools", "MCP connector", "Tool search" and "Mid-conversation system messages" (Claude Platform Docs),
and the types of anthropic 2.12.
"""

from typing import Any

from backscroll.messages.counted import Counted, count, first, get
from backscroll.messages.dialects.blocks import (
    cleaned,
    id_of,
    read_call,
    read_result,
    read_sealed_reasoning,
    read_text,
    texts_only,
    value_in_result,
    with_object,
    without_blank_texts,
)
from backscroll.messages.dialects.dialect import Dialect, Heal, Taken, text_block
from backscroll.messages.parts import Block, CallId, Form, Inner, Media, Part, Path, Reader, compact, kind_of
from backscroll.messages.same_data import without_copies

_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_SERVER_RESULT = "_tool_result"
"""The end of the type of each result, such as `web_search_tool_result`."""
OF_RESPONSES = ("role", "content", "name", "metadata", "cache_control")
"""Fields that stay of a whole response: two of theirs, and the caller's own."""
_MARKABLE = frozenset(
    (
        "text", "image", "document", "tool_use", "tool_result", "search_result", "server_tool_use",
        "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "compaction", "image_url",
    )
)  # fmt: skip  # one thought


# -- read --


def _thinking(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    text = block.get("thinking")
    form: Form = "fixed" if block.get("signature") or block.get("content") else "string"
    if type(text) is not str:
        return [Part("reasoning", path, compact(block), "fixed")]
    return [Part("reasoning", (*path, "thinking"), text, form)]


def _tool_use(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return read_call(block, path, id_of(block.get("id")))


def _tool_result(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    """Read `tool_use_id` and `content`, and what Amplifier has in a block of the same type."""
    answered = id_of(block.get("tool_use_id", block.get("tool_call_id")))
    if "output" in block and "content" not in block:
        output = block["output"]
        text = output if type(output) is str else compact(output)
        return [Part(kind="result", path=(*path, "output"), text=text, form="value", id=answered)]
    return read_result(block, (*path, "content"), answered, inner)


def _sourced(kind: str) -> Reader:
    """Return a reader of images and documents: `source` is base64 data, a URL, a file id or plain text."""

    def read(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
        source = block.get("source")
        if type(source) is not dict:
            return [
                Part(kind="media", path=path, text="", form=text_block, id=answers, name=None, media=Media(kind, None))
            ]
        data = source.get("data")
        if source.get("type") == "text" and type(data) is str:
            return [
                Part(
                    kind="text" if answers is None else "result",
                    path=(*path, "source", "data"),
                    text=data,
                    form="string",
                    id=answers,
                )
            ]
        if source.get("type") == "content":
            return [Part(kind="opaque", path=path, text=compact(source.get("content")), form=text_block, id=answers)]
        return [
            Part(
                kind="media",
                path=path,
                text="",
                form=text_block,
                id=answers,
                name=None,
                media=Media(kind, data if type(data) is str else None),
            )
        ]

    return read


def _call(block: Any) -> CallId | None:
    return CallId(block.get("id") or "") if kind_of(block) == "tool_use" else None


def _answer(block: Any) -> CallId | None:
    return CallId(block.get("tool_use_id") or "") if kind_of(block) == "tool_result" else None


def _server_call(block: Any) -> str | None:
    return (id_of(block.get("id")) or None) if kind_of(block) in _SERVER_CALLS else None


def _server_answer(block: Any) -> str | None:
    return (id_of(block.get("tool_use_id")) or None) if kind_of(block).endswith(_SERVER_RESULT) else None


# -- write --


def _result(block: Block, call: str, text: str) -> Block:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}


# -- heal --


def _signed(block: Block) -> Block | None:
    """Leave thinking out that a cut stream left without a signature."""
    return block if block.get("signature") or {"content", "visibility"} & block.keys() else None


def _object_input(call: Block) -> Block:
    return with_object(call, "input")


def _is_ours(result: Block) -> bool:
    """Return whether a result is the provider's, and not Amplifier's, which may hold any value."""
    return "content" in result or "output" not in result


def _said(result: Block) -> Block:
    return without_blank_texts(result, text_block, lists=False) if _is_ours(result) else result


def _once(result: Block) -> Block:
    return without_copies(result, text_block) if _is_ours(result) else result


def _as_text(result: Block) -> Block:
    return texts_only(result, text_block, lists=False) if _is_ours(result) else result


def _refused(block: Block) -> tuple[str, Any] | None:
    return value_in_result(block) if kind_of(block) == "tool_result" else None


# -- around messages --


def _count(usage: object) -> Counted | None:
    """Its `input_tokens` were neither read from the cache nor written to it."""
    fresh = count(usage, "input_tokens")
    if fresh is None:
        return None
    read, written = (first(count(usage, f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    return Counted(fresh, read, written, first(count(usage, "output_tokens")))


def _count_first_turn(usage: object) -> Counted | None:
    """Read the first turn of a call in which the server ran tools: its totals add up the prompts of all turns, and we
    sent the first. Compactions by the server are listed apart and are no prompt of ours.
    """
    turns = get(usage, "iterations")
    if not isinstance(turns, list | tuple) or not turns:
        return None
    sent = next((turn for turn in turns if get(turn, "type") in ("message", "fallback_message")), None)
    counted = None if sent is None else _count(sent)
    return counted and counted._replace(answer=first(count(usage, "output_tokens")))


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": schema}


ANTHROPIC = Dialect(
    name="Anthropic",
    blocks={
        "text": read_text,
        "thinking": _thinking,
        "redacted_thinking": read_sealed_reasoning,
        "tool_use": _tool_use,
        "tool_result": _tool_result,
        "image": _sourced("image"),
        "document": _sourced("document"),
    },
    call=_call,
    answer=_answer,
    server_call=_server_call,
    server_answer=_server_answer,
    reasoning=frozenset(("thinking", "redacted_thinking")),
    tool_changes=frozenset(("tool_search_tool_result", "tool_reference", "tool_addition", "tool_removal")),
    make_result=_result,
    markable=_MARKABLE,
    heals=(
        Heal("empty_text", ("thinking",), _signed),
        Heal("cut_arguments", ("tool_use",), _object_input),
        Heal("empty_text", ("tool_result",), _said),
        Heal("data_twice", ("tool_result",), _once),
        Heal("result_not_text", ("tool_result",), _as_text),
    ),
    refuses=_refused,
    sendable=cleaned,
    taken=Taken(
        "Anthropic's Messages API",
        frozenset(("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")),
    ),
    count_usage=_count,
    count_first_turn=_count_first_turn,
    usage_keys=("input_tokens", "output_tokens"),
    response_in=("message",),
    response_keys=("type",),
    streams_count="in `get_final_message()`",
    tool_formats={"anthropic": _tool},
)
