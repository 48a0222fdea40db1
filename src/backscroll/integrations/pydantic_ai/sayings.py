"""What a part says: messages whose parts say the same are the same.

Times, ids of runs, usage, settings and marks for a cache say nothing. Bytes and long texts are compared as they are,
because this is done for the newest messages at each request.
"""

import json
from typing import Any

from pydantic_ai.messages import BinaryContent, ModelMessage, TextContent

from backscroll.integrations.pydantic_ai.blocks import NOTES, as_json, is_prompt_list, role_of


def says_of(message: ModelMessage) -> tuple[object, ...]:
    """Return what a message says, in tuples, texts and bytes."""
    return (role_of(message), *(_says(part) for part in message.parts if part.part_kind not in NOTES))


def _says(part: Any) -> object:
    kind = part.part_kind
    if is_prompt_list(part):
        return (kind, *(_item(item) for item in part.content if getattr(item, "kind", "") != "cache-point"))
    match kind:
        case "user-prompt" | "text" | "system-prompt":
            return kind, part.content
        case "thinking":
            return kind, part.content, part.signature or "", part.id or ""
        case "tool-call":
            arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return kind, part.tool_call_id, part.tool_name, arguments
        case "tool-return" if isinstance(part.content, str):
            return kind, part.tool_call_id, part.outcome, part.content
        case "tool-return":
            text = part.model_response_str(wrap_if_error=False)
            return (kind, part.tool_call_id, part.outcome, text, *map(_item, part.files))
        case _:
            return kind, json.dumps(as_json(part), sort_keys=True)


def _item(item: Any) -> object:
    if isinstance(item, str):
        return item
    if isinstance(item, TextContent):
        return item.content
    if isinstance(item, BinaryContent):
        return item.media_type, item.data
    return item.kind, item.file_id if item.kind == "uploaded-file" else item.url
