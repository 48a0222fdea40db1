"""The oracle's own knowledge of items of OpenAI's Responses API: which there are, and what belongs together."""

from typing import Any

from backscroll.evaluation.odd_parts import is_step

Message = dict[str, Any]

ANSWERS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "computer_call": "computer_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
    "program": "program_output",
    "mcp_approval_request": "mcp_approval_response",
}
"""Items of the Responses API that call, and those that answer them."""
ASKED = ("arguments", "action", "actions", "operation")
OF_HOSTS = ("additional_tools", "configuration_update")
_OTHERS = (
    "reasoning", "compaction", "item_reference", "mcp_call", "mcp_list_tools", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", *OF_HOSTS,
)  # fmt: skip  # one thought
NOTES = ("created_by", "parsed_arguments")
NEEDED = ("compaction", "item_reference", "additional_tools", "configuration_update")


def is_item(message: Message) -> bool:
    """Return whether this is an item of the Responses API, not a message or block of another dialect."""
    kind = message.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "message":
        return "role" in message and "stop_reason" not in message
    if kind == "compaction":
        return "encrypted_content" in message and "content" not in message
    if (kind == "reasoning" and "summary" not in message) or is_step(message):
        return False
    return kind in ANSWERS or kind in ANSWERS.values() or (kind in _OTHERS and "tool_use_id" not in message)


def id_of(item: Message) -> str:
    """Return the id by which a call and its answer find each other."""
    kind = item.get("type")
    if kind == "mcp_approval_request":
        return str(item.get("id") or "")
    if kind == "mcp_approval_response":
        return str(item.get("approval_request_id") or "")
    return str(item.get("call_id") or (item.get("id") if kind == "local_shell_call_output" else "") or "")
