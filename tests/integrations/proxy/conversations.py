"""Requests of Anthropic's API as a test writes them by hand."""

import json
from typing import Any

import httpx

Message = dict[str, Any]
ODD = (
    b'{ "max_tokens" : 100,\t"temperature":1.0,"unknown":{"b":[1e3,-0,2.50],"a":"\\u00e9\\ud83d\\ude00"},\r\n'
    b'  "messages":[ {"content":"caf\\u00e9 \xc3\xa9 \\/ x","role":"user"} ,{"role":"assistant","content":'
    b'[{"type":"tool_use","id":"c1","name":"f","input":{"x":1.50,"y":1E2,"z":"\\u4e2d"}}]},'
    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}],"model":"claude-opus-5-5"}\n'
)
"""A body with spaces, orders, escapes and numbers that no program writes twice."""
LONG = "".join(f"row {number} of the table says nothing new\n" for number in range(30))


def turns(number: int, name: str = "t", text: str = LONG) -> list[Message]:
    """A conversation of so many tool calls, which ends with a result."""
    found: list[Message] = [{"role": "user", "content": [{"type": "text", "text": f"Begin with {name}."}]}]
    for at in range(number):
        call = {"type": "tool_use", "id": f"{name}{at}", "name": "read", "input": {"path": f"{name}{at}.txt"}}
        result = {"type": "tool_result", "tool_use_id": f"{name}{at}", "content": f"{name}{at}\n{text}"}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def body_of(messages: list[Message], **more: Any) -> bytes:
    """The body of a request."""
    return json.dumps({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages, **more}).encode()


def ask(
    proxy: Any, messages: list[Message], *, session: str | None = "s1", path: str = "/v1/messages", **more: Any
) -> httpx.Response:
    """Send a request."""
    headers = {"x-api-key": "k"} | ({"x-claude-code-session-id": session} if session else {})
    return proxy.client.post(path, content=body_of(messages, **more), headers=headers)


def sent(got: Any) -> list[Message]:
    """The messages that reached the provider."""
    return json.loads(got.body)["messages"]
