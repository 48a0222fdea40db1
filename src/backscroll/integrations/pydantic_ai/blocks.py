"""Parts of messages as content blocks: in Anthropic's shape where it has one, so that views can shorten them.

Each block belongs to one part, or to one item of a user's prompt. A changed block so says what to rebuild.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    SystemPromptPart,
    TextContent,
    ThinkingPart,
    UserPromptPart,
    tool_return_ta,
)

Block = dict[str, Any]
ModelPart = ModelRequestPart | ModelResponsePart

STEERING = frozenset(
    (
        "instruction-baseline",
        "instruction-delta",
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
        "compaction",
    )
)
"""Kinds of parts that say what holds from here on: Pydantic AI reads them in each request."""
NOTES = frozenset(("instruction-baseline", "model-settings-delta"))
"""Of these, the kinds that Pydantic AI adds to the newest request while it sends it, and adds again where it misses
them. They say nothing to the model.
"""
STEERING_TOOLS = frozenset(("tool-search", "capability-load"))
"""Kinds of tools whose calls and results say which tools the model has."""
_OPENAI = "rs_"
"""How the ids of OpenAI's reasoning begin."""
_ERRORS = frozenset(("failed", "retried"))
_PIN = "pydantic-ai-harness.compaction.pin.v1"
"""How the harness of Pydantic AI marks a text that must stay."""


class Piece(NamedTuple):
    """A block, and what it is made of."""

    part: ModelPart
    number: int
    """Index of the part."""
    item: int
    """Index of the item, in a user's prompt that is a list; else 0."""
    block: Block


def pieces_of(parts: Iterable[ModelPart]) -> list[Piece]:
    """Return the blocks of parts, in order."""
    given = list(parts)
    if given and all(isinstance(part, ThinkingPart) and (part.id or "").startswith(_OPENAI) for part in given):
        return [Piece(part, number, 0, _item_of(part)) for number, part in enumerate(given)]
    return [Piece(part, number, item, block) for number, part in enumerate(given) for item, block in _blocks(part)]


def flags_of(message: ModelMessage, *, is_first: bool) -> dict[str, bool]:
    """Return whether a message stays in every view, as the metadata that says so.

    Args:
        message: The message.
        is_first: Whether it begins the conversation. A system prompt with the user's first prompt stays in any case,
            and a long prompt there may be shortened.
    """
    if any(_steers(part) for part in message.parts):
        return {"critical": True}
    prompted = any(isinstance(part, SystemPromptPart) and _lasts(part) for part in message.parts)
    if prompted and not (is_first and any(isinstance(part, UserPromptPart) for part in message.parts)):
        return {"critical": True}
    return {"pinned": True} if any(_is_pinned(part) for part in message.parts) else {}


def is_error(part: Any) -> bool:
    """Return whether a tool's answer asks the model to try again, or says that the tool failed."""
    return part.part_kind == "retry-prompt" or part.outcome in _ERRORS


def answers_call(part: Any) -> bool:
    """Return whether a part of a request answers a call of the model."""
    return part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def is_prompt_list(part: Any) -> TypeGuard[UserPromptPart]:
    """Return whether a part is a user's prompt of several items."""
    return isinstance(part, UserPromptPart) and not isinstance(part.content, str)


def as_json(part: Any) -> Any:
    """Return a part as JSON, without what only notes when it was made."""
    found = tool_return_ta.dump_python(part, mode="json", fallback=repr)
    return {key: value for key, value in found.items() if key != "timestamp"} if isinstance(found, dict) else found


def text_block(text: str) -> Block:
    """Return a text as a block."""
    return {"type": "text", "text": text}


def arguments_of(part: Any) -> Any:
    """Return the arguments of a call: a mapping, or the model's text where it is none."""
    if isinstance(part.args, str):
        try:
            found = json.loads(part.args, parse_constant=str)  # a model may write NaN, which is no JSON
        except ValueError:
            return part.args
        return found if isinstance(found, dict) else part.args
    return tool_return_ta.dump_python(part.args or {}, mode="json", fallback=repr)


def _steers(part: Any) -> bool:
    return part.part_kind in STEERING or getattr(part, "tool_kind", None) in STEERING_TOOLS


def _lasts(part: SystemPromptPart) -> bool:
    """Return whether the model sees a system prompt in later requests, too."""
    return getattr(part, "scope", "conversation") != "request"


def _is_pinned(part: Any) -> bool:
    return is_prompt_list(part) and any(
        isinstance(item, TextContent) and item.metadata == _PIN for item in part.content
    )


def _blocks(part: Any) -> list[tuple[int, Block]]:
    if is_prompt_list(part):
        return [(at, block) for at, item in enumerate(part.content) if (block := _item(item)) is not None]
    if part.part_kind in NOTES or (isinstance(part, SystemPromptPart) and not _lasts(part)):
        return []
    return [(0, _block(part))]


def _block(part: Any) -> Block:
    match part.part_kind:
        case "user-prompt" | "text":
            return text_block(part.content)
        case "thinking":
            return _thinking(part)
        case "tool-call":
            return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": arguments_of(part)}
        case "tool-return":
            return _result(part, _content(part))
        case "retry-prompt" if part.tool_name is not None:
            return _result(part, part.model_response())
        case "retry-prompt" | "retry-feedback":
            return text_block(part.model_response())
        case "file":
            return _media(part.content)
        case "builtin-tool-call" if part.tool_call_id:  # the pair's blocks name each other, so that no view parts them
            return {"type": "server_tool_use", "id": part.tool_call_id, "part": as_json(part)}
        case "builtin-tool-return" if part.tool_call_id:
            return {"type": "native_tool_result", "tool_use_id": part.tool_call_id, "part": as_json(part)}
        case _:
            return {"type": "pydantic_ai", "part": as_json(part)}


def _item_of(part: Any) -> Block:
    """Return reasoning alone as an item, which no view shows: OpenAI refuses reasoning without what followed it."""
    summary = [{"type": "summary_text", "text": part.content}] if part.content else []
    return {"type": "reasoning", "id": part.id, "summary": summary, "encrypted_content": part.signature}


def _thinking(part: Any) -> Block:
    """Return reasoning. An id of OpenAI seals it like a signature: its servers know what was before it. Plain reasoning
    has the mark of a host's block: Pydantic AI sends it as each provider takes it, and Anthropic would refuse it.
    """
    sealed = part.signature or (part.id if (part.id or "").startswith(_OPENAI) else None)
    return {"type": "thinking", "thinking": part.content} | ({"signature": sealed} if sealed else {"visibility": "all"})


def _result(part: Any, content: str | list[Block]) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": content}
    return block | {"is_error": True} if is_error(part) else block


def _content(part: Any) -> str | list[Block]:
    """Return a tool's answer as the model reads it: a text, or blocks where it holds files."""
    if not part.files:
        return str(part.model_response_str(wrap_if_error=False))
    items: Sequence[Any] = part.content_items(mode="str", wrap_if_error=False)
    return [text_block(item) if isinstance(item, str) else _media(item) for item in items]


def _item(item: Any) -> Block | None:
    """Return an item of a user's prompt; None for a mark of the prompt cache."""
    if isinstance(item, str):
        return text_block(item)
    if isinstance(item, TextContent):
        return text_block(item.content)
    return None if item.kind == "cache-point" else _media(item)


def _media(item: Any) -> Block:
    kind, source = media_kind(item), _source(item)
    if kind in ("audio", "video"):
        return {kind: {"source": source}}
    return {"type": kind, "source": source}


def media_kind(item: Any) -> str:
    """Return `image`, `document`, `audio` or `video`."""
    if item.kind.endswith("-url"):
        return str(item.kind.removesuffix("-url"))
    kind = item.media_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _source(item: Any) -> Block:
    if isinstance(item, BinaryContent):
        data = b64encode(item.data).decode("ascii")
        if media_kind(item) in ("audio", "video"):
            return {"bytes": data}
        return {"type": "base64", "media_type": item.media_type, "data": data}
    if item.kind == "uploaded-file":
        return {"type": "file", "file_id": item.file_id}
    return {"type": "url", "url": item.url}


def role_of(message: ModelMessage) -> str:
    """Return the role of a message's dict."""
    return "user" if isinstance(message, ModelRequest) else "assistant"
