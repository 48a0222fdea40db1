"""What the Responses API refuses by the request alone: items, their fields, pairs of calls and outputs.

Sources: the types of the openai client, "Reasoning" and "Compaction" (OpenAI), and error texts as users of the API
reported them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error
from backscroll.evaluation.fake_providers.openai_contents import Item, cut_arguments, not_texts
from backscroll.evaluation.fake_providers.rules import Rule, is_encodable

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
    "agent_message": ("author", "recipient", "content"),
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
"""Every type of item that `input` accepts, with its required fields. Reasoning with encrypted content needs no id:
OpenCode sends none. Codex alone sends `agent_message`, which holds the task of a sub-agent.
"""

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
    "tool_search_call": ("tool_search_output", "tool search call"),
    "computer_call": ("computer_call_output", "computer call"),
    "local_shell_call": ("local_shell_call_output", "local shell call"),
    "shell_call": ("shell_call_output", "shell call"),
    "apply_patch_call": ("apply_patch_call_output", "apply patch call"),
}


class ItemsRequest(NamedTuple):
    """A request, read once."""

    raw: Mapping[str, Any]
    items: list[Item]
    version: tuple[int, int]
    """Major and minor version of the model."""
    alone: Callable[[list[Item]], Iterator[FakeProviderError]]
    """What the server remembers of items that belong together."""


def items_of(given: Any) -> list[Item]:
    """Return the items of `input`: a text is one message of the user, and an item with only a role is a message.

    Raises:
        FakeProviderError: `input` is empty or no list.
    """
    if isinstance(given, str) and given:
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise openai_error("Missing required parameter: 'input'.", code="missing_required_parameter")
    for at, item in enumerate(given):
        if not isinstance(item, dict):
            raise openai_error(f"Invalid type for 'input[{at}]': expected an object.", code="invalid_type")
    return [{"type": "message", **item} if "type" not in item and "role" in item else item for item in given]


def _surrogates(request: ItemsRequest) -> Iterator[FakeProviderError]:
    """The client of Python fails before it sends; a server that gets such a text answers this."""
    if not is_encodable(request.raw):
        yield openai_error("We could not parse the JSON body of your request.", param=None)


def _fields(request: ItemsRequest) -> Iterator[FakeProviderError]:
    for at, item in enumerate(request.items):
        kind, where = str(item.get("type")), f"input[{at}]"
        if kind not in REQUIRED:
            yield _invalid(where, kind, ", ".join(f"'{known}'" for known in REQUIRED))
            return
        for key in REQUIRED[kind]:
            if item.get(key) is None and not (key == "id" and item.get("encrypted_content")):
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


def _invalid(where: str, value: str, known: str) -> FakeProviderError:
    return openai_error(f"Invalid value: '{value}'. Supported values are: {known}.", code="invalid_value", param=where)


def _tools(request: ItemsRequest) -> Iterator[FakeProviderError]:
    for at, tool in enumerate(request.raw.get("tools") or ()):
        if tool.get("type") == "function" and not tool.get("name"):
            yield openai_error(
                f"Missing required parameter: 'tools[{at}].name'.", code="missing_required_parameter", param="tools"
            )


def _options(request: ItemsRequest) -> Iterator[FakeProviderError]:
    """Refuse sampling options, which GPT-6 and later do not have."""
    raw = request.raw
    for key in ("temperature", "top_p", "logprobs") if request.version >= (6, 0) else ():
        if raw.get(key) is not None:
            yield openai_error(
                f"Unsupported parameter: '{key}' is not supported with this model.",
                code="unsupported_parameter",
                param=key,
            )
    if raw.get("previous_response_id") is not None:
        yield openai_error(  # the fake keeps no responses
            f"Previous response with id '{raw['previous_response_id']}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )


def _asked(request: ItemsRequest) -> Iterator[FakeProviderError]:
    """Each output answers a call before it, and is the only one."""
    for kind, (answer, words) in _PAIRS.items():
        waiting: set[str] = set()
        for item in request.items:
            known = _call_id(item)
            if item.get("type") == kind:
                waiting.add(known)
            elif item.get("type") == answer:
                if known not in waiting:
                    yield openai_error(f"No tool call found for {words} output with call_id {known}.")
                waiting.discard(known)


def _answered(request: ItemsRequest) -> Iterator[FakeProviderError]:
    """Each call has an output behind it, at any distance."""
    for kind, (answer, words) in _PAIRS.items():
        waiting: dict[str, None] = {}
        for item in request.items:
            if item.get("type") == kind:
                waiting[_call_id(item)] = None
            elif item.get("type") == answer:
                waiting.pop(_call_id(item), None)
        for known in waiting:
            yield openai_error(f"No tool output found for {words} {known}.")


def _call_id(item: Item) -> str:
    """Return the id by which a call and its output find each other; outputs of a local shell have no other."""
    return str(item.get("call_id") or item.get("id"))


def _alone(request: ItemsRequest) -> Iterator[FakeProviderError]:
    yield from request.alone(request.items)


def _configuration(request: ItemsRequest) -> Iterator[FakeProviderError]:
    kinds = [item.get("type") for item in request.items]
    if "compaction" not in kinds or "configuration_update" not in kinds:
        return
    compacted = len(kinds) - 1 - kinds[::-1].index("compaction")
    updated = len(kinds) - 1 - kinds[::-1].index("configuration_update")
    if updated < compacted:
        yield openai_error(
            "The 'configuration_update' item type is not supported with compaction without a subsequent configuration"
            " update."
        )


def _texts(request: ItemsRequest) -> Iterator[FakeProviderError]:
    yield from not_texts(request.items)


def _cut(request: ItemsRequest) -> Iterator[FakeProviderError]:
    yield from cut_arguments(request.items)


RULES: tuple[Rule[ItemsRequest], ...] = (
    Rule("surrogates", _surrogates, ("lone_surrogate",)),
    Rule("fields", _fields),
    Rule("texts", _texts, ("result_not_text", "cut_arguments")),
    Rule("cut-arguments", _cut, ("cut_arguments",)),
    Rule("tools", _tools),
    Rule("options", _options),
    Rule("asked", _asked, ("second_result", "unknown_call")),
    Rule("answered", _answered, ("open_call",)),
    Rule("configuration", _configuration),
    Rule("alone", _alone, ("reasoning_alone",)),
)
"""What `FakeOpenAIResponses` refuses, in the order in which it looks."""
