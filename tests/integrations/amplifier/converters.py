"""What Amplifier's providers make of a view, so that the fakes can judge it.

The provider modules of Microsoft are on no index. These follow what their documents and the kernel say: loops run
`Message(**m)` on each message, calls are in `tool_calls` and in blocks `tool_call` and count once, results that follow
each other are one message of Anthropic's user, and developer messages are text of the user in XML. OpenAI's provider
uses the Responses API.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from amplifier_core.message_models import Message as KernelMessage

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses, FakeProviderError

Message = dict[str, Any]


def through_the_kernel(view: list[Message]) -> list[Message]:
    """Return a view as a loop hands it to a provider; pydantic's `ValidationError` where it cannot."""
    return [KernelMessage(**message).model_dump(exclude_none=True, mode="json") for message in view]


def to_anthropic(view: list[Message], *, thinking: bool = False) -> Message:
    """Return a request of the Messages API. `thinking`: with the signed blocks of a `FakeAnthropic`."""
    messages: list[Message] = []
    for message in view:
        role = message["role"]
        if role == "system":
            continue
        content = list(_blocks_for_anthropic(message, thinking))
        before = messages[-1] if messages else None
        if role == "tool" and before is not None and _is_results(before):
            before["content"] += content
        else:
            messages.append({"role": "assistant" if role == "assistant" else "user", "content": content})
    request: Message = {"messages": messages}
    system = [{"type": "text", "text": text} for text in _system(view)]
    return request | ({"system": system} if system else {})


def to_responses(view: list[Message]) -> Message:
    """Return a request of the Responses API."""
    items: list[Message] = []
    for message in view:
        role = message["role"]
        if role == "system":
            continue
        if role == "tool":
            output = _plain(message["content"])
            items.append({"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output})
            continue
        kind = "output_text" if role == "assistant" else "input_text"
        parts = [{"type": kind, "text": text} for text in _texts(message)]
        if parts:
            items.append({"type": "message", "role": "assistant" if role == "assistant" else "user", "content": parts})
        for known, name, arguments in calls_of(message):
            call = {"call_id": known, "name": name, "arguments": json.dumps(arguments)}
            items.append({"type": "function_call", **call})
    return {"input": items, "instructions": "\n".join(_system(view))}


def to_chat(view: list[Message]) -> Message:
    """Return a request of chat completions, as providers of compatible servers send it."""
    messages: list[Message] = []
    for message in view:
        role, text = message["role"], "\n".join(_texts(message))
        if role == "tool":
            answer = {"tool_call_id": message.get("tool_call_id"), "content": _plain(message["content"])}
            messages.append({"role": role, **answer})
            continue
        calls = [
            {"id": known, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for known, name, arguments in calls_of(message)
        ]
        messages.append({"role": role, "content": text or None, "tool_calls": calls} if calls else _said(role, text))
    return {"messages": messages}


def calls_of(message: Message) -> Iterator[tuple[str, str, Any]]:
    """Yield id, tool and arguments of each call once, however often the message holds it."""
    seen: set[str] = set()
    held = message["content"] if isinstance(message.get("content"), list) else []
    blocks = [block for block in held if block.get("type") in ("tool_call", "tool_use")]
    for call in (*(message.get("tool_calls") or ()), *blocks):
        known = str(call.get("id"))
        if known not in seen:
            seen.add(known)
            yield known, str(call.get("tool") or call.get("name")), call.get("arguments", call.get("input"))


CONVERTERS: dict[str, Callable[[list[Message]], Any]] = {
    "anthropic": lambda view: FakeAnthropic().create(**to_anthropic(view)),
    "responses": lambda view: FakeOpenAIResponses().create(**to_responses(view)),
    "chat": lambda view: FakeOpenAIChat().create(**to_chat(view)),
}
"""By name: sends a view to a fake through a provider's converter."""


def refusals(view: list[Message]) -> list[str]:
    """Return what each provider refuses of a view, one line each; empty if all accept it."""
    sent, found = through_the_kernel(view), []
    for name, send in CONVERTERS.items():
        try:
            send(sent)
        except FakeProviderError as error:
            found.append(f"{name}: {error.message}")
    return found


def _blocks_for_anthropic(message: Message, thinking: bool) -> Iterator[Message]:
    content = message["content"]
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": _plain(content)}
        return
    for block in content if isinstance(content, list) else ():
        if thinking and block.get("type") in ("thinking", "redacted_thinking"):
            yield {key: block[key] for key in ("type", "thinking", "signature", "data") if block.get(key) is not None}
        if block.get("type") == "image":
            yield {"type": "image", "source": block["source"]}
    for text in _texts(message):
        yield {"type": "text", "text": text}
    for known, name, arguments in calls_of(message):
        yield {"type": "tool_use", "id": known, "name": name, "input": arguments}


def _texts(message: Message) -> list[str]:
    """Return the texts of a message, those of developers in XML. A text of nothing is sent as it is."""
    content = message["content"]
    if isinstance(content, str):
        found = [] if not content and any(calls_of(message)) else [content]
    else:
        found = [str(block["text"]) for block in content if block.get("type") == "text"]
    if message["role"] == "developer":
        return [f"<context_file>\n{text}\n</context_file>" for text in found]
    return found


def _system(view: list[Message]) -> list[str]:
    return [text for message in view if message["role"] == "system" for text in _texts(message)]


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", json.dumps(block))) for block in content)


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def _is_results(message: Message) -> bool:
    return message["role"] == "user" and all(block["type"] == "tool_result" for block in message["content"])
