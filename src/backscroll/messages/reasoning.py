"""Reasoning in a message: where it is, and the message without it.

A provider binds reasoning to what came before it. A plan that edits an earlier message therefore takes the reasoning
behind that place out of the view. Sources: "Preserved thinking" of Anthropic, "Preserved reasoning" of OpenAI, and the
request types of openai 3.54.
"""

from collections.abc import Sequence
from typing import Any

from backscroll.messages.dialects import DIALECTS
from backscroll.messages.dialects.gemini import is_content, is_sealed_thought
from backscroll.messages.parts import Message
from backscroll.messages.reader import read_message

_BLOCKS = frozenset(kind for each in DIALECTS for kind in each.reasoning)
_KEYS = frozenset(key for each in DIALECTS for key in each.reasoning_fields)
_OPTIONAL_ID = frozenset(
    ("message", "function_call", "custom_tool_call", "shell_call", "apply_patch_call", "tool_search_call")
)
"""Items of the Responses API that a request may hold without their `id`."""
_ANSWERED = frozenset(
    ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")
)
"""Items that must have their `id`, but need no answer, so they can leave with the reasoning that the `id` demands."""
_OF_EASY_MESSAGES = ("type", "role", "phase")


def without_reasoning(message: Message) -> Message | None:
    """Return the message without its reasoning; the message itself if it holds none, `None` if it holds nothing else.

    Reads every dialect: blocks of thinking (Anthropic, Amplifier), `reasoningContent` (Bedrock), `reasoning_content`
    (OpenAI chat), signed thoughts in Gemini's shape, and reasoning items of the Responses API. With the latter also
    goes the `id` of each item that would demand the reasoning on OpenAI's servers: an output message becomes a plain
    one, and a server's tool call, which cannot be sent without its `id`, is left out. Calls that pair by their `id`
    keep it (`local_shell_call`, `computer_call`, `program`, `mcp_approval_request`). Unchanged values are shared.
    """
    if is_content(message):
        left_parts = [part for part in message["parts"] or () if not is_sealed_thought(part)]
        if len(left_parts) == len(message["parts"] or ()):
            return message
        return {**message, "parts": left_parts} if left_parts else None
    content = message.get("content")
    blocks = content if type(content) is list else []
    rest = [block for block in blocks if not _is_reasoning(block)]
    if len(rest) < len(blocks):
        if any(type(block) is dict and block.get("type") == "reasoning" for block in blocks):
            rest = without_demands(rest)
        message = {**message, "content": rest}
    elif _KEYS.isdisjoint(message):
        return message
    left = {key: value for key, value in message.items() if key not in _KEYS}
    said = any(part.text or part.kind not in ("text", "opaque") for part in read_message(left).parts)
    return left if said else None


def without_demands(items: Sequence[Any]) -> list[Any]:
    """Return items of the Responses API without what demands reasoning that is not among them: the `id` of a model's
    message or call, and a server's tool call as a whole. Messages of others keep their `id`.
    """
    return [_unbound(item) for item in items if not _of_type(item, _ANSWERED)]


def _is_reasoning(block: Any) -> bool:
    if type(block) is not dict:
        return False
    return _of_type(block, _BLOCKS) if "type" in block else not _BLOCKS.isdisjoint(block)


def _of_type(block: Any, types: frozenset[str]) -> bool:
    return type(block) is dict and type(block.get("type")) is str and block["type"] in types


def _unbound(item: Any) -> Any:
    """Return an item without the `id` under which OpenAI's servers know the reasoning before it."""
    if not _of_type(item, _OPTIONAL_ID) or "id" not in item:
        return item
    content = item.get("content")
    if item["type"] == "message" and item.get("role") != "assistant":
        return item
    if item["type"] != "message" or type(content) is not list:
        return {key: value for key, value in item.items() if key != "id"}
    texts = [part.get("text", part.get("refusal")) for part in content if type(part) is dict]
    plain = {key: item[key] for key in _OF_EASY_MESSAGES if item.get(key) is not None}
    return {**plain, "content": "\n".join(text for text in texts if type(text) is str)}
