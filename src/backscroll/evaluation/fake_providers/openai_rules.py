"""What the Responses API refuses whatever was said before: items, their fields, pairs of calls and outputs.

Sources: the types of the openai client, "Reasoning" and "Compaction" (OpenAI), and error texts as users of the API
reported them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error

Item = dict[str, Any]

REQUIRED: dict[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    "reasoning": ("id", "summary"),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("output", "call_id"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "compaction": ("encrypted_content",),
    "compaction_trigger": (),
    "item_reference": ("id",),
    "additional_tools": ("role", "tools"),
    "configuration_update": (),
    "tool_search_call": ("arguments",),
    "tool_search_output": ("tools",),
    "web_search_call": ("id", "action", "status"),
    "file_search_call": ("id", "queries", "status"),
    "computer_call": ("id", "call_id", "status", "pending_safety_checks"),
    "computer_call_output": ("call_id", "output"),
    "code_interpreter_call": ("id", "code", "container_id", "outputs", "status"),
    "image_generation_call": ("id", "result", "status"),
    "local_shell_call": ("id", "call_id", "action", "status"),
    "local_shell_call_output": ("id", "output"),
    "shell_call": ("call_id", "action"),
    "shell_call_output": ("call_id", "output"),
    "apply_patch_call": ("call_id", "operation", "status"),
    "apply_patch_call_output": ("call_id", "status"),
    "mcp_list_tools": ("id", "server_label", "tools"),
    "mcp_call": ("id", "server_label", "name", "arguments"),
    "mcp_approval_request": ("id", "server_label", "name", "arguments"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "program": ("id", "call_id", "code", "fingerprint"),
    "program_output": ("id", "call_id", "result", "status"),
}
"""Every type of item that `input` accepts, with its required fields."""

_ALL_FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "reasoning": {"type", "id", "summary", "encrypted_content", "content", "status"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"},
    "function_call_output": {"type", "id", "call_id", "output", "status", "caller"},
    "compaction": {"type", "id", "encrypted_content", "created_by"},
}
_ROLES = ("assistant", "system", "developer", "user")
_PAIRS = {
    "function_call": ("function_call_output", "function call"),
    "custom_tool_call": ("custom_tool_call_output", "custom tool call"),
}


def items_of(given: Any) -> list[Item]:
    """Return the items of `input`: a text is one message of the user, and an item with only a role is a message.

    Raises:
        FakeProviderError: `input` is empty or no list.
    """
    if isinstance(given, str) and given:
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise openai_error("Missing required parameter: 'input'.", code="missing_required_parameter")
    return [{"type": "message", **item} if "type" not in item and "role" in item else item for item in given]


def check_request(raw: Mapping[str, Any], items: list[Item], version: tuple[int, int]) -> None:
    """Refuse what needs no memory to be refused.

    Args:
        raw: The request.
        items: Its items, as `items_of` returns them.
        version: Major and minor version of the model.

    Raises:
        FakeProviderError: With the text of the first rule that the request breaks.
    """
    for check in (_fields(items), _tools(raw), _options(raw, version), _pairs(items), _configuration(items)):
        for error in check:
            raise error


def _fields(items: list[Item]) -> Iterator[FakeProviderError]:
    for at, item in enumerate(items):
        kind, where = str(item.get("type")), f"input[{at}]"
        if kind not in REQUIRED:
            yield _invalid(where, kind, ", ".join(f"'{known}'" for known in REQUIRED))
            return
        for key in REQUIRED[kind]:
            if item.get(key) is None:
                yield openai_error(
                    f"Missing required parameter: '{where}.{key}'.",
                    code="missing_required_parameter",
                    param=f"{where}.{key}",
                )
        for key in item:
            if key not in _ALL_FIELDS.get(kind, item):
                yield openai_error(
                    f"Unknown parameter: '{where}.{key}'.", code="unknown_parameter", param=f"{where}.{key}"
                )
        if kind == "message" and item.get("role") not in _ROLES:
            yield _invalid(where, str(item.get("role")), "'assistant', 'system', 'developer', and 'user'")
        if kind == "function_call" and not isinstance(item.get("arguments"), str):
            yield openai_error(
                f"Invalid type for '{where}.arguments': expected a string, but got an object instead.",
                code="invalid_type",
            )


def _invalid(where: str, value: str, known: str) -> FakeProviderError:
    return openai_error(f"Invalid value: '{value}'. Supported values are: {known}.", code="invalid_value", param=where)


def _tools(raw: Mapping[str, Any]) -> Iterator[FakeProviderError]:
    for at, tool in enumerate(raw.get("tools") or ()):
        if tool.get("type") == "function" and not tool.get("name"):
            yield openai_error(
                f"Missing required parameter: 'tools[{at}].name'.", code="missing_required_parameter", param="tools"
            )


def _options(raw: Mapping[str, Any], version: tuple[int, int]) -> Iterator[FakeProviderError]:
    """Refuse sampling options, which GPT-6 and later do not have."""
    for key in ("temperature", "top_p", "logprobs") if version >= (6, 0) else ():
        if raw.get(key) is not None:
            yield openai_error(
                f"Unsupported parameter: '{key}' is not supported with this model.",
                code="unsupported_parameter",
                param=key,
            )
    if raw.get("previous_response_id") is not None:
        yield openai_error(  # responses are kept by nobody here
            f"Previous response with id '{raw['previous_response_id']}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )


def _pairs(items: list[Item]) -> Iterator[FakeProviderError]:
    for kind, (answer, words) in _PAIRS.items():
        open_calls: dict[str, int] = {}
        for at, item in enumerate(items):
            if item["type"] == kind:
                open_calls[item["call_id"]] = at
            elif item["type"] == answer:
                if item["call_id"] not in open_calls:
                    yield openai_error(f"No tool call found for {words} output with call_id {item['call_id']}.")
                open_calls.pop(item["call_id"], None)
        for call in open_calls:
            yield openai_error(f"No tool output found for {words} {call}.")


def _configuration(items: list[Item]) -> Iterator[FakeProviderError]:
    kinds = [item["type"] for item in items]
    if "compaction" not in kinds or "configuration_update" not in kinds:
        return
    compacted = len(kinds) - 1 - kinds[::-1].index("compaction")
    updated = len(kinds) - 1 - kinds[::-1].index("configuration_update")
    if updated < compacted:
        yield openai_error(
            "The 'configuration_update' item type is not supported with compaction without a subsequent configuration"
            " update."
        )
