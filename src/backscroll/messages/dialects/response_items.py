"""Items of OpenAI's Responses API, and the envelopes in which the history keeps them.

One response is several items, and most of them have no role. The history keeps the items of one response unchanged in
one message, `{"role": "assistant", "content": [item, ...]}`, so that reasoning and what followed it stay together. A
view puts the items of every envelope in a row: that is what a request takes. Source: `ResponseInputItemParam` of
openai 3.54.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backscroll.messages.parts import CallId, Message, is_compaction, kind_of

Item = dict[str, Any]

PAIRS = {
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
"""Calls that another item answers, each with that item's type."""
OUTPUTS = frozenset(PAIRS.values())
NOT_TEXT = ("mcp_approval_response", "tool_search_output")
"""Answers that work as items only: they are never sent as text."""
_ANSWERED = frozenset(
    (
        "mcp_call", "mcp_list_tools", "web_search_call", "file_search_call", "code_interpreter_call",
        "image_generation_call",
    )
)  # fmt: skip  # one thought
"""Calls that hold their own answer."""
_OF_HOSTS = frozenset(("additional_tools", "configuration_update", "compaction_trigger"))
OF_AGENTS = "agent_message"
"""The type of what one agent of Codex says to another: a task for a sub-agent, or what it found. It is no answer of the
model that gets it, but what a user would say. Known from Codex 0.171; the types of openai 3.54 lack it.
"""
_TYPES = frozenset(
    ("message", OF_AGENTS, "reasoning", "compaction", "item_reference", *PAIRS, *OUTPUTS, *_ANSWERED, *_OF_HOSTS)
)  # fmt: skip  # one thought
_ELSEWHERE = {
    "function_call": ("call_id",),
    "file_search_call": ("queries", "status"),
    "tool_search_call": ("call_id", "execution"),
}
"""Types that steps of Gemini's Interactions have as well, and the keys of which an item has one."""
KEPT = frozenset(("compaction", "item_reference", "additional_tools", "configuration_update"))
"""Items that every view needs: what they represent is nowhere else, or holds for all that follows."""
_BLOCKS = frozenset(
    (
        "text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking", "tool_use", "tool_call",
        "tool_result", "image", "document", "image_url", "input_image", "input_audio", "file", "input_file",
    )
)  # fmt: skip  # one thought
"""Blocks of a plain message. LangChain mixes them with items; such a message is no envelope."""


def is_item(value: Any) -> bool:
    """Return whether a value is an item, as opposed to a content block of the same type in another dialect."""
    kind = kind_of(value)
    if kind not in _TYPES:
        return False
    if kind == "message":
        return "role" in value and "stop_reason" not in value  # a whole answer of Anthropic has one
    if kind == "compaction":
        return "encrypted_content" in value and "content" not in value  # Anthropic's block has a `content`
    if kind in _ELSEWHERE:
        return not value.keys().isdisjoint(_ELSEWHERE[kind])
    return kind != "reasoning" or "summary" in value


def holds_compaction(message: Message) -> bool:
    """Return whether a message holds a provider's compaction."""
    content = message.get("content")
    return type(content) is list and any(map(is_compaction, content))


def is_envelope(message: Message) -> bool:
    """Return whether the content of a message are items."""
    content = message.get("content")
    if type(content) is not list:
        return False
    for block in content:
        kind = kind_of(block)
        if not kind or kind in _BLOCKS:
            return False  # the first block shows it, in nearly all other dialects
    return any(map(is_item, content))


def in_a_row(view: Sequence[Message]) -> list[Message]:
    """Return a view as a request of the Responses API takes it: the items of all envelopes in a row."""
    found: list[Message] = []
    for message in view:
        if type(message.get("content")) is list and is_envelope(message):
            found += message["content"]
        else:
            found.append(message)
    return found


def role_of(item: Mapping[str, Any]) -> str:
    """Return the role of an item's envelope."""
    kind = item.get("type")
    if kind in OUTPUTS:
        return "tool"
    if kind == OF_AGENTS:
        return "user"
    return "developer" if kind in _OF_HOSTS else str(item.get("role") or "assistant")


def gathered(messages: Sequence[object]) -> list[object]:
    """Put bare items into envelopes: each run of items that the model made into one, every other item into its own.

    A message of a user or of the host stays as it is, and so does a model's message with one item only.
    A bare item's `metadata` becomes its envelope's.
    """
    found: list[object] = []
    run: list[Item] = []
    for message in messages:
        item = _bare(message)
        if item is not None and role_of(item) == "assistant":
            run.append(item)
            continue
        found += _enveloped(run)
        run = []
        if item is None or item["type"] == "message":
            found.append(message)
        else:
            found += _enveloped([item])
    return [*found, *_enveloped(run)]


def _enveloped(run: list[Item]) -> list[Message]:
    if all(item["type"] == "message" for item in run):
        return list(run)
    metadata: dict[str, Any] = {}
    for item in run:
        if type(item.get("metadata")) is dict:
            metadata |= item["metadata"]
    items = [{key: value for key, value in item.items() if key != "metadata"} for item in run]
    envelope = {"role": role_of(run[0]), "content": items}
    return [{**envelope, "metadata": metadata} if metadata else envelope]


def _bare(message: object) -> Item | None:
    """Return the item that a message is; `None` for a message of any other kind."""
    kind = message.get("type") if isinstance(message, Mapping) else getattr(message, "type", None)
    if type(kind) is not str or kind not in _TYPES:
        return None
    if isinstance(message, Mapping):
        item = dict(message)
    elif not isinstance(message, type) and callable(dump := getattr(message, "model_dump", None)):
        item = dump()
    else:
        return None
    return item if is_item(item) else None


def call_id(item: Item) -> CallId:
    """Return the id by which a call and its output find each other; empty if there is none."""
    kind = item["type"]
    key = {"mcp_approval_request": "id", "mcp_approval_response": "approval_request_id"}.get(kind, "call_id")
    found = item.get(key)
    if found is None and kind == "local_shell_call_output":
        found = item.get("id")  # it has no `call_id`: its `id` is the call's
    return CallId(found if type(found) is str else "")


def programs_of(items: Sequence[Any]) -> tuple[CallId, ...]:
    """Return the ids of earlier programs that make calls among these items. Such a call belongs to its program."""
    own = {call_id(item) for item in items if kind_of(item) == "program"}
    callers = [item["caller"] for item in items if kind_of(item) in PAIRS and type(item.get("caller")) is dict]
    found = {caller.get("caller_id"): None for caller in callers if caller.get("type") == "program"}
    return tuple([CallId(name) for name in found if type(name) is str and name not in own])
