"""One content of a message as one block of Anthropic's dialect, so that a changed block says which content to rebuild.

What the dialect has no block for, such as the calls that a provider's server executes, becomes a block that a view
shows as it is, or leaves out together with its message.
"""

import json
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from agent_framework import Content

from backscroll.integrations.agent_framework.media import Block, media_block, without_data

_IN_ANOTHER = "in another content"
"""The signature of reasoning whose signature is a content of its own: some clients stream it so."""


def to_blocks(contents: Sequence[Content], role: str) -> list[Block]:
    """Return the blocks of a message's contents, one a content.

    Args:
        contents: The contents.
        role: The role of the message: an assistant's message holds only results of what a server executed.
    """
    if contents and all(_is_openais(content) for content in contents):
        return list(map(_item, contents))
    sealed = any(content.type == "text_reasoning" and _seal(content) for content in contents)
    return [_to_block(content, sealed=sealed, served=role == "assistant") for content in contents]


def _to_block(content: Content, *, sealed: bool, served: bool) -> Block:
    if content.type == "text_reasoning":
        return _reasoning(content, sealed=sealed)
    if (content.type == "function_result" and served) or (content.type == "function_call" and content.hosted):
        return _opaque(content)
    return _READERS.get(content.type, _opaque)(content)


def _text(content: Content) -> Block:
    return {"type": "text", "text": content.text or ""}


def _seal(content: Content) -> str:
    """Return the signature of reasoning, or its encrypted text."""
    return content.protected_data or str(content.additional_properties.get("encrypted_content") or "")


def _is_openais(content: Content) -> bool:
    return content.type == "text_reasoning" and str(content.id or "").startswith("rs_")


def _item(content: Content) -> Block:
    """Return reasoning alone as an item, which no view shows: OpenAI refuses reasoning without what followed it."""
    summary = [{"type": "summary_text", "text": content.text}] if content.text else []
    return {"type": "reasoning", "id": content.id, "summary": summary, "encrypted_content": _seal(content)}


def _reasoning(content: Content, *, sealed: bool) -> Block:
    if content.text is None:
        return {"type": "redacted_thinking", "data": _seal(content)}
    # Plain reasoning has the mark of a host's block: each client sends it as its provider takes it.
    signature = {"signature": _seal(content) or _IN_ANOTHER} if sealed else {"visibility": "all"}
    return {"type": "thinking", "thinking": content.text, **signature}


def _call(content: Content) -> Block:
    return {"type": "tool_use", "id": content.call_id or "", "name": content.name or "", "input": _arguments(content)}


def _arguments(content: Content) -> Any:
    given = content.arguments
    if not isinstance(given, str):
        return _json(dict(given or {}))
    try:
        parsed = json.loads(given, parse_constant=str) if given else {}
    except ValueError:
        return given
    return parsed if isinstance(parsed, dict) else given


def _result(content: Content) -> Block:
    items = content.items
    inner: Any = _plain(content) if items is None else to_blocks(items, "tool")
    failed = {"is_error": True} if content.exception is not None else {}
    return {"type": "tool_result", "tool_use_id": content.call_id or "", "content": inner, **failed}


def _plain(content: Content) -> str:
    result = content.result
    return result if isinstance(result, str) else "" if result is None else json.dumps(result, default=str)


def _usage(content: Content) -> Block:  # noqa: ARG001  # no provider is sent what it counted
    return {"type": "usage"}


def _opaque(content: Content) -> Block:
    block: Block = without_data(_json(content.to_dict()))
    kind = f"agent_framework.{content.type}"
    if content.call_id and kind.endswith("_call"):  # the pair's blocks name each other, so that no view parts them
        return {"type": "server_tool_use", "id": content.call_id, "content": block}
    if content.call_id and kind.endswith("_result"):
        return {"type": "hosted_tool_result", "tool_use_id": content.call_id, "content": block}
    return {**block, "type": kind}


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str), parse_constant=str)  # a model may write NaN, which is no JSON


_READERS: dict[str, Callable[[Content], Block]] = {
    "text": _text,
    "function_call": _call,
    "function_result": _result,
    "data": media_block,
    "uri": media_block,
    "hosted_file": media_block,
    "usage": _usage,
}


def to_contents(blocks: Any, contents: Sequence[Content], own: Sequence[Block]) -> list[Content]:
    """Return the contents of a changed message: the given objects where nothing changed, else changed copies.

    Args:
        blocks: The content of the message in the view: blocks, or a text.
        contents: The contents that it had. They are not changed.
        own: The block of each of these.
    """
    blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
    waiting = dict(enumerate(own))
    unchanged = [_taken(waiting, block, _whole) for block in blocks]
    found: list[Content] = []
    for block, same in zip(blocks, unchanged, strict=True):
        if same is not None:
            found.append(contents[same])
        elif (at := _taken(waiting, block, _place)) is not None:
            found.append(_changed(contents[at], block, own[at]))
        else:
            found.append(_new(block))
    return found


def _taken(waiting: dict[int, Block], wanted: Block, key: Callable[[Block], object]) -> int | None:
    """Take the first block that has the key of the wanted one; return its index."""
    at = next((at for at, block in waiting.items() if key(block) == key(wanted)), None)
    if at is not None:
        del waiting[at]
    return at


def _whole(block: Block) -> Block:
    return block


def _place(block: Block) -> tuple[Any, Any]:
    """Return what a view never changes of a block: its type, and the id of a call."""
    return block.get("type"), block.get("id", block.get("tool_use_id"))


def _changed(content: Content, block: Block, own: Block) -> Content:
    made = copy(content)
    made.raw_representation = None  # some clients send it, and it says what the view changed
    if block["type"] == "tool_use":
        made.arguments = json.dumps(block["input"]) if isinstance(content.arguments, str) else block["input"]
    elif block["type"] == "tool_result":
        inner = own["content"] if isinstance(own["content"], list) else []
        made.items = to_contents(block.get("content") or "", content.items or (), inner)
        made.result = _joined(made.items)
    else:
        made.text = block.get("text", block.get("thinking"))
    return made


def _new(block: Block) -> Content:
    """Return the content of a block that Backscroll wrote, or wrote in the place of a picture."""
    if block.get("type") == "tool_use":
        return Content.from_function_call(block["id"], block["name"], arguments=block["input"])
    if block.get("type") == "tool_result":
        return Content.from_function_result(
            block["tool_use_id"], result=to_contents(block.get("content") or "", (), ())
        )
    text = block.get("text")
    return Content.from_text(text if isinstance(text, str) else json.dumps(block, ensure_ascii=False))


def _joined(items: Sequence[Content]) -> str:
    return "\n".join(item.text for item in items if item.type == "text" and item.text)
