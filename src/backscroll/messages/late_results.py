"""A tool result as text of a user's message: for a result that can no longer follow its call.

A provider takes one result for a call, directly behind it. What comes later is sent where it came, as text in a frame
that names its call. Media stay media.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from backscroll.messages.dialects import blocks_key, dialect_of_block
from backscroll.messages.dialects.dialect import text_block
from backscroll.messages.dialects.response_items import OUTPUTS, is_envelope
from backscroll.messages.parts import Message, Part, Path, kind_of
from backscroll.messages.reader import read_message

Frame = Callable[[str], str]
"""Returns the text to send for the text of a result."""


def as_text(message: Message, frames: Mapping[Path, Frame]) -> Message:
    """Return the message with these results as text.

    Args:
        message: The message, with its edits.
        frames: For each result its path, () for the whole message, and how its text is framed.
    """
    parts = read_message(message).parts
    if () in frames:
        text, media = _said(parts, message, frames[()])
        kept = {key: message[key] for key in ("metadata",) if key in message}
        return {"role": "user", "content": [text_block(text), *media] if media else text, **kept}
    key = blocks_key(message)
    blocks: list[Any] = []
    for number, block in enumerate(message[key]):
        path: Path = (key, number)
        if path not in frames:
            blocks.append(block)
            continue
        text, media = _said([part for part in parts if part.path[:2] == path], message, frames[path])
        blocks += dialect_of_block(block, key).make_words(text, media)
    role = message["role"]
    if role == "tool" and is_envelope(message) and not any(kind_of(block) in OUTPUTS for block in blocks):
        role = "user"
    return {**message, "role": role, key: blocks}


def _said(parts: Iterable[Part], message: Message, frame: Frame) -> tuple[str, list[Any]]:
    """Return the framed text of a result, and its blocks of media."""
    results = [part for part in parts if part.id is not None and part.kind != "call"]
    text = "\n".join(part.text for part in results if part.media is None and part.text)
    return frame(text), [_at(message, part) for part in results if part.media is not None]


def _at(message: Message, part: Part) -> Any:
    node: Any = message
    for key in part.path:
        node = node[key]
    return {"type": "input_image", "image_url": node["image_url"]} if _is_screenshot(node) else node


def _is_screenshot(node: Any) -> bool:
    return kind_of(node) == "computer_screenshot" and type(node.get("image_url")) is str
