"""Pictures, sounds and documents among the contents of a message."""

from typing import Any

from agent_framework import Content

Block = dict[str, Any]


def media_block(content: Content) -> Block:
    """Return the block of data, a URI or a file that the provider holds."""
    if content.type == "hosted_file":
        return {"type": "document", "source": {"type": "file", "file_id": content.file_id}}
    kind, _, form = (content.media_type or "").partition("/")
    uri = content.uri or ""
    data = uri.partition(";base64,")[2] if uri.startswith("data:") else None
    if kind == "audio" and data is not None:
        return {"type": "input_audio", "input_audio": {"data": data, "format": form}}
    name = "image" if kind == "image" else "document"
    if data is None:
        return {"type": name, "source": {"type": "url", "url": uri}}
    return {"type": name, "source": {"type": "base64", "media_type": content.media_type, "data": data}}


def without_data(value: Any) -> Any:
    """Return a JSON value in which the data of `data:` URIs is left out: no model reads it as a text."""
    if isinstance(value, dict):
        return {key: without_data(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_data(inner) for inner in value]
    if isinstance(value, str) and value.startswith("data:"):
        head, mark, data = value.partition(";base64,")
        return f"{head}{mark}[{len(data)} characters]" if mark else value
    return value
