"""The oracle's own reader: calls, results and texts of a message in any dialect.

Separate from `backscroll.messages` on purpose: a mistake in the reader that builds views must not also blind their
judge.
"""

import json
from functools import cached_property
from typing import Any, NamedTuple

Message = dict[str, Any]


class Call(NamedTuple):
    """A tool call of an assistant message."""

    id: str
    arguments: Any
    """A JSON text or a structured value, depending on the dialect; `None` for free text that need not be JSON."""


def blocks(message: Message) -> list[dict[str, Any]]:
    """Return the content blocks of a message; none if the content is a text."""
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def calls(message: Message) -> list[Call]:
    """Return the calls next to the content, and those inside it that do not repeat one of them."""
    listed = message.get("tool_calls")
    found = [_listed(call) for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        found.append(Call(f"function:{legacy.get('name')}", legacy.get("arguments")))
    known = {call.id for call in found}
    for block in blocks(message):
        if block.get("type") in ("tool_use", "tool_call") and str(block.get("id") or "") not in known:
            found.append(Call(str(block.get("id") or ""), block.get("input")))
        elif isinstance(block.get("toolUse"), dict):
            found.append(Call(str(block["toolUse"].get("toolUseId") or ""), block["toolUse"].get("input")))
    return found


def _listed(call: dict[str, Any]) -> Call:
    known = str(call.get("id") or "")
    if isinstance(call.get("custom"), dict):
        return Call(known, None)
    function = call.get("function")
    return Call(known, (function if isinstance(function, dict) else call).get("arguments"))


def in_blocks(message: Message) -> bool:
    """Return whether the calls are in the content, where providers merge adjacent messages of one role."""
    return any(block.get("type") == "tool_use" or "toolUse" in block for block in blocks(message))


def results(message: Message) -> list[str]:
    """Return the ids of the calls that a message answers."""
    if message.get("role") == "tool":
        return [str(message.get("tool_call_id") or "")]
    if message.get("role") == "function":
        return [f"function:{message.get('name')}"]
    found = []
    for block in blocks(message):
        if block.get("type") == "tool_result":
            found.append(str(block.get("tool_use_id") or block.get("tool_call_id") or ""))
        elif isinstance(block.get("toolResult"), dict):
            found.append(str(block["toolResult"].get("toolUseId") or ""))
    return found


def text(message: Message) -> str:
    """Return all text that the author of a message wrote: no calls, no results."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in blocks(message) if isinstance(block.get("text"), str))


def sameness(message: Message) -> tuple[str, str]:
    """Return a key that equal messages share: role and content, without annotations and nulls."""
    content = message.get("content") or ""
    # a text is its own key: Python caches its hash, and a judge sees every message many times
    text = content if isinstance(content, str) else json.dumps(_without_nulls(content), sort_keys=True)
    return str(message.get("role")), text


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def is_system(message: Message) -> bool:
    """Return whether this is an instruction of the host, not part of the dialogue."""
    return message.get("role") in ("system", "developer")


def is_injected(message: Message) -> bool:
    """Return whether the host inserted it (a hook, a reminder), so that it is not the user's own text."""
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and (metadata.get("source") == "hook" or metadata.get("ephemeral") is True)


def is_users(message: Message) -> bool:
    """Return whether a user wrote it: no tool results, nothing inserted."""
    return message.get("role") == "user" and not results(message) and not is_injected(message)


class Shape:
    """A message whose calls and results are read once; everything else is read on first use."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.role = message.get("role")
        self.calls = calls(message)
        self.results = results(message)

    @cached_property
    def in_blocks(self) -> bool:
        """Whether the calls are in the content."""
        return in_blocks(self._message)

    @cached_property
    def block_results(self) -> list[bool]:
        """For each content block, whether it is a result; empty unless a user's message has one."""
        found = ["toolResult" in block or block.get("type") == "tool_result" for block in blocks(self._message)]
        return found if self.role == "user" and True in found else []

    @cached_property
    def is_bedrock(self) -> bool:
        """Whether the results are Bedrock's."""
        return any("toolResult" in block for block in blocks(self._message))

    @cached_property
    def text(self) -> str:
        """All text that the author wrote."""
        return text(self._message)

    @cached_property
    def sameness(self) -> tuple[str, str]:
        """The key that equal messages share."""
        return sameness(self._message)

    @cached_property
    def is_system(self) -> bool:
        """Whether it is an instruction of the host."""
        return is_system(self._message)

    @cached_property
    def is_users(self) -> bool:
        """Whether a user wrote it."""
        return is_users(self._message)
