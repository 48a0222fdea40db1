"""How the messages and requests of each API look, as far as the machine's clients need it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses

Message = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
REASONING = ("thinking", "redacted_thinking", "reasoning")


class Api(ABC):
    """One API."""

    name: str
    path: str
    key: str = "messages"
    models: tuple[str, ...]
    fake: Callable[..., Any]

    @abstractmethod
    def said(self, text: str) -> list[Message]:
        """What the user says."""

    @abstractmethod
    def prompt(self, text: str) -> list[Message]:
        """The system prompt, where it is among the messages."""

    @abstractmethod
    def outside(self, system: str, tools: int) -> dict[str, Any]:
        """What else a request has."""

    @abstractmethod
    def answered(self, answer: Message) -> list[Message]:
        """The messages of an answer."""

    @abstractmethod
    def calls(self, messages: list[Message]) -> list[str]:
        """The ids of the calls in an answer."""

    @abstractmethod
    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        """The messages that answer calls."""

    @abstractmethod
    def partly(self, text: str) -> list[Message]:
        """An answer of which the client saw only a part."""

    @abstractmethod
    def tokens(self, answer: Message) -> int:
        """The tokens of the request that an answer reports."""

    def without_reasoning(self, message: Message) -> Message | None:
        """A message without the model's reasoning; `None` if nothing is left."""
        if message.get("type") in REASONING:
            return None
        content = message.get("content")
        if not isinstance(content, list):
            return message
        return {**message, "content": [block for block in content if block.get("type") not in REASONING]}


class Anthropic(Api):
    name, path = "anthropic", "/v1/messages"
    models = ("claude-opus-5-5", "claude-haiku-5-5", "claude-opus-4-8")

    @staticmethod
    def fake(**given: Any) -> FakeAnthropic:
        return FakeAnthropic(**given)

    def said(self, text: str) -> list[Message]:
        return [{"role": "user", "content": [{"type": "text", "text": text}]}]

    def prompt(self, text: str) -> list[Message]:
        return []

    def outside(self, system: str, tools: int) -> dict[str, Any]:
        listed = [{"name": f"read{at}", "description": "Read. " * 20, "input_schema": SCHEMA} for at in range(tools)]
        return {"max_tokens": 500, "system": system, "tools": listed}

    def answered(self, answer: Message) -> list[Message]:
        return [{"role": "assistant", "content": answer["content"]}]

    def calls(self, messages: list[Message]) -> list[str]:
        return [block["id"] for block in messages[-1]["content"] if block["type"] == "tool_use"]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
        return [{"role": "user", "content": blocks}]

    def partly(self, text: str) -> list[Message]:
        return [{"role": "assistant", "content": [{"type": "text", "text": text}]}]

    def tokens(self, answer: Message) -> int:
        return sum(answer["usage"][f"{kind}input_tokens"] for kind in ("", "cache_read_", "cache_creation_"))


class Chat(Api):
    name, path = "chat", "/v1/chat/completions"
    models = ("gpt-5", "gpt-5-mini", "gpt-6")

    @staticmethod
    def fake(**given: Any) -> FakeOpenAIChat:
        return FakeOpenAIChat(**given)

    def said(self, text: str) -> list[Message]:
        return [{"role": "user", "content": text}]

    def prompt(self, text: str) -> list[Message]:
        return [{"role": "system", "content": text}]

    def outside(self, system: str, tools: int) -> dict[str, Any]:
        about = [{"name": f"read{at}", "description": "Read. " * 20, "parameters": SCHEMA} for at in range(tools)]
        return {"tools": [{"type": "function", "function": each} for each in about]}

    def answered(self, answer: Message) -> list[Message]:
        said = answer["choices"][0]["message"]
        calls = {"tool_calls": said["tool_calls"]} if said.get("tool_calls") else {}
        return [{"role": "assistant", "content": said["content"], **calls}]

    def calls(self, messages: list[Message]) -> list[str]:
        return [call["id"] for call in messages[-1].get("tool_calls", ())]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]

    def partly(self, text: str) -> list[Message]:
        return [{"role": "assistant", "content": text}]

    def tokens(self, answer: Message) -> int:
        return int(answer["usage"]["prompt_tokens"])


class Responses(Api):
    name, path, key = "responses", "/v1/responses", "input"
    models = ("gpt-6.2-sol", "gpt-6.2-terra", "gpt-5")

    @staticmethod
    def fake(**given: Any) -> FakeOpenAIResponses:
        return FakeOpenAIResponses(**given)

    def said(self, text: str) -> list[Message]:
        return [{"role": "user", "content": text}]

    def prompt(self, text: str) -> list[Message]:
        return [{"role": "developer", "content": text}]

    def outside(self, system: str, tools: int) -> dict[str, Any]:
        about = [{"name": f"read{at}", "description": "Read. " * 20, "parameters": SCHEMA} for at in range(tools)]
        return {"tools": [{"type": "function", **each} for each in about], "store": False}

    def answered(self, answer: Message) -> list[Message]:
        return list(answer["output"])

    def calls(self, messages: list[Message]) -> list[str]:
        return [item["call_id"] for item in messages if item.get("type") == "function_call"]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]

    def partly(self, text: str) -> list[Message]:
        return [{"role": "assistant", "content": text}]

    def tokens(self, answer: Message) -> int:
        return int(answer["usage"]["input_tokens"])


APIS = {each.name: each() for each in (Anthropic, Chat, Responses)}


def unmarked(value: Any) -> Any:
    """A value without marks for a cache."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def dumped(value: Any) -> str:
    """A value as a text that is equal for equal values."""
    return json.dumps(value, sort_keys=True)
