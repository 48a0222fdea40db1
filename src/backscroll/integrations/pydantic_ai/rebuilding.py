"""Content blocks as parts of messages: what a view changed is rebuilt from a copy, the rest is handed on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from backscroll.integrations.pydantic_ai.blocks import Block, ModelPart, Piece, is_prompt_list, pieces_of, text_block
from backscroll.messages import Message

_UNKNOWN_TOOL = "unknown_tool"
"""The tool of a call that was never answered: only the call names it."""


class _Shown(NamedTuple):
    """A block of a view, and the piece that it was; None if Backscroll wrote it."""

    block: Block
    piece: Piece | None


def rebuilt(message: Message, natives: Sequence[ModelMessage]) -> ModelMessage:
    """Return the message for a dict of a view. The given messages are not changed."""
    is_response = message["role"] == "assistant"
    if not natives:
        return _written(message, is_response)
    given = [part for native in natives for part in native.parts]
    pieces = pieces_of(given)
    shown = _matched(_blocks(message), pieces)
    found = _parts(shown, pieces, is_response)
    if len(natives) == 1:  # parts without a block, such as a prompt for this request only
        with_blocks = {piece.number for piece in pieces}
        found += [part for number, part in enumerate(given) if number not in with_blocks]
    newest: Any = natives[-1]
    return replace(newest, parts=found)  # type: ignore[no-any-return]


def _blocks(message: Message) -> list[Block]:
    content = message.get("content")
    return [text_block(content)] if isinstance(content, str) else list(content or ())


def _written(message: Message, is_response: bool) -> ModelMessage:
    texts = [_new_part(block, is_response) for block in _blocks(message)]
    if is_response:
        return ModelResponse(parts=texts)
    if message["role"] == "system":
        return ModelRequest(parts=[SystemPromptPart(block["text"]) for block in _blocks(message)])
    return ModelRequest(parts=texts)


def _matched(blocks: Sequence[Block], pieces: Sequence[Piece]) -> list[_Shown]:
    """Find what each block was: the piece that says the same, else the next one that a view may have changed so."""
    free = dict(enumerate(pieces))
    found: dict[int, Piece] = {}
    for same in (_is_same, _is_changed):
        for number, block in enumerate(blocks):
            if number not in found:
                at = next((at for at, piece in free.items() if same(piece.block, block)), None)
                if at is not None:
                    found[number] = free.pop(at)
    return [_Shown(block, found.get(number)) for number, block in enumerate(blocks)]


def _is_same(old: Block, new: Block) -> bool:
    return old == new


def _is_changed(old: Block, new: Block) -> bool:
    """Return whether a view may have changed the one to the other; a picture becomes a text."""
    if "thinking" in (old.get("type"), new.get("type")):
        return bool(old.get("type") == new.get("type"))
    return bool(_id(old) == _id(new))


def _id(block: Block) -> tuple[Any, Any]:
    return block.get("id"), block.get("tool_use_id")


def _parts(shown: Sequence[_Shown], pieces: Sequence[Piece], is_response: bool) -> list[Any]:
    """Return the parts in the order of the blocks."""
    blocks: dict[int, dict[int, Block]] = {}
    for each in shown:
        if each.piece is not None:
            blocks.setdefault(each.piece.number, {})[each.piece.item] = each.block
    before: dict[int, dict[int, Block]] = {}
    for piece in pieces:
        before.setdefault(piece.number, {})[piece.item] = piece.block
    is_bare = any(piece.part.part_kind == "thinking" and piece.number not in blocks for piece in pieces)
    found: list[Any] = []
    for each in shown:
        if each.piece is None:
            found.append(_new_part(each.block, is_response))
        elif (now := blocks.pop(each.piece.number, None)) is not None:
            part = each.piece.part
            found.append(part if now == before[each.piece.number] else _changed(part, now, is_response))
    found = _without_half_pairs(found, pieces)
    return _without_demands(found) if is_bare else found


def _without_half_pairs(parts: Sequence[Any], pieces: Sequence[Piece]) -> list[Any]:
    """Return parts without the calls and results of native tools whose other half the view replaced."""
    left = {id(part) for part in parts}
    gone = {piece.part.tool_call_id for piece in pieces if _is_native(piece.part) and id(piece.part) not in left}
    return [part for part in parts if not (_is_native(part) and part.tool_call_id in gone)]


def _is_native(part: Any) -> TypeGuard[NativeToolCallPart[Any] | NativeToolReturnPart[Any]]:
    return isinstance(part, NativeToolCallPart | NativeToolReturnPart)


def _without_demands(parts: Sequence[Any]) -> list[Any]:
    """Return parts without the ids that demand the reasoning before them on OpenAI's servers.

    A native tool's call cannot be sent without its id: it is left out, with its result.
    """
    gone = {part.tool_call_id for part in parts if isinstance(part, NativeToolCallPart) and part.id}
    left = [part for part in parts if not (_is_native(part) and part.tool_call_id in gone)]
    return [replace(part, id=None) if getattr(part, "id", None) else part for part in left]


def _changed(part: Any, blocks: dict[int, Block], is_response: bool) -> ModelPart:
    """Return a copy of a part that says what its blocks now say."""
    if is_prompt_list(part):
        items = [_item(item, blocks[at]) if at in blocks else item for at, item in enumerate(part.content)]
        return replace(part, content=items)
    block = blocks[0]
    match part.part_kind:
        case "user-prompt":
            return replace(part, content=_text(block))  # type: ignore[no-any-return]
        case "text":
            return replace(part, content=_text(block), id=None)  # type: ignore[no-any-return]
        case "thinking":
            return replace(part, content=block["thinking"])  # type: ignore[no-any-return]
        case "tool-call":
            given = block["input"]
            arguments = json.dumps(given) if isinstance(part.args, str) and not isinstance(given, str) else given
            return replace(part, args=arguments, id=None)  # type: ignore[no-any-return]
        case "tool-return":
            return replace(part, content=_answer(part, block["content"]))  # type: ignore[no-any-return]
        case "retry-prompt" if part.tool_name is not None:
            return ToolReturnPart(part.tool_name, _text(block), part.tool_call_id, outcome="retried")
        case _:
            return _new_part(block, is_response)  # type: ignore[no-any-return]


def _item(item: Any, block: Block) -> Any:
    """Return an item of a user's prompt that says what its block says."""
    if block.get("type") != "text":
        return item
    if isinstance(item, TextContent):
        same = item.content == block["text"]
        return item if same else TextContent(block["text"], metadata=item.metadata)
    return block["text"]


def _answer(part: Any, content: Any) -> Any:
    """Return the content of a tool's answer: a text, or the texts and files that are left."""
    if not isinstance(content, list):
        return content
    files = part.files
    left = [block["text"] if block.get("type") == "text" else None for block in content]
    raw = iter(part.content_items(mode="raw"))
    items = [file if text is None else text for text, file in zip(left, raw, strict=False)]
    return items if files and isinstance(part.content, list) else "\n".join(map(str, items))


def _text(block: Block) -> str:
    found = block.get("text", block.get("content"))
    return found if isinstance(found, str) else json.dumps(block)


def _new_part(block: Block, is_response: bool) -> Any:
    """Return the part for a block that Backscroll wrote."""
    if block.get("type") == "tool_result":
        return ToolReturnPart(_UNKNOWN_TOOL, _text(block), block["tool_use_id"])
    return TextPart(_text(block)) if is_response else UserPromptPart(_text(block))
