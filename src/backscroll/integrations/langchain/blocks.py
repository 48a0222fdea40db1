"""Content blocks of LangChain's messages to blocks that the history reads, and back.

Most blocks are in the provider's own shape and stay as they are. LangChain's own blocks of media, of which there are
two generations, become those of a provider, so that a picture counts as one. Source: `langchain_core.messages.content`.
"""

from collections.abc import Callable, Mapping
from typing import Any

Block = Any
"""A text or a mapping."""
_NOTES = ("cache_control", "index")
"""Fields that say nothing: a mark for a prompt cache, and the place in a stream."""


def to_stored(block: Block) -> Block:
    """Return the block to store for one of LangChain's."""
    if not isinstance(block, dict):
        return block
    if any(name in block for name in _NOTES):
        block = {name: value for name, value in block.items() if name not in _NOTES}
    convert = _CONVERTERS.get(block.get("type", ""))
    return block if convert is None else convert(block)


def _data_of(block: Mapping[str, Any]) -> str | None:
    """Return the base64 data of a block of media; `None` if it only refers to them."""
    data = block.get("base64", block.get("data"))
    return data if isinstance(data, str) else None


def _image(block: dict[str, Any]) -> dict[str, Any]:
    if "source" in block:
        return block  # Anthropic's
    data = _data_of(block)
    if data is not None:
        kind = block.get("mime_type") or "image/png"
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    if "file_id" in block:
        return {"type": "image", "source": {"type": "file", "file_id": block["file_id"]}}
    return {"type": "image", "source": {"type": "url", "url": block.get("url")}}


def _audio(block: dict[str, Any]) -> dict[str, Any]:
    kind = str(block.get("mime_type") or "").rpartition("/")[2]
    held = {"data": _data_of(block), "url": block.get("url"), "file_id": block.get("file_id"), "format": kind}
    return {"type": "input_audio", "input_audio": held}


def _file(block: dict[str, Any]) -> dict[str, Any]:
    if "file" in block:
        return block  # OpenAI's
    held = {"file_data": _data_of(block), "url": block.get("url"), "file_id": block.get("file_id")}
    return {"type": "file", "file": held}


def _plain_text(block: dict[str, Any]) -> dict[str, Any]:
    if isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    return _file(block)


_CONVERTERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "image": _image,
    "audio": _audio,
    "video": _file,
    "file": _file,
    "text-plain": _plain_text,
}
