"""Requests of the three APIs as turns: who speaks, the words, and the calls."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.openai_calls import offered

Body = Mapping[str, Any]


class Turn(NamedTuple):
    """A message, or an item of the Responses API."""

    role: str
    """`user`, `assistant`, `system`, `developer` or `tool`."""
    text: str
    """What it says; empty for a call."""
    result: str
    """What its results say."""
    calls: tuple[str, ...]
    """The ids of the calls that it makes."""


def turns(body: Body) -> list[Turn]:
    """The turns of a request, in order."""
    if "messages" in body:
        return [_message(each) for each in body["messages"]]
    given = body["input"]
    return [_item(each) for each in ([{"role": "user", "content": given}] if isinstance(given, str) else given)]


def _message(message: Body) -> Turn:
    content, role = message.get("content"), message["role"]
    blocks = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    calls = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    calls += [call["id"] for call in message.get("tool_calls") or ()]
    results = [words(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    if role == "tool":
        return Turn("tool", "", words(content), ())
    return Turn(role, words(content), "\n".join(results), tuple(calls))


def _item(item: Body) -> Turn:
    kind = item.get("type", "message")
    if kind in ("message", "agent_message"):
        return Turn(item.get("role", "user"), words(item.get("content")), "", ())
    if kind.endswith("_call"):
        return Turn("assistant", "", "", (str(item.get("call_id")),))
    if kind.endswith("_output"):
        return Turn("tool", "", words(item.get("output")), ())
    return Turn("assistant", "", "", ())


def words(content: Any) -> str:
    """The texts of a content, one a line."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or part.get("encrypted_content") or "") for part in parts)


def system_of(body: Body) -> str:
    """The system prompt, wherever the API has it."""
    among = [turn.text for turn in turns(body) if turn.role in ("system", "developer")]
    return "\n".join([words(body.get("system")), str(body.get("instructions") or ""), *among])


def tools_of(body: Body) -> dict[str, Body]:
    """The schema of each tool that the model can call, by its name."""
    if "input" in body:
        return {name: tool.schema or {} for name, tool in offered(body).items()}
    listed = (tool.get("function") or tool for tool in body.get("tools") or ())
    return {tool["name"]: tool.get("input_schema") or tool.get("parameters") or {} for tool in listed}


def names_of(value: Any) -> Iterator[str]:
    """The names that a reference to a tool has anywhere in a value."""
    if isinstance(value, dict):
        if value.get("type") == "tool_reference":
            yield str(value.get("tool_name") or value.get("name"))
        for inner in value.values():
            yield from names_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner)
