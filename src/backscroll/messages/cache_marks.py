"""Marks for a provider's prompt cache in blocks: which block may bear one, and how it is set and taken out.

Anthropic's mark is a key of a block, `cache_control`; in Bedrock's Converse it is a block of its own, `cachePoint`.
Sources: "Prompt caching" (Claude Platform Docs), "Prompt caching for faster model inference" (Amazon).
"""

from collections.abc import Sequence
from typing import Any

from backscroll.messages.dialects.anthropic import ANTHROPIC
from backscroll.messages.dialects.bedrock import BEDROCK
from backscroll.messages.parts import Message

_KEY, _POINT = "cache_control", "cachePoint"
_CONVERSE = BEDROCK.markable | {"reasoningContent", "guardContent", "cachePoint"}


def mark(message: Message, number: int, lasting: dict[str, str]) -> None:
    """Set a mark at a block of a message that is shared with nothing.

    Args:
        message: The message.
        number: The block.
        lasting: How long the provider keeps what it caches; empty for its default.
    """
    content = message["content"]
    if "type" in content[number]:
        content[number][_KEY] = {"type": "ephemeral", **lasting}
    else:
        content.insert(number + 1, {_POINT: {"type": "default", **lasting}})


def blocks_of(message: Message) -> Sequence[Any]:
    """Return the blocks of a content; a text is one."""
    content = message.get("content", message.get("parts"))
    return content if type(content) is list else [content] if content else []


def in_blocks(message: Message, *, bare: bool = False) -> Message:
    """Return a message without marks, its text content as one block. What does not change is shared, not copied.

    Args:
        message: The message.
        bare: The block has no type, as in Bedrock's Converse.
    """
    content = message.get("content")
    if type(content) is str and content and message["role"] != "function":
        content = [{"text": content} if bare else {"type": "text", "text": content}]
    elif type(content) is list:
        content = _unmarked(content)
    return _with_content(message, content)


def without_marks(message: Message) -> Message:
    """Return a message without marks. What does not change is shared, not copied."""
    content = message.get("content")
    return _with_content(message, _unmarked(content) if type(content) is list else content)


def _with_content(message: Message, content: Any) -> Message:
    """Return a message with another content and without a mark of its own."""
    if content is message.get("content") and _KEY not in message:
        return message
    left = {key: value for key, value in message.items() if key != _KEY}
    return left | ({"content": content} if "content" in message else {})


def marks_are_blocks(message: Message) -> bool:
    """Return whether a message is of a dialect whose marks are blocks of their own, as in Bedrock's Converse."""
    content = message.get("content")
    return type(content) is list and any(map(_is_bare, content))


def _is_bare(block: Any) -> bool:
    return type(block) is dict and "type" not in block and not _CONVERSE.isdisjoint(block)


def _unmarked(blocks: list[Any]) -> list[Any]:
    left = [_without_mark(block) if type(block) is dict else block for block in blocks if not _is_point(block)]
    if not left:
        return blocks  # a message of a mark alone says nothing, and without it nothing is left
    same = len(left) == len(blocks) and all(one is other for one, other in zip(left, blocks, strict=True))
    return blocks if same else left


def _is_point(block: Any) -> bool:
    return type(block) is dict and block.keys() == {_POINT}


def _without_mark(block: dict[str, Any]) -> dict[str, Any]:
    """Take the mark out of a block and of the blocks in its content; arguments of calls may hold any key."""
    inner = block.get("content")
    content = _unmarked(inner) if type(inner) is list else inner
    if _KEY not in block and content is inner:
        return block
    return {key: content if key == "content" else value for key, value in block.items() if key != _KEY}


def last_markable(message: Message) -> int | None:
    """Return the number of the last block that may bear a mark."""
    content = message.get("content")
    if type(content) is not list:
        return None
    return next((at for at in range(len(content) - 1, -1, -1) if is_markable(content[at])), None)


def is_markable(block: Any) -> bool:
    """Return whether a block may bear a mark. Reasoning and an empty text may not."""
    if type(block) is not dict:
        return False
    if "type" not in block:
        kind = next((key for key in block if key in BEDROCK.markable), None)
    else:
        kind = block["type"] if block["type"] in ANTHROPIC.markable else None
    if kind != "text":
        return kind is not None
    return type(block.get("text")) is str and not block["text"].isspace() and block["text"] != ""
