"""The form in which a loop receives a view, and the measure with which loops compare it with a budget."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from backscroll.view.context import HandedOut

Message = dict[str, Any]

CHARACTERS = 4  # per token, as loops measure
_RESPONSE = "openai:response_id"
"""Where a provider notes a response that the next request may continue: the server then uses everything that it
received before, including what the request leaves out.
"""
_PAYLOADS = frozenset(("source", "image_url", "url", "data", "file_id"))
"""Keys of an image block that loops do not measure."""


def as_sent(handed: HandedOut) -> list[Message]:
    """Return the messages as loops expect them, with a copy of each that has to change.

    Messages up to the newest plan lose the id of their response, so that no chain on the server continues from them.
    Our own lines in the user role are marked as ephemeral, since loops put reminders in front of the last user message
    that is not.
    """
    view = [sendable(message) for message in handed.messages]
    for at in range(handed.settled):
        metadata = view[at].get("metadata")
        if type(metadata) is dict and _RESPONSE in metadata:
            kept = {key: value for key, value in metadata.items() if key != _RESPONSE}
            view[at] = {**view[at], "metadata": kept}
    for at in handed.lines:
        view[at] = {**view[at], "metadata": {"ephemeral": True}}
    return view


def sendable(message: Message) -> Message:
    """Return the message as the kernel's `Message` takes it: content as text or blocks, no keys of other managers."""
    content = message.get("content")
    if type(content) not in (str, list):
        content = "" if content is None else json.dumps(content, ensure_ascii=False)
        message = {**message, "content": content}
    elif type(content) is list and any(type(block) is not dict for block in content):
        message = {**message, "content": [block if type(block) is dict else _text(block) for block in content]}
    if any(key[:1] == "_" for key in message):
        message = {key: value for key, value in message.items() if key[:1] != "_"}
    return message


def _text(value: Any) -> dict[str, str]:
    return {"type": "text", "text": value if type(value) is str else json.dumps(value, ensure_ascii=False)}


def loop_tokens(view: Sequence[Message]) -> int:
    """Return a view's tokens as loop-streaming measures them: the characters of each message's `str`, by four."""
    return sum(len(str(_without_images(message))) // CHARACTERS for message in view)


def _without_images(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if type(content) is not list or not any(map(_is_image, content)):
        return message
    return {**message, "content": [_bare(block) if _is_image(block) else block for block in content]}


def _is_image(block: Any) -> bool:
    return type(block) is dict and "image" in str(block.get("type"))


def _bare(block: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in block.items() if key not in _PAYLOADS}


def is_reminder(message: Message, content: Any) -> bool:
    """Return whether a message is a reminder of this content, which a loop stored once and does not repeat."""
    metadata = message.get("metadata")
    return (
        message.get("role") == "user"
        and type(metadata) is dict
        and metadata.get("ephemeral") is True
        and metadata.get("persisted") is True
        and message.get("content") == content
    )
