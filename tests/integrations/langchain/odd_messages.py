"""The steps of odd histories as messages of LangChain's partners, and messages as langchain-openai sends them."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Served, Step, Thought

LACKS: dict[str, tuple[str, ...]] = {
    "chat": ("server", "reasoning"),
    "anthropic": ("reasoning",),
    "responses": ("server",),
}
"""Beginnings of the names of what a dialect does not have."""


def chat_wire(message: BaseMessage) -> dict[str, Any]:
    """A message as langchain-openai sends it: calls that could not be read go with the others."""
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    if not isinstance(message, AIMessage):
        return {"role": "user", "content": message.content}
    listed: list[tuple[Any, Any, str]] = [
        (each["id"], each["name"], json.dumps(each["args"])) for each in message.tool_calls
    ]
    listed += [(each["id"], each["name"], each["args"] or "") for each in message.invalid_tool_calls]
    calls = [
        {"id": known, "type": "function", "function": {"name": name, "arguments": text}} for known, name, text in listed
    ]
    return {"role": "assistant", "content": message.content} | ({"tool_calls": calls} if calls else {})


def built(step: Step, dialect: str) -> BaseMessage:
    """A step as a partner of LangChain writes it."""
    if isinstance(step, Said):
        return AIMessage(step.words) if step.role == "assistant" else HumanMessage(step.words)
    if isinstance(step, Returned):
        return ToolMessage(step.value if isinstance(step.value, list) else str(step.value), tool_call_id=step.id)
    if isinstance(step, Thought):
        return AIMessage([{"type": "reasoning", "id": step.id, "summary": [], "encrypted_content": "sealed"}])
    if isinstance(step, Served):
        return AIMessage(list(served(step)))
    return called(step, dialect)


def called(step: Called, dialect: str) -> AIMessage:
    if step.arguments == odd.CUT:
        listed: Any = [{"id": known, "name": odd.TOOL, "args": step.arguments, "error": "cut"} for known in step.ids]
        calls: Any = {"invalid_tool_calls": listed}
    else:
        calls = {
            "tool_calls": [{"id": known, "name": odd.TOOL, "args": json.loads(step.arguments)} for known in step.ids]
        }
    if dialect != "anthropic":
        return AIMessage(step.words, **calls)
    given = step.arguments if step.arguments == odd.CUT else json.loads(step.arguments)
    uses = [{"type": "tool_use", "id": known, "name": odd.TOOL, "input": given} for known in step.ids]
    return AIMessage([*({"type": "text", "text": step.words} for _ in step.words[:1]), *uses], **calls)


def served(step: Served) -> Any:
    if step.call:
        yield {"type": "server_tool_use", "id": step.id, "name": "web_search", "input": {"query": "x"}}
    if step.result:
        hit = {"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "e" * 90}
        yield {"type": "web_search_tool_result", "tool_use_id": step.id, "content": [hit]}
    if step.words:
        yield {"type": "text", "text": step.words}
